"""The facts inside a log: GRAPH_BUILD, KERNEL_LAUNCH and progress, read in one pass over its blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mswb.launch import graphs, kernels
from mswb.launch.graphs import GraphBuild, GraphReader, Phase, graph_builds
from mswb.launch.kernels import GraphTime, KernelLaunch, KernelReader, kernel_launches
from mswb.launch.logs import Block
from mswb.launch.progress import STEP_FORMS, Progress, ProgressReader, Step, parse_step, progress_of, steps_of

__all__ = [
    "STEP_FORMS",
    "GraphBuild",
    "GraphTime",
    "KernelLaunch",
    "Phase",
    "Progress",
    "Sections",
    "Step",
    "graph_builds",
    "kernel_launches",
    "parse_step",
    "progress_of",
    "read_sections",
    "render_article",
    "steps_of",
]


@dataclass(frozen=True, slots=True)
class Sections:
    """What a log tells beside its findings."""

    graphs: tuple[GraphBuild, ...]
    launches: tuple[KernelLaunch, ...]
    graph_times: tuple[GraphTime, ...]
    progress: Progress


def read_sections(blocks: Iterable[Block]) -> Sections:
    """All facts of one log in one pass."""
    graph_reader, kernel_reader, progress_reader = GraphReader(), KernelReader(), ProgressReader()
    for block in blocks:
        graph_reader.feed(block)
        kernel_reader.feed(block)
        progress_reader.feed(block)
    return Sections(graph_reader.builds, kernel_reader.launches, kernel_reader.graph_times, progress_reader.progress)


def render_article(sections: Sections) -> Iterator[str]:
    """The graph builds and kernel launches as lines in the article's form: ``[GRAPH_BUILD] key: value, …``."""
    for build in sections.graphs:
        yield from graphs.render_article(build)
    for launch in sections.launches:
        yield kernels.render_article(launch)
