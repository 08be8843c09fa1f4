"""``mswb run`` and ``mswb check``: msrun's own flags in front, then the script and whatever is the script's."""

from __future__ import annotations

import sys

import click

from mswb.cli import output, stream
from mswb.findings import language
from mswb.flows.run import Prepared, prepare, start
from mswb.settings import Settings, load_settings

# All arguments pass unread: only the launch grammar knows which flag takes a value and where the script begins.
PASS = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}


@click.command(context_settings=PASS, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(arguments: tuple[str, ...]) -> int:
    """Start a training, follow every rank, diagnose it."""
    settings = load_settings()
    prepared = prepare(arguments, settings)
    if prepared.request.help:
        return _help("run")
    _announce_reaped(settings)
    form = prepared.request.form
    if prepared.blocked:
        return _blocked(prepared, form)
    _show_notes(prepared, form)
    with stream.interrupts() as count:
        started = start(prepared, settings)
        if form == "text":
            print(output.safe_line(f"run {started.id}, logs in {started.spec.log_dir}"), flush=True)
        if prepared.request.detach and not count.asked:
            return _detached(started.id, form)
        stream.watch(started, count, form=form, everything=prepared.request.verbose)
        return stream.finish(started, form=form)


@click.command(context_settings=PASS, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def check(arguments: tuple[str, ...]) -> int:
    """Check a launch without starting it."""
    prepared = prepare(arguments, load_settings())
    if prepared.request.help:
        return _help("check")
    return 0
