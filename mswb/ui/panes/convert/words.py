"""What the Convert pane says of a model, in English and Chinese."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mswb.files.safety import printable
from mswb.findings import language
from mswb.ui.widgets.table.units import bytes_text

if TYPE_CHECKING:
    from mswb.convert.facts import ModelFacts

MOST = 20
"""Lines of one kind; the rest is counted."""

_WORDS = {
    "inspect": ("Look into", "查看"),
    "lint": ("Check", "检查"),
    "reading": ("looking into the model", "正在查看模型"),
    "fine": ("nothing is wrong that MindSpore's loader would hide", "没有 MindSpore 加载器会隐藏的问题"),
    "made": ("Made by", "来源"),
    "graphs": ("Graphs", "图"),
    "nodes": ("nodes", "个节点"),
    "input": ("in", "输入"),
    "output": ("out", "输出"),
    "operators": ("Operators", "算子"),
    "weights": ("Weights", "权重"),
    "more": ("more", "更多"),
    "outside": ("in", "位于"),
}


def word(name: str) -> str:
    """The words of this name, in the language of this process."""
    return _WORDS[name][language() == "zh"]


def facts_text(facts: ModelFacts) -> str:
    """What a model holds, as lines."""
    return "\n".join(printable(line) for line in _lines(facts))


def _lines(facts: ModelFacts) -> Iterator[str]:
    from mswb.convert.facts import value_text

    yield f"{word('made')} {facts.producer or '-'}"
    yield from (f"  {name} {value}" for name, value in facts.versions)
    yield f"{word('graphs')} {len(facts.graphs):,}"
    for graph in facts.graphs[:MOST]:
        yield f"  {graph.name or '-'}: {graph.nodes:,} {word('nodes')}"
        yield from _cut([f"    {word('input')}  {value_text(value)}" for value in graph.inputs])
        yield from _cut([f"    {word('output')} {value_text(value)}" for value in graph.outputs])
    if len(facts.graphs) > MOST:
        yield f"  + {len(facts.graphs) - MOST:,} {word('more')}"
    yield f"{word('operators')} {facts.nodes:,}"
    yield from _cut([f"  {count:,} {name}" for name, count in facts.operators])
    yield f"{word('weights')} {len(facts.weights):,}, {bytes_text(facts.weights_bytes)}"
    yield from _cut([f"  {one.name} {one.dtype} {list(one.shape)} {bytes_text(one.bytes)}" for one in facts.weights])
    yield from _cut([f"  {word('outside')} {file}" for file in facts.external_files])


def _cut(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:MOST]
    if len(lines) > MOST:
        yield f"  + {len(lines) - MOST:,} {word('more')}"
