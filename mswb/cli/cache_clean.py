"""``mswb cache clean``, ``undo`` and ``trash``: what would go is shown first, goes to the trash, and can come back."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import asdict

import click

from mswb.cache.trash import moves as bin_
from mswb.cache.trash import store as trashes
from mswb.cache.trash.store import TrashItem
from mswb.cli import output
from mswb.cli.plans import carry_out, report_plan, show_plan, sized
from mswb.cli.sizes import Amount
from mswb.findings import language, stop
from mswb.plan import Outcome, Plan, apply

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "clean": "nothing to clean",
        "state": "no file cache of yours in {root} is broken or stale; --all takes all, --path, --dataset, --size some",
        "nothing": "there is nothing to bring back",
        "empty": "the trash is empty",
        "sum": "{count} in the trash, {size} on disk; 'mswb cache undo ID' brings one back",
    },
    "zh": {
        "clean": "没有可清理的内容",
        "state": "{root} 中没有您的损坏或过期的文件缓存；--all 清理全部，--path、--dataset、--size 清理部分",
        "nothing": "没有可恢复的内容",
        "empty": "回收区为空",
        "sum": "回收区中有 {count} 项，占用磁盘 {size}；mswb cache undo ID 可恢复其中一项",
    },
}

_dry_run = click.option("--dry-run", is_flag=True, help="Show the plan, change nothing.")


@click.command()
@click.option("--path", metavar="DIR", help="Only caches in this folder; or this very file or folder, whatever it is.")
@click.option("--dataset", metavar="NAME", help="Only the file cache of exactly this name.")
@click.option("--size", metavar="MIB", type=Amount(), help="Only what is larger than this many MiB.")
@click.option("--all", "everything", is_flag=True, help="All caches in the file-cache root, whole ones too.")
@click.option("--system", is_flag=True, help="Also places outside: the package's cache, dead servers, shared memory.")
@click.option("--force", is_flag=True, help="Do not ask. What is in use stays all the same.")
@click.option("--purge", is_flag=True, help="Free the space at once instead of moving to the trash: no undo.")
@_dry_run
@output.format_option
def clean(
    path: str | None,
    dataset: str | None,
    size: float | None,
    everything: bool,
    system: bool,
    force: bool,
    purge: bool,
    dry_run: bool,
    form: str,
) -> int:
    """Remove caches: show exactly what would go, ask, move it to the trash ('mswb cache undo' brings it back).

    Without options: file caches of yours in the root (MSWB_CACHE_ROOT or ~/.mindspore/cache) that are broken or older
    than their source. Caches only: a data file (TFRecord, MindRecord, checkpoint), a download or tuning results go
    only when --path names exactly them. What a live process uses, or another user owns, stays.
    """
    from mswb.cache.clean import Selection
    from mswb.cache.locate import cache_root
    from mswb.cli.cache_verify import progress
    from mswb.flows.cache_clean import prepare, tidy

    words = WORDS[language()]
    wanted = Selection(path, dataset, size, everything, system)
    with progress(form) as told:
        ready = prepare(wanted, os.environ, for_good=purge, told=told)
    if form == "text":
        state = wanted.by_state and not system
        show_plan(ready.plan, words["state"].format(root=cache_root(os.environ)) if state else words["clean"])
    if dry_run:
        return report_plan(ready.plan, None, form)
    if not ready.plan.actions:
        tidy()
        return report_plan(ready.plan, None, form)
    why = " ".join(["mswb", "cache", "clean", *_selectors(path, dataset, size, everything, system)])
    return carry_out(ready.plan, force, form, lambda plan: ready.apply(why))


def _selectors(path: str | None, dataset: str | None, size: float | None, everything: bool, system: bool) -> list[str]:
    """The options that chose what went, for the trash to tell."""
    pairs = (("--path", path), ("--dataset", dataset), ("--size", size and f"{size:g}"))
    flags = (("--all", everything), ("--system", system))
    return [part for name, value in pairs if value for part in (name, value)] + [name for name, is_on in flags if is_on]


@click.command()
@click.argument("name", metavar="[ID]", required=False, default="")
@click.option("--force", is_flag=True, help="Do not ask. With ID: what has changed since goes to the trash, too.")
@_dry_run
@output.format_option
def undo(name: str, force: bool, dry_run: bool, form: str) -> int:
    """Take back all that the last clean or repair did; or the operation or item with this ID ('mswb cache trash').

    What it took comes back, what it made goes to the trash. Shows the plan and asks. What is not as the operation left
    it stays, unless its ID is named with --force. An undo is not undone by the next one, which goes further back.
    """
    from mswb.flows.cache_undo import prepare

    ready = prepare(name, force=force)
    plan = Plan(()) if ready is None else ready.plan
    if form == "text":
        show_plan(plan, WORDS[language()]["nothing"])
    if dry_run or ready is None:
        return report_plan(plan, None, form)
    return carry_out(plan, force, form, lambda _: ready.apply())


@click.group(invoke_without_command=True)
@click.pass_context
def trash(ctx: click.Context) -> int | None:
    """List or empty the trash. A clean empties what has been in it for 7 days."""
    return None if ctx.invoked_subcommand else int(ctx.invoke(trash_list, form="text"))


@trash.command("list")
@output.format_option
def trash_list(form: str) -> int:
    """What is in the trash, the newest first."""
    from mswb.flows.cache_clean import tidy

    tidy()
    found = trashes.items()
    if form == "json":
        output.emit("cache_trash", [], items=[{**asdict(item), "path": item.path} for item in found])
        return 0
    _show_items(found)
    return 0


@trash.command("empty")
@click.argument("names", metavar="[ID]...", nargs=-1)
@click.option("--older-than", metavar="DAYS", type=Amount(), help="Only what has been there so long.")
@click.option("--force", is_flag=True, help="Do not ask.")
@_dry_run
@output.format_option
def trash_empty(names: tuple[str, ...], older_than: float | None, force: bool, dry_run: bool, form: str) -> int:
    """Delete what is in the trash for good, and free its space."""
    found = trashes.items()
    unknown = [name for name in names if not trashes.last_operation(found, name)]
    if unknown:
        raise stop("trash-unknown", values={"id": unknown[0]})
    chosen = [item for item in found if not names or {item.id, item.operation} & set(names)]
    if older_than is not None:
        chosen = trashes.expired(chosen, older_than)
    plan = bin_.empty_plan(chosen)
    if form == "text":
        show_plan(plan, WORDS[language()]["empty"])
    return report_plan(plan, None, form) if dry_run or not chosen else carry_out(plan, force, form, _empty)


def _empty(plan: Plan) -> list[Outcome]:
    from mswb.flows.cache_clean import tidy

    outcomes = apply(plan, bin_.TRASH_KINDS)
    tidy()
    return outcomes


def _show_items(found: Sequence[TrashItem]) -> None:
    words = WORDS[language()]
    operation = ""
    for item in found:
        if item.operation != operation:
            operation = item.operation
            output.print_folded(f"{operation}  {item.why}")
        when = time.strftime("%m-%d %H:%M", time.localtime(item.moved))
        output.print_folded(f"{item.id}  {when}  {sized(item.disk_bytes)}", "  ")
        output.print_folded(item.path, "    ")
    size = sized(sum(item.disk_bytes for item in found))
    output.print_folded(words["sum"].format(count=len(found), size=size) if found else words["empty"])
