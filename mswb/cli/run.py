"""``mswb run`` and ``mswb check``: msrun's own flags in front, then the script and whatever is the script's."""

from __future__ import annotations

import shlex
import sys

import click

from mswb.cli import output, report, stream
from mswb.cli.jobs import announce_lost
from mswb.findings import Finding, language
from mswb.flows.run import Prepared, prepare, preview, start
from mswb.launch.diagnose import Diagnosis, to_report
from mswb.launch.environment import EnvOverlay
from mswb.launch.flags import FLAGS
from mswb.settings import load_settings

# All arguments pass unread: only the launch grammar knows which flag takes a value and where the script begins.
PASS = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}


@click.command(context_settings=PASS, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(arguments: tuple[str, ...]) -> int:
    """Start a training, follow every rank, diagnose it."""
    if _asks_help(arguments):
        return _help("run", "Start a training, follow every rank, diagnose it when it ends.")
    settings = load_settings()
    prepared = prepare(arguments, settings)
    announce_lost(settings)
    form = prepared.request.form
    if prepared.blocked:
        return _refuse(prepared, form)
    _show_notes(prepared, form)
    with stream.interrupts() as count:
        started = start(prepared, settings)
        if form == "text":
            print(output.safe_line(f"run {started.id}"), flush=True)
            print(output.safe_line(f"logs in {output.short_path(started.spec.log_dir or '')}"), flush=True)
        if prepared.request.detach and not count.asked:
            return _detached(started.id, str(started.spec.log_dir), form)
        request = prepared.request
        silence = settings["silence_s"]
        try:
            stream.watch(started, count, form=form, everything=request.verbose, silence_s=silence, ranks=request.tail)
            return stream.finish(started.reload(), form=form)
        except BrokenPipeError:
            text = f"mswb: nobody reads the output any more; run {started.id}: mswb jobs attach {started.id}"
            print(output.safe_line(text), file=sys.stderr)
            raise


@click.command(context_settings=PASS, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def check(arguments: tuple[str, ...]) -> int:
    """Check a launch without starting it."""
    if _asks_help(arguments):
        return _help("check", "Check a launch and show exactly what would be started; nothing is.")
    prepared = prepare(arguments, load_settings(), checked=True)
    findings = (*prepared.findings, *prepared.request.notes)
    if prepared.request.form == "json":
        variables = [{"name": one.name, "value": one.value, "origin": one.origin} for one in prepared.overlay.entries]
        output.emit("check", findings, command=list(preview(prepared)), environment=variables)
    else:
        _show_check(prepared, findings)
    return report.exit_code(prepared.findings, "unknown")


def _asks_help(arguments: tuple[str, ...]) -> bool:
    return bool(arguments) and arguments[0] in ("-h", "--help")


def _help(name: str, purpose: str) -> int:
    print(f"Usage: mswb {name} [flags] SCRIPT [ARGUMENTS of the script]\n\n{purpose}\n\nFlags:")
    output.show_table(["flag", "meaning"], [(flag.usage, flag.help) for flag in FLAGS.values()])
    return 0


def _refuse(prepared: Prepared, form: str) -> int:
    """Say why nothing was started; the exit code is that of errors found."""
    if form == "json":
        root = next(index for index, one in enumerate(prepared.findings) if one.severity == "error")
        output.emit_object(to_report(Diagnosis("failed", root, (), prepared.findings, prepared.request.cwd)))
        return 1
    print("not started:")
    output.show_findings(prepared.findings, lang=language())
    print("--skip-check starts it all the same")
    return 1


def _show_notes(prepared: Prepared, form: str) -> None:
    """Warnings and decisions, one line each, before the logs begin."""
    if form == "json":
        return
    for finding in (*prepared.findings, *prepared.request.notes):
        print(output.safe_line(f"{output.mark(finding.severity)} {finding.title}"), flush=True)


def _detached(run_id: str, log_dir: str, form: str) -> int:
    if form == "json":
        output.emit("run", [], run=run_id, log_dir=log_dir)
    else:
        print("it goes on by itself; to see it or to end it:")
        print(output.safe_line(f"  mswb jobs attach {run_id}"))
        print(output.safe_line(f"  mswb jobs stop {run_id}"))
    return 0


def _show_check(prepared: Prepared, findings: tuple[Finding, ...]) -> None:
    interpreter = prepared.interpreter
    version = f"MindSpore {interpreter.mindspore_version}" if interpreter.mindspore_version else "no MindSpore"
    print(output.safe_line(f"python   {interpreter.path}  ({interpreter.source})"))
    print(output.safe_line(f"         Python {interpreter.version}, {version}"))
    print(output.safe_line(f"folder   {prepared.request.cwd}"))
    print("command  " + output.safe_line(shlex.join(preview(prepared))))
    _show_environment(prepared.overlay)
    if findings:
        print()
        output.show_findings(findings, lang=language())
    else:
        print("nothing stands in the way")


def _show_environment(overlay: EnvOverlay) -> None:
    print("\nvariables that the processes get, beside your own:")
    output.show_table(["name", "value", "origin"], [(one.name, one.value, one.origin) for one in overlay.entries])
    print("origin: user = yours, kept; flag, option = of this command line;")
    print("article, advice = recommended for MindSpore; mswb = needed by mswb")
    print("--no_env NAME drops one, --env NAME=VALUE changes it")
