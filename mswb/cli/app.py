"""The command table, loaded one command at a time, and the one place where errors become exit codes.

Exit codes: 0 fine, 1 the job failed or errors were found, 2 wrong usage or unreadable input, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

import click

from mswb import __version__
from mswb.cli import output
from mswb.cli.ended import Ended
from mswb.findings import MswbError, choose_language, make
from mswb.settings import load_settings


class Entry(NamedTuple):
    """Where a command's code is, and what ``--help`` says of it without loading that code."""

    target: str
    summary: str
    schema: str


COMMANDS = {
    "run": Entry("mswb.cli.run:run", "Start a training, follow every rank, diagnose it.", "diagnose"),
    "check": Entry("mswb.cli.run:check", "Check a launch without starting it.", "check"),
    "diagnose": Entry("mswb.cli.diagnose:diagnose", "Say what went wrong in a run or a log folder.", "diagnose"),
    "logs": Entry("mswb.cli.logs:logs", "Show the logs of all ranks, merged by time.", "log"),
    "jobs": Entry("mswb.cli.jobs:jobs", "List, show, attach to, stop and clean runs.", "jobs"),
    "doctor": Entry("mswb.cli.doctor:doctor", "Report on this host and the training Python.", "doctor"),
    "devices": Entry("mswb.cli.devices:devices", "Show the counters of this host and its devices.", "devices"),
    "explain": Entry("mswb.cli.explain:explain", "Explain a finding code.", "explain"),
    "cache": Entry("mswb.cli.cache:cache", "See, verify, repair and clean caches and data files.", "cache"),
    "prof": Entry("mswb.cli.prof:prof", "Read profiles: what the device waited for, and which operators.", "profile"),
    "convert": Entry("mswb.cli.convert:convert", "Convert ONNX to MindIR; check and inspect models.", "convert"),
    "shims": Entry("mswb.cli.shims:shims", "Install wrappers, so that typing msrun runs mswb.", "shims"),
    "ui": Entry("mswb.ui.start:ui", "Open the workbench here or on a path.", "ui"),
    "demo": Entry("mswb.cli.demo:demo", "Start a small two-rank run that fails; diagnose it.", "diagnose"),
}
ALIASES = {"msrun": "run", "mscache": "cache", "msprof": "prof", "msconvert": "convert"}
SCHEMAS = {
    ("convert", "lint"): "convert_lint",
    ("convert", "inspect"): "convert_inspect",
    **{("cache", name): "plan" for name in ("repair", "clean", "undo", "trash")},
    ("cache", "server"): "cache_server",
    ("cache", "baseline"): "cache_baseline",
    ("cache", "triage"): "cache_triage",
}
"""The kinds of reports of sub-commands that have one of their own."""


class CommandTable(click.Group):
    """A group whose commands are imported when they are asked for: ``mswb --help`` loads none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(ALIASES.get(cmd_name, cmd_name))
        if entry is None:
            return None
        module, _, attribute = entry.target.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None:
            raise click.UsageError(_unknown_command(name), ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=CommandTable,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="mswb", message="%(prog)s %(version)s")
@click.pass_context
def mswb(ctx: click.Context) -> None:
    """The MindSpore workbench: start, follow and diagnose trainings from a terminal."""
    choose_language(load_settings()["lang"])
    if ctx.invoked_subcommand is None and sys.stdin.isatty() and sys.stdout.isatty():
        workbench = mswb.get_command(ctx, "ui")
        assert workbench is not None
        ctx.exit(ctx.invoke(workbench))
    elif ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; every error becomes one clear line on stderr.

    With ``--format json`` an object is written on stdout also when the command fails, holding the finding.
    """
    output.prepare_streams()
    try:
        return _guarded(arguments)
    except (BrokenPipeError, SystemExit):
        # The reader (head, less) has left; click turns that into SystemExit, and nothing else into it.
        # Python would complain again when it flushes stdout at exit.
        output.forget_stdout()
        return 141
    except OSError as problem:
        # Only writing to stdout raises it up to here: a full disk, a terminal that is gone.
        output.forget_stdout()
        print(f"mswb: cannot write the output: {problem.strerror}", file=sys.stderr)
        return 2


def _guarded(arguments: Sequence[str]) -> int:
    try:
        result = mswb.main(args=list(arguments), prog_name="mswb", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except MswbError as error:
        return _fail(arguments, error)
    except click.ClickException as error:
        values = {"problem": _one_line(error.format_message()), "fix": _usage_hint(error)}
        return _fail(arguments, MswbError(make("usage", values=values)))
    except click.exceptions.Exit as error:
        return error.exit_code
    except (KeyboardInterrupt, click.exceptions.Abort):
        print("mswb: interrupted", file=sys.stderr)
        return 130
    except Ended as ended:
        print("mswb: ended by a signal", file=sys.stderr)
        return ended.exit_code


def _fail(arguments: Sequence[str], error: MswbError) -> int:
    if output.wants_json(arguments):
        output.emit_error(_schema(arguments), error.finding)
    print(f"mswb: {output.safe_line(str(error))}", file=sys.stderr)
    return error.exit_code


def _schema(arguments: Sequence[str]) -> str:
    """The kind of report that a command line asks for."""
    name = ALIASES.get(arguments[0], arguments[0]) if arguments else ""
    entry = COMMANDS.get(name)
    return SCHEMAS.get((name, arguments[1] if len(arguments) > 1 else ""), entry.schema if entry else "error")


def _unknown_command(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, [*COMMANDS, *ALIASES], n=1)
    return f"no command named '{name}'" + (f", did you mean '{near[0]}'?" if near else "")


def _usage_hint(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f"see {context.command_path if context else 'mswb'} --help"


def _one_line(text: str) -> str:
    return " ".join(text.split()).rstrip(".")
