"""The only writer of stdout: JSON reports for programs, plain or coloured text for people.

JSON is one object (or one a line for streams) without NaN: a number that is not finite becomes null, and the object
that held it gets ``non_finite`` with the count. Text keeps to the width, but for a path, and passes through the escape
of :mod:`mswb.files.safety`, so no log line can drive the terminal.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from mswb import __version__
from mswb.files.plain import to_plain
from mswb.files.safety import UNSAFE, printable
from mswb.findings import Finding, Where

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

MARKS = {"error": ("✖", "X", "bold red"), "warning": ("▲", "!", "yellow"), "note": ("•", "-", "cyan")}
LABELS = {
    "en": {"where": "where", "why": "why", "do": "do", "evidence": "evidence", "then": "then"},
    "zh": {"where": "位置", "why": "原因", "do": "处理", "evidence": "证据", "then": "随后"},
}

TITLE = 60
"""Characters of a command that a list shows."""
EVIDENCE_ROWS = 14
"""Lines of evidence shown at most, and the one that states the error."""

format_option = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Text for people, or a JSON report for programs.",
)


def prepare_streams() -> None:
    """Make prints survive a locale that cannot show every character, and a stdout or stderr that is closed."""
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (open to the end, as stdout is)
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def forget_stdout() -> None:
    """Send what is still to be written to stdout nowhere, since nobody can read it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether a command line, even a broken one, asks for JSON."""
    pairs = zip(arguments, [*arguments[1:], ""], strict=False)
    return any(one == "--format=json" or (one == "--format" and two == "json") for one, two in pairs)


def emit(schema: str, findings: Iterable[Finding], **keys: Any) -> None:
    """Write one report: its kind (``diagnose`` becomes ``mswb.diagnose/1``), version, findings, the kind's own keys."""
    emit_object(report(schema, findings, **keys))


def report(schema: str, findings: Iterable[Finding], **keys: Any) -> dict[str, Any]:
    """The report that :func:`emit` writes."""
    head = {"schema": f"mswb.{schema}/1", "tool_version": __version__}
    return {**head, "findings": [asdict(finding) for finding in findings], **keys}


def emit_error(schema: str, finding: Finding) -> None:
    """The report of a command that could not do its work; the keys its kind demands are there, and empty."""
    emit(schema, [finding], **EMPTY.get(schema, {}))


_NO_EVENTS = {"read": 0, "kept": 0, "dropped": 0}
EMPTY: dict[str, dict[str, Any]] = {
    "diagnose": {"verdict": "unknown", "root": 0, "ranks": []},
    "cache": {"entries": []},
    "profile": {"window_us": 0, "devices": [], "operators": [], "steps": [], "events": _NO_EVENTS},
    "plan": {"actions": [], "warnings": [], "bytes": 0, "applied": False},
    "convert": {"verdict": "refused", "engines": {}, "operators": []},
}


def emit_object(report: Mapping[str, Any]) -> None:
    """Write one JSON object on a line of its own."""
    plain = to_plain(report)
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False)
    # JSON escapes C0 itself. A terminal acts on these too, and the escaped form means the same to a program.
    sys.stdout.write(UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text) + "\n")
    sys.stdout.flush()


def safe_line(text: str) -> str:
    """One line that is safe to print."""
    return printable(" ".join(text.split("\n")))


def short_title(title: str) -> str:
    """A command as one short line of a list: of a program that it holds as text only the beginning."""
    line = " ".join(title.split())
    return line if len(line) <= TITLE else f"{line[: TITLE - 1]}…"


def width() -> int:
    """Columns to use: the terminal's, COLUMNS, else 80."""
    return max(40, shutil.get_terminal_size((80, 24)).columns)


def short_path(path: str | PurePath, base: str | None = None) -> str:
    """A path relative to ``base`` (the working folder) when it is in it, else as it is."""
    text, base = os.fspath(path), base or os.getcwd()
    return os.path.relpath(text, base) if text.startswith(base.rstrip("/") + "/") else text


def console() -> Console:
    """A rich console on stdout: colours only on a terminal without NO_COLOR, markup never parsed from data."""
    from rich.console import Console

    return Console(width=width(), highlight=False, markup=False, emoji=False, soft_wrap=False)


def show_table(
    headers: Sequence[str], rows: Iterable[Sequence[Any]], *, right: Sequence[int] = (), whole: bool = False
) -> None:
    """Print rows under headers, folding the widest columns into the width; columns in ``right`` are numbers.

    Our own few lines instead of rich's table, whose import alone takes longer than ``mswb jobs list`` may.

    Args:
        whole: the last column holds paths, which are never cut: one that does not fit stands on a line of its own.
    """
    cells = [["" if cell is None else printable(str(cell)) for cell in row] for row in rows]
    widths = _widths(headers, cells)
    room = width() - 2 * (len(widths) - 1)
    if whole:
        widths[-1] = max(cell_width(headers[-1]), min(widths[-1], room - sum(widths[:-1])))
    widths = _fitted(widths, room)
    if any(headers):
        _print_row(headers, widths, right)
    for row in cells:
        if whole and cell_width(row[-1]) > widths[-1]:
            _print_row(row[:-1], widths[:-1], right)
            print(f"    {row[-1]}")
        else:
            _print_row(row, widths, right)


def whole_lines(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """How many rows :func:`show_table` shows on one line, when their last cells are not cut."""
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = _widths(headers, cells)
    room = width() - 2 * (len(widths) - 1) - sum(widths[:-1])
    return sum(cell_width(row[-1]) <= room for row in cells)


def _widths(headers: Sequence[str], cells: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(cell_width, column)) for column in zip(headers, *cells, strict=True)]


def cell_width(text: str) -> int:
    """Columns that ``text`` takes in a terminal: 2 for each Chinese character."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _fitted(widths: list[int], room: int) -> list[int]:
    """The widths cut down, the widest first, until they fit; none below 8 columns."""
    widths = list(widths)
    while sum(widths) > room and max(widths) > 8:
        widths[widths.index(max(widths))] -= 1
    return widths


def _print_row(cells: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> None:
    columns = [folded(cell, room) for cell, room in zip(cells, widths, strict=True)]
    for line in range(max(map(len, columns))):
        parts = [column[line] if line < len(column) else "" for column in columns]
        padded = (
            " " * (room - cell_width(part)) + part if index in right else part + " " * (room - cell_width(part))
            for index, (part, room) in enumerate(zip(parts, widths, strict=True))
        )
        print("  ".join(padded).rstrip())


def print_folded(text: str, indent: str = "") -> None:
    """Print one line's text in as many lines as the width asks for, those after the first indented by four more.

    A path is never cut, so that it can be copied: one that is wider than the terminal has a line of its own.
    """
    rest, lead = safe_line(text), indent
    while rest:
        piece = first_line(rest, max(8, width() - len(lead)))
        print(lead + piece)
        rest, lead = rest[len(piece) :].lstrip(), indent + "    "


_WORD = re.compile(r"\S*?[：；，。（）、]|\S+")
"""A word and what ends it, where Chinese signs do as spaces do."""


def first_line(text: str, room: int) -> str:
    """The beginning of ``text`` that goes on a line of ``room`` columns; more where it is one path."""
    piece = folded(text, room)[0]
    for word in _WORD.finditer(text):
        if word.start() >= len(piece):
            break
        if word.end() > len(piece) and "/" in word.group():
            before = text[: word.start()].rstrip()
            return before or text[: word.end()]
    return piece


def folded(text: str, room: int) -> list[str]:
    """``text`` in pieces of at most ``room`` columns, cut at a space where one is near."""
    pieces: list[str] = []
    while cell_width(text) > room:
        end = room
        while cell_width(text[:end]) > room:
            end -= 1
        space = text.rfind(" ", end // 2, end + 1)
        end = max(space if space > 0 else end, 1)
        pieces.append(text[:end].rstrip())
        text = text[end:].lstrip()
    return [*pieces, text]


def show_findings(
    findings: Sequence[Finding], root: int | None = None, *, lang: str = "en", base: str | None = None
) -> None:
    """Print findings, the root first with everything, then what followed from it, with places relative to ``base``."""
    out = console()
    order = sorted(range(len(findings)), key=lambda index: (index != root, _rank_of(findings[index].severity)))
    for index in order:
        finding = findings[index]
        if finding.consequence_of is not None:
            continue
        _show_one(out, finding, lang)
        followers = [item for item in findings if item.consequence_of == index]
        _show_followers(out, followers, lang, base)


def mark(severity: str) -> str:
    """The sign of a severity; plain letters where the locale has no others."""
    fancy, simple, _ = MARKS[severity]
    encoding = (sys.stdout.encoding or "ascii").lower()
    return fancy if encoding.startswith("utf") else simple


def _show_one(out: Console, finding: Finding, lang: str) -> None:
    from rich.text import Text

    labels = LABELS[lang]
    style = MARKS[finding.severity][2]
    head = Text(f"{mark(finding.severity)} {finding.code}  ", style=style)
    head.append(printable(finding.title), style="bold")
    out.print(head)
    where = _place(finding.where, os.getcwd())
    _field(out, labels["where"], where + (f"  ({finding.where.time})" if finding.where.time else ""))
    script = finding.values.get("script_file")
    if script:
        line = finding.values.get("script_line")
        _field(out, "script", f"{script}:{line}" if line else str(script))
    _field(out, labels["why"], finding.cause)
    for number, advice in enumerate(finding.advice):
        _field(out, labels["do"] if number == 0 else "", f"{number + 1}. {advice}")
    _show_evidence(out, finding, labels["evidence"])


def _show_evidence(out: Console, finding: Finding, label: str) -> None:
    """The evidence: records and the line that states the error in full, the other lines cut at the width."""
    rows = finding.evidence.rstrip("\n").split("\n") if finding.evidence else []
    statement = str(finding.values.get("message") or "")
    before = -1
    for number in _rows_shown(rows, statement):
        if number > before + 1:
            _field(out, "", f"… {number - before - 1} lines …")
        short = shortened(rows[number])
        whole = short != rows[number] or _states(rows[number], statement)
        _field(out, label if number == 0 else "", "| " + short, fold=whole)
        before = number


def _rows_shown(rows: Sequence[str], statement: str) -> list[int]:
    """Which rows of an evidence are shown: of many, its ends and the one that states the error."""
    if len(rows) <= EVIDENCE_ROWS:
        return list(range(len(rows)))
    ends = {*range(5), *range(len(rows) - 7, len(rows))}
    stated = next((number for number, row in enumerate(rows) if _states(row, statement)), 0)
    return sorted(ends | {stated})


def _states(row: str, statement: str) -> bool:
    return bool(statement) and statement[:60] in row


def shortened(text: str) -> str:
    """A record as a person reads it, without process ids, date and source folder; any other line as it is."""
    from mswb.launch.records import iso, parse_record

    record = parse_record(text)
    if record is None:
        return text
    place = record.func or f"{record.source_file.rpartition('/')[2]}:{record.source_line}"
    return f"{iso(record.time)[11:19]} {record.level} {record.module} {place}: {record.text}"


def _place(where: Where, base: str | None) -> str:
    """A place as text; a file under ``base`` relative to it, so that it fits a line and can be copied."""
    file = where.file
    return str(replace(where, file=short_path(file, base) if file else file))


def _show_followers(out: Console, followers: Sequence[Finding], lang: str, base: str | None) -> None:
    shown = followers[:8]
    for number, finding in enumerate(shown):
        place = _place(finding.where, base)
        title = finding.title if len(finding.title) <= 160 else finding.title[:159] + "…"
        text = f"{title}  ({place})" if place else title
        _field(out, LABELS[lang]["then"] if number == 0 else "", text)
    if len(followers) > len(shown):
        _field(out, "", f"… and {len(followers) - len(shown)} more consequences")


def _field(out: Console, label: str, text: str, *, fold: bool = True) -> None:
    """``label`` in a narrow column and ``text`` beside it, wrapped at words (``fold``) or cut at the width."""
    from rich.padding import Padding
    from rich.text import Text

    if not text:
        return
    safe = printable(text)
    lead = Text.assemble((f"  {label}".ljust(12 - sum(ord(c) > 255 for c in label)), "dim"))
    room = out.width - 12
    body = Text(safe, overflow="fold" if fold else "ellipsis", no_wrap=not fold)
    if fold and any("/" in word.group() and cell_width(word.group()) > room for word in _WORD.finditer(safe)):
        _print_whole(lead, safe, room)
        return
    lines = body.wrap(out, room) if fold else [body]
    for number, line in enumerate(lines):
        if not fold:
            line.truncate(room, overflow="ellipsis")
        line.rstrip()
        if number == 0:
            out.print(Text.assemble(lead, line))
        else:
            out.print(Padding(line, (0, 0, 0, 12), expand=False))


def _print_whole(lead: Text, text: str, room: int) -> None:
    """A field with a path that is wider than ``room``, which is not cut."""
    start, out = lead, console()
    while text:
        piece = first_line(text, room)
        out.print(start, end="")
        print(piece, flush=True)
        start = type(lead)(" " * 12)
        text = text[len(piece) :].lstrip()


def _rank_of(severity: str) -> int:
    return {"error": 0, "warning": 1, "note": 2}[severity]
