"""``mswb cache verify``, ``repair`` and ``baseline``: what reads whole files, and what mends them."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from mswb.cache.check import CHECKERS, Options
from mswb.cache.entries import Entry, to_row
from mswb.cache.sniff import KINDS
from mswb.cli import output
from mswb.cli.cache_rows import SEVERITY, counted, sign
from mswb.cli.plans import carry_out, report_plan, show_plan
from mswb.cli.sizes import human_bytes
from mswb.findings import Finding, language
from mswb.flows.cache_baselines import keep_set, make_all, missing
from mswb.flows.cache_checks import Step
from mswb.flows.cache_checks import verify as verify_all
from mswb.flows.caches import collect, collect_each

if TYPE_CHECKING:
    from mswb.cache.baseline import Baseline
    from mswb.flows.cache_repairs import Repairs

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "status": "status",
        "kind": "kind",
        "records": "records",
        "size": "size",
        "path": "path",
        "unknown": "{count} without anything to verify (mswb cache list shows them)",
        "nothing": "no cache and no data file here",
        "fine": "nothing to repair: no damage was found",
        "taken": "nothing was repaired: {path} is there already",
        "hopeless": "nothing was repaired: {count} damaged, of which nothing can be saved here",
        "written": "baseline of {path}: {records} records",
        "replaced": "replaced: the old baseline told otherwise: {reason}",
        "forgotten": "{path}: no longer in the baseline of its folder",
        "kept": "kept as it was: --replace makes the baseline anew where a change was meant",
    },
    "zh": {
        "status": "状态",
        "kind": "类型",
        "records": "记录",
        "size": "大小",
        "path": "路径",
        "unknown": "另有 {count} 项无可校验内容（mswb cache list 可列出）",
        "nothing": "此处没有缓存或数据文件",
        "fine": "无需修复：未发现损坏",
        "taken": "未修复：{path} 已存在",
        "hopeless": "未修复：{count} 项已损坏，此处无法挽救其中任何内容",
        "written": "{path} 的基线：{records} 条记录",
        "replaced": "已替换，与旧基线不同：{reason}",
        "forgotten": "{path}：不再列于目录的基线中",
        "kept": "基线保持不变；若是有意修改，用 --replace 重新生成",
    },
}

_jobs = click.option("--jobs", type=click.IntRange(1, 256), help="Processes that check; one for each core by default.")
_records = click.option(
    "--records",
    type=click.IntRange(0),
    help="How many records there should be (of one file): finds a cut at a boundary.",
)
_fast = click.option("--fast", is_flag=True, help="Checksums and lengths only; do not decode the records.")


@click.command()
@click.argument("paths", nargs=-1)
@_records
@_fast
@click.option("--no-baseline", is_flag=True, help="Do not compare with a baseline (see 'mswb cache baseline').")
@_jobs
@click.option("--strict", is_flag=True, help="Exit with 1 on warnings too.")
@output.format_option
def verify(
    paths: tuple[str, ...],
    records: int | None,
    fast: bool,
    no_baseline: bool,
    jobs: int | None,
    strict: bool,
    form: str,
) -> int:
    """Read every record of the files and caches at PATHS (this folder by default).

    TFRecord: both checksums of each record. MindRecord: header, pages, every row, the index. File caches: every
    checksum. Compile caches: whether the code is still the same. Exit code 1 when something is wrong.
    """
    options = Options(records=records, deep=not fast, baseline=not no_baseline)
    entries, notes, gone = collect_each(paths or (".",))
    if records is not None and len(entries) != 1:
        raise click.UsageError(f"--records is a count of one file, and {len(entries)} were found")
    with progress(form) as told:
        checked = [entry for _, entry, _ in sorted(verify_all(entries, options, jobs, told=told), key=_index)]
    ordered = sorted(checked, key=_worst_first)
    findings = [finding for entry in ordered for finding in entry.findings]
    if not no_baseline:
        findings += missing(paths or (".",), ordered)
    findings += gone
    if form == "json":
        output.emit("cache", [*findings, *notes], entries=[to_row(entry) for entry in ordered])
    else:
        _show(ordered, findings, notes)
    return 2 if gone else _exit_code(findings, strict)


@click.command()
@click.argument("paths", nargs=-1, required=True)
@click.option("--output", "out", help="Where to write the repaired file, instead of beside the damaged one.")
@click.option("--dry-run", is_flag=True, help="Show the plan, change nothing.")
@click.option("--force", is_flag=True, help="Do not ask.")
@_records
@_jobs
@output.format_option
def repair(
    paths: tuple[str, ...],
    out: str | None,
    dry_run: bool,
    force: bool,
    records: int | None,
    jobs: int | None,
    form: str,
) -> int:
    """Save what is whole of the files at PATHS: verify, show the plan, ask, write.

    Damaged files are never written into: what is whole goes into a new file, a lost index is made again, and what is
    replaced goes to the trash ('mswb cache undo' brings it back).
    """
    from mswb.flows.cache_repairs import plan_repairs

    entries, notes = collect(paths)
    if out is not None and len(entries) != 1:
        raise click.UsageError(f"--output is for one file, and {len(entries)} were found")
    with progress(form) as told:
        found = sorted(verify_all(entries, Options(records=records), jobs, told=told), key=_index)
    repairs = plan_repairs([(entry, checked) for _, entry, checked in found], out)
    if form == "text":
        for note in notes:
            print(output.safe_line(f"note: {note.title}"))
        show_plan(repairs.plan, _nothing_done(repairs))
    return _apply(repairs, dry_run, force, form)


@click.command()
@click.argument("paths", nargs=-1, required=True)
@click.option("--replace", is_flag=True, help="Also where a file is not what its baseline says, or has gone.")
@_jobs
@output.format_option
def baseline(paths: tuple[str, ...], replace: bool, jobs: int | None, form: str) -> int:
    """Verify the data files at PATHS and record the checksums of the good ones in NAME.mswb.json beside each.

    A later 'mswb cache verify' then finds what the format itself can't show: a changed byte in a MindRecord, records
    that were lost at a boundary, and, for a folder, a file that has gone. Damaged files get no baseline, and a file
    that is not what its baseline says keeps the old one, unless --replace is given.
    """
    entries, notes = collect(paths)
    with progress(form) as told:
        made = list(make_all(entries, jobs, told=told, replace=replace))
    good = [(one.baseline, one.replaced) for one in made if one.baseline is not None]
    folders = [path for path in paths if os.path.isdir(path)]
    gone = [
        os.path.join(folder, name) for folder in folders for name in keep_set(folder, [one for one, _ in good], replace)
    ]
    findings = [finding for one in made if one.baseline is None for finding in one.entry.findings]
    findings += missing(folders, [])
    if form == "json":
        rows = [_baseline_row(one, replaced) for one, replaced in good]
        output.emit("cache_baseline", [*findings, *notes], baselines=rows, forgotten=gone)
    else:
        _show_baselines(good, gone, findings)
    return int(any(one.baseline is None for one in made)) | _exit_code(findings, False)


def _baseline_row(made: Baseline, replaced: str) -> dict[str, object]:
    row = {"path": made.path, "records": made.count, "size_bytes": made.size, "sha256": made.sha256}
    return {**row, "replaced": replaced or None}


def _show_baselines(good: Sequence[tuple[Baseline, str]], gone: Sequence[str], findings: Sequence[Finding]) -> None:
    words = WORDS[language()]
    for one, replaced in good:
        count = "?" if one.count is None else one.count
        print(output.safe_line(words["written"].format(path=output.short_path(one.path), records=count)))
        if replaced:
            output.print_folded(words["replaced"].format(reason=replaced), "    ")
    for path in gone:
        print(output.safe_line(words["forgotten"].format(path=output.short_path(path))))
    if not good and not findings:
        print(words["nothing"])
    output.show_findings(findings, lang=language())
    if _CHANGED & {finding.code for finding in findings}:
        output.print_folded(words["kept"])


_CHANGED = frozenset({"payload-changed", "count-mismatch", "file-missing", "baseline-unreadable"})
"""What a baseline alone tells."""


def _nothing_done(repairs: Repairs) -> str:
    """Why a repair without any action has none."""
    words, hopeless = WORDS[language()], len(repairs.hopeless) - len(repairs.taken)
    taken = [words["taken"].format(path=output.short_path(path)) for path in repairs.taken]
    lost = [words["hopeless"].format(count=hopeless)] if hopeless else []
    return "; ".join([*taken, *lost]) or words["fine"]


def _apply(repairs: Repairs, dry_run: bool, force: bool, form: str) -> int:
    if not repairs.plan.actions or dry_run:
        return max(report_plan(repairs.plan, None, form), int(bool(repairs.hopeless)))
    return max(carry_out(repairs.plan, force, form, repairs.apply), int(bool(repairs.hopeless)))


@dataclass(frozen=True, slots=True)
class _Bar:
    """One line on stderr that says how far the verification is."""

    width: int

    def __call__(self, step: Step) -> None:
        share = f" {min(100, round(100 * step.done / step.total))} %" if step.total else ""
        text = f"{step.entries_done}/{step.entries}  {output.short_path(step.path)}{share}"
        line = output.safe_line(text)[: self.width - 1]
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()


class _Shown(AbstractContextManager[Callable[[Step], None]]):
    """Progress on a terminal, wiped at the end."""

    def __enter__(self) -> Callable[[Step], None]:
        return _Bar(output.width())

    def __exit__(self, *_: object) -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def progress(form: str) -> AbstractContextManager[Callable[[Step], None]]:
    """Shows how far a verification is, on a terminal; gives what is to be told of each step."""
    if form == "text" and sys.stderr.isatty():
        return _Shown()
    return nullcontext(lambda step: None)


def _index(row: tuple[int, Entry, object]) -> int:
    return row[0]


def _worst_first(entry: Entry) -> tuple[int, str]:
    return min((SEVERITY[finding.severity] for finding in entry.findings), default=3), entry.path


def _show(entries: Sequence[Entry], findings: Sequence[Finding], notes: Sequence[Finding]) -> None:
    words = WORDS[language()]
    known = [entry for entry in entries if entry.form in CHECKERS or entry.findings]
    if known:
        columns = _COLUMNS if output.width() >= _WIDE else tuple(name for name in _COLUMNS if name != "kind")
        rows = [[_CELLS[name](entry) for name in columns] for entry in known]
        right = [at for at, name in enumerate(columns) if name in ("records", "size")]
        output.show_table([words[name] for name in columns], rows, right=right, whole=True)
    counts = Counter(entry.status for entry in known)
    if findings:
        print()
        output.show_findings(findings, lang=language())
    for note in notes:
        print(output.safe_line(f"note: {note.title}"))
    print()
    print(", ".join(f"{count} {status}" for status, count in counts.items()) or words["nothing"])
    if len(known) < len(entries):
        print(words["unknown"].format(count=len(entries) - len(known)))


def _status(entry: Entry) -> str:
    return f"{sign(entry) or '  '}{entry.status}"


def _exit_code(findings: Iterable[Finding], strict: bool) -> int:
    bad = {"error", "warning"} if strict else {"error"}
    return int(any(finding.severity in bad for finding in findings))


_COLUMNS = ("status", "records", "size", "kind", "path")
_WIDE = 100
"""Columns from which on the kind is shown too."""
_CELLS: Mapping[str, Callable[[Entry], str]] = {
    "status": _status,
    "records": counted,
    "size": lambda entry: human_bytes(entry.size_bytes),
    "kind": lambda entry: KINDS.get(entry.form, entry.form),
    "path": lambda entry: output.short_path(entry.path),
}
