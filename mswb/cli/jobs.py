"""``mswb jobs``: every run of this user on this host, from any terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import click

from mswb.cli import output
from mswb.cli.plans import carry_out, report_plan, show_plan
from mswb.files.plain import to_plain
from mswb.findings import stop as refuse
from mswb.jobs import control, runs
from mswb.jobs.runs import Run
from mswb.jobs.spec import ADOPTED, Event, RunStatus
from mswb.plan import Plan
from mswb.settings import Settings, load_settings


def announce_lost(settings: Settings) -> None:
    """End what is left of runs whose supervisor died, and say exactly what was ended (on stderr)."""
    for reaped in control.reap_lost(settings):
        announce(reaped)


def announce(reaped: control.Reaped) -> None:
    """Say on stderr what was ended of one run whose supervisor died."""
    names = ", ".join(f"{process.pid} {process.name}" for process in reaped.ended) or "nothing was left"
    adopted = reaped.run.status is not None and reaped.run.status.backend == ADOPTED
    fate = "its processes were left alone" if adopted else f"ended: {names}"
    print(output.safe_line(f"mswb: run {reaped.run.id} had lost its supervisor; {fate}"), file=sys.stderr)
    for process in reaped.left:
        print(output.safe_line(f"mswb: {process.pid} {process.name} would not end"), file=sys.stderr)


@click.group()
def jobs() -> None:
    """List, show, attach to, adopt, stop and clean runs; see where the ranks stand."""


@jobs.command("list")
@output.format_option
def list_(form: str) -> int:
    """All runs, the newest first; below, those of others.

    The second list is of live trainings on this host that mswb did not start.
    """
    from mswb.cli import foreign
    from mswb.flows.adopt import foreign_runs

    settings = load_settings()
    announce_lost(settings)
    found = runs.list_runs(settings)
    others = foreign_runs(settings)
    if form == "json":
        output.emit("jobs", [], runs=[summary(run) for run in found], foreign=[foreign.summary(run) for run in others])
        return 0
    if found:
        output.show_table(["run", "state", "started", "took", "exit", "what"], [_row(run) for run in found])
    else:
        print("no runs yet; mswb run SCRIPT starts one")
    foreign.show_list(others)
    return 0


@jobs.command()
@click.argument("name", default="latest")
@output.format_option
def show(name: str, form: str) -> int:
    """One run: its processes, logs and end. NAME is an id, the beginning of one, or 'latest'."""
    settings = load_settings()
    announce_lost(settings)
    run = runs.find_run(settings, name)
    if form == "json":
        events, _ = control.read_events(run)
        output.emit("jobs", [], runs=[{**summary(run), "events": [_event(one) for one in events]}])
    else:
        _show(run)
    return 0


@jobs.command()
@click.argument("name", default="latest")
@click.option("-v", "--verbose", is_flag=True, help="Show the routine lines of good runs too.")
@output.format_option
def attach(name: str, verbose: bool, form: str) -> int:
    """Follow a run as 'mswb run' does. Ctrl+C leaves it running; 'mswb jobs stop' ends it."""
    from mswb.cli import stream

    settings = load_settings()
    announce_lost(settings)
    run = runs.find_run(settings, name)
    with stream.interrupts() as count:
        if stream.watch(run, count, form=form, everything=verbose, silence_s=settings["silence_s"], leave=True):
            return stream.finish(run.reload(), form=form)
    if form == "text":
        print(output.safe_line(f"left {run.id} running"))
    return 0


@jobs.command()
@click.argument("name", default="latest")
@click.option("--kill", is_flag=True, help="At once, without asking the processes first.")
@output.format_option
def stop(name: str, kill: bool, form: str) -> int:
    """End a run with exactly its processes.

    They get SIGINT, then SIGTERM, then SIGKILL.
    """
    settings = load_settings()
    announce_lost(settings)
    run = runs.find_run(settings, name)
    if run.status is None:
        raise refuse("path-unreadable", values={"path": str(run.folder), "reason": run.problem})
    targets = [{"pid": process.pid, "name": process.name} for process in control.members(run)]
    if form == "text":
        for target in targets:
            print(output.safe_line(f"stopping {target['pid']} {target['name']}"))
    asked = control.request_stop(run, kill=kill)
    run = control.wait(run) if asked else run.reload()
    if form == "json":
        output.emit("jobs", [], runs=[summary(run)], stopped=targets, asked=asked)
    else:
        print(output.safe_line(f"{run.id}: {runs.run_state(run)}" if asked else f"{run.id} had already ended"))
    return 0


@jobs.command()
@click.argument("name", default="latest")
@output.format_option
def stacks(name: str, form: str) -> int:
    """Where each rank stands: all stacks of its threads.

    Every rank prints them into its own log and goes on. For ranks that mswb started; others have no handler for it.
    """
    from mswb.flows.stacks import ask_stacks

    run = runs.find_run(load_settings(), name)
    found = ask_stacks(run)
    if form == "json":
        output.emit("jobs", [], runs=[summary(run)], stacks=to_plain(found))
        return 0
    for one in found:
        who = one.role if one.rank is None else f"rank {one.rank}"
        print(output.safe_line(f"{who}  {one.place if one.text else 'no answer'}".rstrip()))
        for line in one.text.split("\n") if one.text else []:
            print(output.safe_line(f"    {line}"))
    if not found:
        print(output.safe_line(f"{run.id} has no live rank that prints its stacks"))
    return 0


@jobs.command()
@click.argument("pid", type=int)
@click.option("--end-peers", is_flag=True, help="End the other processes when one fails, as 'mswb run' does.")
@output.format_option
def adopt(pid: int, end_peers: bool, form: str) -> int:
    """Watch a training that mswb did not start.

    PID is that of any of its processes. It gets a run of its own, for attach, show, diagnose and stop. Nothing about
    the training itself changes: it ends as it would, its log folder is not written to.
    """
    from mswb.cli import foreign
    from mswb.flows.adopt import adopt_run, choose

    settings = load_settings()
    announce_lost(settings)
    found = choose(pid, settings)
    if form == "text":
        foreign.show(found)
    run = adopt_run(found, settings, end_peers=end_peers)
    if form == "json":
        output.emit("jobs", [], runs=[summary(run)], foreign=[foreign.summary(found)])
    else:
        print(output.safe_line(f"adopted as {run.id}; mswb jobs attach {run.id} follows it, mswb jobs stop ends it"))
    return 0


@jobs.command()
@click.option("--end", is_flag=True, help="End them, after asking.")
@click.option("--force", is_flag=True, help="Don't ask.")
@output.format_option
def orphans(end: bool, force: bool, form: str) -> int:
    """List processes that earlier runs left behind.

    Those of an msrun that mswb did not start, and of runs whose supervisor died. Nothing is ended without --end.
    """
    from mswb.jobs.adopt import adopted_by
    from mswb.jobs.orphans import find_foreign_orphans, find_own_orphans, orphan_plan

    settings = load_settings()
    plan = orphan_plan([*find_foreign_orphans(adopted_by(settings)), *find_own_orphans(settings)])
    if form == "text":
        show_plan(plan, "no process of an earlier run is left")
    if not plan.actions or not end:
        if plan.actions and form == "text":
            print("mswb jobs orphans --end ends them")
        return report_plan(plan, None, form)
    return carry_out(plan, force, form)


@jobs.command()
@click.argument("names", nargs=-1)
@click.option("--older-than", type=float, metavar="DAYS", help="Only runs that ended that long ago.")
@click.option("--keep", type=int, default=0, show_default=True, help="Keep this many of the newest.")
@click.option("--orphans", is_flag=True, help="Also end leftovers of an msrun that mswb did not start.")
@click.option("--dry-run", is_flag=True, help="Show the plan, change nothing.")
@click.option("--force", is_flag=True, help="Don't ask.")
@output.format_option
def clean(
    names: tuple[str, ...], older_than: float | None, keep: int, orphans: bool, dry_run: bool, force: bool, form: str
) -> int:
    """Delete the records of ended runs, never their logs.

    All of them or NAMES, after showing exactly what.
    """
    settings = load_settings()
    announce_lost(settings)
    plan = _plan(settings, names, older_than, keep, orphans)
    if form == "text":
        show_plan(plan, "nothing to clean")
    if not plan.actions or dry_run:
        return report_plan(plan, None, form)
    return carry_out(plan, force, form)


def summary(run: Run) -> dict[str, Any]:
    """One run as JSON: what the folder says, and its state as it is now."""
    status = to_plain(_status_fields(run.status)) if run.status else {}
    problem = {"problem": run.problem} if run.problem else {}
    return {"id": run.id, "folder": str(run.folder), "display_state": runs.run_state(run), **status, **problem}


def _status_fields(status: RunStatus) -> dict[str, Any]:
    import msgspec

    return {name: value for name, value in msgspec.to_builtins(status).items() if name != "id"}


def _event(event: Event) -> dict[str, Any]:
    import msgspec

    built: dict[str, Any] = msgspec.to_builtins(event)
    return built


def _row(run: Run) -> tuple[object, ...]:
    status = run.status
    if status is None:
        return run.id, runs.run_state(run), "", "", "", run.problem
    return (
        run.id,
        runs.run_state(run),
        _clock(status.created),
        _took(status),
        status.exit_code,
        output.short_title(status.title),
    )


def _clock(seconds: float) -> str:
    try:
        return time.strftime("%m-%d %H:%M:%S", time.localtime(seconds))
    except (OverflowError, OSError, ValueError):  # no such moment: the record was damaged
        return "?"


def _took(status: RunStatus) -> str:
    span = (status.ended or time.time()) - status.created
    if not 0 <= span < 1e10:
        return "?"
    seconds = int(span)
    hours, rest = divmod(seconds, 3600)
    return f"{hours}h{rest // 60:02d}" if hours else f"{rest // 60}m{rest % 60:02d}s"


def _show(run: Run) -> None:
    status = run.status
    print(output.safe_line(f"run      {run.id}  {runs.run_state(run)}"))
    if status is None:
        print(output.safe_line(run.problem))
        return
    print(output.safe_line(f"what     {status.title}"))
    print(output.safe_line(f"where    {status.cwd} on {status.host}"))
    print(output.safe_line(f"logs     {status.log_dir or run.folder}"))
    code = "" if status.exit_code is None else f", exit code {status.exit_code}"
    print(output.safe_line(f"took     {_took(status)}{code}"))
    if status.message:
        print(output.safe_line(f"note     {status.message}"))
    if status.first_failure:
        first = status.first_failure
        who = first.role if first.rank is None else f"rank {first.rank}"
        print(output.safe_line(f"first    {who} ended first, exit code {first.exit_code}"))
    rows = [(one.role, one.rank, one.pid, one.state, one.exit_code) for one in status.processes]
    output.show_table(["role", "rank", "pid", "state", "exit"], rows)


def _plan(settings: Settings, names: Sequence[str], older_than: float | None, keep: int, orphans: bool) -> Plan:
    from mswb.jobs.adopt import adopted_by
    from mswb.jobs.clean import clean_plan
    from mswb.jobs.orphans import find_foreign_orphans, find_own_orphans, orphan_plan

    days = None if older_than is None else older_than * 86400
    plan = clean_plan(settings, older_than=days, keep=keep, ids=names)
    if not orphans:
        return plan
    more = orphan_plan([*find_foreign_orphans(adopted_by(settings)), *find_own_orphans(settings)])
    return Plan(more.actions + plan.actions, more.warnings + plan.warnings)
