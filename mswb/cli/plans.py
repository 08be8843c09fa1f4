"""Plans on the command line: shown in full, agreed to, applied, and reported as ``mswb.plan/1``."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from mswb.cli import output
from mswb.plan import Outcome, Plan, apply, to_report


def show_plan(plan: Plan, nothing: str) -> None:
    """Print every action with its target and size, then the notes and the sum; ``nothing`` where there is no action."""
    for action in plan.actions:
        size = f", {action.bytes} bytes" if action.bytes else ""
        print(output.safe_line(f"{action.kind.replace('-', ' ')}  {action.target}"))
        print(output.safe_line(f"    {action.detail}{size}"))
    for warning in plan.warnings:
        print(output.safe_line(f"note: {warning}"))
    count = "1 action" if len(plan.actions) == 1 else f"{len(plan.actions)} actions"
    size = f", {plan.bytes} bytes" if plan.bytes else ""
    print(f"{count}{size}" if plan.actions else nothing)


def carry_out(plan: Plan, force: bool, form: str, do: Callable[[Plan], list[Outcome]] = apply) -> int:
    """Apply a plan that was shown, when the person agrees or has agreed before; the exit code."""
    if not force and (form == "json" or not agreed()):
        print("nothing was changed; --force applies the plan", file=sys.stderr)
        return report_plan(plan, None, form)
    return report_plan(plan, do(plan), form)


def agreed() -> bool:
    """Ask; without a terminal nobody agrees."""
    return sys.stdin.isatty() and click.confirm("apply?", default=False)


def report_plan(plan: Plan, outcomes: list[Outcome] | None, form: str) -> int:
    """Write the report of a plan (with what became of it, once applied); 1 when something was not done."""
    if form == "json":
        output.emit("plan", [], **to_report(plan, outcomes))
    for outcome in outcomes or []:
        if not outcome.done:
            print(output.safe_line(f"mswb: not done: {outcome.action.target}: {outcome.reason}"), file=sys.stderr)
    return int(any(not outcome.done for outcome in outcomes or []))
