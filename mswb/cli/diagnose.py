"""``mswb diagnose PATH``: the post-mortem of a run, a log folder or one log file."""

from __future__ import annotations

import click

from mswb.cli import output, report
from mswb.flows.open_path import resolve_logs
from mswb.launch.diagnose import diagnose as diagnose_logs
from mswb.launch.diagnose import to_report
from mswb.settings import load_settings


@click.command()
@click.argument("path", default=".")
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings too.")
@output.format_option
def diagnose(path: str, strict: bool, form: str) -> int:
    """Say what went wrong, where first, why, and what to do.

    PATH is a log folder of any layout (mswb's, msrun's, one flat folder), a log file, or the name of a run.
    """
    settings = load_settings()
    diagnosis = diagnose_logs(resolve_logs(path, settings), silence_s=settings["silence_s"])
    if form == "json":
        output.emit_object(to_report(diagnosis))
    else:
        report.show(diagnosis)
    return report.exit_code(diagnosis.findings, diagnosis.verdict, strict)
