"""Plans on the command line: shown in full, agreed to, applied, and reported as ``mswb.plan/1``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from functools import lru_cache

import click

from mswb.cli import output
from mswb.cli.alike import lumped, pattern, place_of
from mswb.cli.sizes import human_bytes
from mswb.findings import language
from mswb.plan import Action, Outcome, Plan, apply, to_report

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "bytes": "{count} bytes",
        "disk": "{size} on disk",
        "note": "note: {text}",
        "one": "1 action",
        "many": "{count} actions",
        "ask": "apply?",
        "kept": "nothing was changed; --force applies the plan",
        "not-done": "not done: {target}: {reason}",
        "done": "done: {count} of {all}",
    },
    "zh": {
        "bytes": "{count} 字节",
        "disk": "占用磁盘 {size}",
        "note": "说明：{text}",
        "one": "1 个操作",
        "many": "{count} 个操作",
        "ask": "执行？",
        "kept": "未做任何改动；--force 执行该计划",
        "not-done": "未完成：{target}：{reason}",
        "done": "已完成：{count} / {all}",
    },
}
KIND_WORDS: dict[str, dict[str, str]] = {
    "en": {
        "trash": "to the trash",
        "delete": "delete",
        "empty-trash": "delete from the trash",
        "restore": "bring back",
        "remove-socket": "remove socket",
        "remove-shared-memory": "remove shared memory",
    },
    "zh": {
        "trash": "移入回收区",
        "delete": "删除",
        "empty-trash": "从回收区删除",
        "restore": "恢复",
        "remove-socket": "删除套接字",
        "remove-shared-memory": "删除共享内存",
        "delete-folder": "删除文件夹",
        "end-process": "结束进程",
    },
}
"""Kinds of actions as a person reads them; every other one is its own word."""


def show_plan(plan: Plan, nothing: str) -> None:
    """Print every action with its target and size, then the notes and the sum; ``nothing`` where there is no action."""
    words = WORDS[language()]
    for alike in lumped(plan.actions, _sort):
        action = alike[0]
        kind = KIND_WORDS[language()].get(action.kind, action.kind.replace("-", " "))
        output.print_folded(f"{kind}  {pattern([one.target for one in alike])}")
        parts = [action.detail, _on_disk(sum(one.bytes for one in alike))]
        output.print_folded(", ".join(part for part in parts if part), "    ")
    for warning in plan.warnings:
        output.print_folded(words["note"].format(text=warning))
    count = words["one"] if len(plan.actions) == 1 else words["many"].format(count=len(plan.actions))
    output.print_folded(f"{count}{', ' + _on_disk(plan.bytes) if plan.bytes else ''}" if plan.actions else nothing)


def _sort(action: Action) -> Hashable | None:
    """What actions share that stand on one line: those on leftovers of programs; every other has its own."""
    if not (action.target.startswith("shm:") or action.detail.rpartition(", ")[0] in _leftovers()):
        return None
    return (action.kind, action.detail, *place_of(action.target))


@lru_cache(maxsize=1)
def _leftovers() -> frozenset[str]:
    """What the detail of a cleaning's action begins with, for what other programs left."""
    from mswb.cache.entries import REPORTED  # not needed by every command that has plans
    from mswb.cache.sniff import KINDS

    return frozenset(KINDS[form] for form, kind in REPORTED.items() if kind == "leftover")


def _on_disk(count: int) -> str:
    return WORDS[language()]["disk"].format(size=sized(count)) if count else ""


def sized(count: int) -> str:
    """``1536 bytes (1.5 KiB)``: exact, and as a person reads it."""
    exact = WORDS[language()]["bytes"].format(count=count)
    return exact if count < 1024 else f"{exact} ({human_bytes(count)})"


def carry_out(plan: Plan, force: bool, form: str, do: Callable[[Plan], list[Outcome]] = apply) -> int:
    """Apply a plan that was shown, when the person agrees or has agreed before; the exit code."""
    if not force and (form == "json" or not agreed()):
        print(WORDS[language()]["kept"], file=sys.stderr)
        return report_plan(plan, None, form)
    return report_plan(plan, do(plan), form)


def agreed() -> bool:
    """Ask; without a terminal nobody agrees."""
    return sys.stdin.isatty() and click.confirm(WORDS[language()]["ask"], default=False)


def report_plan(plan: Plan, outcomes: list[Outcome] | None, form: str) -> int:
    """Write the report of a plan (with what became of it, once applied); 1 when something was not done."""
    words = WORDS[language()]
    if form == "json":
        output.emit("plan", [], **to_report(plan, outcomes))
    for outcome in outcomes or []:
        if not outcome.done:
            text = words["not-done"].format(target=outcome.action.target, reason=outcome.reason)
            print(output.safe_line(f"mswb: {text}"), file=sys.stderr)
    if outcomes and form == "text":
        print(words["done"].format(count=sum(outcome.done for outcome in outcomes), all=len(outcomes)))
    return int(any(not outcome.done for outcome in outcomes or []))
