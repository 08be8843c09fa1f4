"""``mswb demo``: see the whole main job once, on a training that is made to fail."""

from __future__ import annotations

from pathlib import Path

import click

from mswb.cli import output, stream
from mswb.cli.jobs import announce_lost
from mswb.flows.demo import Demo, as_planned, prepare_demo
from mswb.flows.run import start
from mswb.settings import load_settings


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default="mswb_demo")
@click.option("--python", help="The interpreter to train with.")
@click.option("-v", "--verbose", is_flag=True, help="Show the routine lines of good runs too.")
@output.format_option
def demo(folder: Path, python: str | None, verbose: bool, form: str) -> int:
    """Start a small two-rank training that fails in rank 1, follow it and diagnose it.

    Everything is written into FOLDER. The exit code is 0 when the planned failure was found, else 1.
    """
    settings = load_settings()
    announce_lost(settings)
    made = prepare_demo(settings, folder, python)
    if form == "text":
        print(output.safe_line(_introduction(made)), flush=True)
    if made.prepared.blocked:
        output.show_findings(made.prepared.findings)
        return 1
    with stream.interrupts() as count:
        run = start(made.prepared, settings)
        stream.watch(run, count, form=form, everything=verbose, silence_s=settings["silence_s"])
        code, diagnosis = stream.show_end(run.reload(), form=form)
    return code if code != 1 else int(not as_planned(diagnosis))


def _introduction(made: Demo) -> str:
    if made.mindspore_version:
        kind = f"MindSpore {made.mindspore_version} under msrun"
    else:
        kind = "a plain Python training (this interpreter has no MindSpore)"
    return f"demo: two ranks of {kind}, by {made.python}, in {made.folder}; rank 1 will fail at step 4"
