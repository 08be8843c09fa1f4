"""``mswb cache list`` and ``info``: what there is, in bytes and as people read it, and all that is known of one."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click

from mswb.cache.entries import Entry, to_row
from mswb.cache.sniff import KINDS
from mswb.cli import output
from mswb.cli.cache_rows import SEVERITY, show_entries, sign, size_words
from mswb.cli.plans import sized
from mswb.cli.sizes import Amount, human_bytes
from mswb.findings import Finding, language, make, stop
from mswb.flows.caches import Total

MOST = 40
"""Entries that text lists without --all; JSON holds every one."""
MIB = 1 << 20
FEW = 5
"""Entries that info tells all of without being asked for one of them."""
_FIRST = ("size_bytes", "num_samples", "avg_load_time_ms")
"""What info tells first."""
_ROW = ("path", "kind", "form", "name", "status", "size_bytes", "disk_bytes", "modified", "records", "detail")
_MOMENTS = frozenset({"modified", "created", "last_used", "verified_at", "time", "begun", "ended", "repaired"})
"""Seconds since the epoch that are shown as a date."""

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "few": "{count} entries: 'mswb cache info PATH' or 'mswb cache info NAME' tells all of one",
        "full": "full at {limit}: {records} of {total} in its source are in {path}",
        "nothing": "no cache and no data file in {places}",
        "nobody": "nothing of that name or size in {places}",
        "more": "… and {count} more: --all shows them",
        "place": "place",
        "kind": "kind",
        "count": "count",
        "bytes": "bytes",
        "size": "size",
        "disk": "on disk",
        "root": "cache root",
        "folder": "folder",
        "server": "server",
        "system": "system",
        "unknown": "unknown",
        "trash": "in the trash: {count}, {size} on disk; 'mswb cache trash' shows them",
    },
    "zh": {
        "few": "共 {count} 项：mswb cache info PATH 或 mswb cache info NAME 显示其中一项的全部信息",
        "full": "已达上限 {limit}：{path} 中有来源 {total} 条中的 {records} 条",
        "nothing": "{places} 中没有缓存或数据文件",
        "nobody": "{places} 中没有符合该名称或大小的内容",
        "more": "… 另有 {count} 项：--all 全部显示",
        "place": "位置",
        "kind": "类型",
        "count": "数量",
        "bytes": "字节",
        "size": "大小",
        "disk": "占用磁盘",
        "root": "缓存根目录",
        "folder": "文件夹",
        "server": "服务",
        "system": "系统",
        "unknown": "未知",
        "trash": "回收区：{count} 项，占用磁盘 {size}；mswb cache trash 可查看",
    },
}


@dataclass(frozen=True, slots=True)
class _Found:
    """Entries that were asked for, notes, and where they were looked for."""

    entries: list[Entry]
    notes: list[Finding]
    places: list[str]
    all: int


_named = click.argument("named", metavar="[PATH|NAME]...", nargs=-1)
_path = click.option("--path", "paths", metavar="DIR", multiple=True, help="A folder, cache or file; as PATH is.")
_dataset = click.option("--dataset", metavar="NAME", help="Only the file cache of exactly this name.")


@click.command("list")
@_named
@_path
@_dataset
@click.option("--size", metavar="MIB", type=Amount(), help="Only what is larger than this many MiB.")
@click.option("--all", "everything", is_flag=True, help=f"Every entry; without it text shows {MOST} at most.")
@click.option("--system", is_flag=True, help="Also places outside: home, /tmp, the package's cache, dead servers.")
@output.format_option
def list_(
    named: tuple[str, ...],
    paths: tuple[str, ...],
    dataset: str | None,
    size: float | None,
    everything: bool,
    system: bool,
    form: str,
) -> int:
    """List caches, data files and leftovers with size and status, broken ones first.

    Looks in the file-cache root (MSWB_CACHE_ROOT or ~/.mindspore/cache) and in this folder, unless others are named;
    a NAME that is no path is that of a file cache. File caches are read in full as long as they are small; of data
    files the last 'mswb cache verify' is told while they are the same.
    """
    from mswb.cache.trash.store import items
    from mswb.flows.caches import totals

    found = _find(named, paths, dataset, size, system)
    entries = sorted(found.entries, key=_order)
    findings = [finding for entry in entries for finding in entry.findings]
    sums = totals(entries, os.environ, found.places)
    trash = items()
    held = {"count": len(trash), "disk_bytes": sum(item.disk_bytes for item in trash)}
    if form == "json":
        rows = [to_row(entry) for entry in entries]
        output.emit("cache", [*findings, *found.notes], entries=rows, totals=[asdict(one) for one in sums], trash=held)
    else:
        _show(entries, everything, sums, found)
        if trash:
            output.print_folded(WORDS[language()]["trash"].format(count=held["count"], size=sized(held["disk_bytes"])))
    return int(any(finding.severity == "error" for finding in findings))


@click.command()
@_named
@_path
@_dataset
@click.option("--system", is_flag=True, help="Look in the places outside, too.")
@output.format_option
def info(named: tuple[str, ...], paths: tuple[str, ...], dataset: str | None, system: bool, form: str) -> int:
    """Tell all that is known of caches, by path or name: samples, load times, hits, source, versions, holders."""
    from mswb.flows.caches import informed

    found = _find(named, paths, dataset, None, system)
    ordered = sorted(found.entries, key=_order)
    if form == "text" and len(ordered) > FEW and not (named or paths or dataset):
        _show_rows(ordered, False)
        output.print_folded(WORDS[language()]["few"].format(count=len(ordered)))
        _show_end(found, True)
        return _code(ordered)
    entries = [informed(entry) for entry in ordered]
    findings = [finding for entry in entries for finding in entry.findings]
    if dataset is not None and not entries:
        findings.append(make("cache-unknown-name", values={"name": dataset, "places": _places(found)}))
    if form == "json":
        output.emit("cache", [*findings, *found.notes], entries=[to_row(entry) for entry in entries])
    else:
        for number, entry in enumerate(entries):
            print(end="\n" if number else "")
            _show_facts(entry)
        _show_end(found, bool(entries))
    return int(any(finding.severity == "error" for finding in findings))


def _code(entries: Iterable[Entry]) -> int:
    return int(any(finding.severity == "error" for entry in entries for finding in entry.findings))


def _find(named: Sequence[str], paths: Sequence[str], dataset: str | None, size: float | None, system: bool) -> _Found:
    """The entries that are meant.

    Raises:
        MswbError: ``path-missing``: a word is no path, and no file cache is called so.
    """
    from mswb.flows.caches import collect, everywhere, usual_paths

    names = [one for one in named if not os.path.lexists(one) and "/" not in one]
    places = [*(one for one in named if one not in names), *paths]
    usual = usual_paths(os.environ, ".")
    entries, notes = collect(places or usual)
    called = (entries if not places else collect(usual)[0]) if names else []
    called = [entry for entry in called if entry.form == "file-cache" and entry.name in names]
    for name in names:
        if not any(entry.name == name for entry in called):
            raise stop("path-missing", values={"path": name})
    if names:
        entries = [*called, *(entry for entry in entries if places and entry.path not in {one.path for one in called})]
    if system:
        outside, more = everywhere(os.environ)
        known = {entry.path for entry in entries}
        entries += [entry for entry in outside if entry.path not in known]
        notes += more
    kept = [entry for entry in entries if _is_meant(entry, dataset, size)]
    return _Found(_judged(kept) if kept else [], notes, places or usual, len(entries))


def _judged(entries: Sequence[Entry]) -> list[Entry]:
    """The entries with what is wrong with them as findings."""
    from mswb.flows.cache_checks import glanced
    from mswb.flows.cache_state import verified_small

    return [glanced(entry) for entry in verified_small(entries)]


def _is_meant(entry: Entry, dataset: str | None, size: float | None) -> bool:
    is_named = dataset is None or (entry.form == "file-cache" and entry.name == dataset)
    return is_named and (size is None or entry.size_bytes > size * MIB)


def _order(entry: Entry) -> tuple[int, int, str]:
    worst = min((SEVERITY[finding.severity] for finding in entry.findings), default=len(SEVERITY))
    return worst, -entry.size_bytes, entry.path


def _show(entries: Sequence[Entry], everything: bool, sums: Sequence[Total], found: _Found) -> None:
    words = WORDS[language()]
    _show_rows(entries, everything)
    if sums:
        print()
        heads = [words[name] for name in ("place", "kind", "count", "bytes", "size", "disk")]
        rows = [
            (
                words[one.place],
                KINDS.get(one.kind, one.kind),
                one.count,
                one.bytes,
                human_bytes(one.bytes),
                human_bytes(one.disk_bytes),
            )
            for one in sums
        ]
        output.show_table(heads, rows, right=(2, 3, 4, 5))
    _show_end(found, bool(entries))


def _show_rows(entries: Sequence[Entry], everything: bool) -> None:
    if entries:
        shown = entries if everything else entries[:MOST]
        show_entries(shown, together=not everything)
        _show_full(shown)
    if len(entries) > MOST and not everything:
        print(WORDS[language()]["more"].format(count=len(entries) - MOST))


def _show_full(entries: Sequence[Entry]) -> None:
    """The file caches that have reached their limit: what is not in them is read from the source in every epoch."""
    for entry in entries:
        limit = entry.more.get("full_at_bytes")
        if limit is not None:
            counts = {"records": entry.records, "total": entry.more.get("source_samples", "?")}
            path = output.short_path(entry.path)
            output.print_folded(WORDS[language()]["full"].format(limit=human_bytes(limit), path=path, **counts))


def _places(found: _Found) -> str:
    return ", ".join(os.path.abspath(place) for place in found.places)


def _show_end(found: _Found, is_any: bool) -> None:
    words = WORDS[language()]
    for note in found.notes:
        print(output.safe_line(f"note: {note.title}"), file=sys.stderr)
    if not is_any:
        output.print_folded(words["nobody" if found.all else "nothing"].format(places=_places(found)))


def _show_facts(entry: Entry) -> None:
    """Everything about one entry, a fact a line; the three that decide come first."""
    row = to_row(entry)
    output.print_folded(sign(entry) + entry.path)
    facts: dict[str, Any] = {name: row.get(name) for name in _FIRST if name in row}
    facts.update((name, row[name]) for name in (*_ROW, *row) if name not in facts and name != "path")
    for name, value in facts.items():
        if value is None and name not in _FIRST:
            continue
        _print_fact(name, value)
    for finding in entry.findings:
        output.print_folded(f"{output.mark(finding.severity)} {finding.title}", "  ")


def _print_fact(name: str, value: Any, indent: str = "  ") -> None:
    if isinstance(value, Mapping) and value:
        print(output.safe_line(f"{indent}{name}:"))
        for inner, content in value.items():
            if content is not None:
                _print_fact(str(inner), content, indent + "  ")
    elif isinstance(value, (list, tuple)) and value:
        print(output.safe_line(f"{indent}{name}:"))
        for content in value:
            output.print_folded(f"- {_one_line(content)}", indent + "  ")
    elif not isinstance(value, (Mapping, list, tuple)):
        output.print_folded(f"{name}: {_value(name, value)}", indent)


def _one_line(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_value(name, content)}" for name, content in value.items() if content is not None)
    return str(value)


def _value(name: str, value: Any) -> str:
    if value is None:
        return WORDS[language()]["unknown"]
    if name.endswith("_bytes") and isinstance(value, int):
        return size_words(value)
    if name in _MOMENTS and isinstance(value, (int, float)):
        return _moment(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def _moment(seconds: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
    except (OverflowError, OSError, ValueError):  # no such moment: the record was damaged
        return "?"
