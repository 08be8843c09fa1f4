"""A report on a conversion and its verification as a file: JSON for programs, Markdown, or one HTML page.

All are made of the object that ``--format json`` writes, so that what a screen shows and a file says is the same.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from mswb.convert.verify.report_html import as_html
from mswb.convert.verify.report_text import (
    COLUMNS,
    MEASURES,
    Operator,
    Report,
    cells,
    facts,
    histogram,
    statistics,
    verdict_word,
    word,
)
from mswb.files.plain import to_plain
from mswb.files.safety import UNSAFE, printable, refuse_special, write_atomic
from mswb.findings import stop

DETAILED = 20
"""Operators that are not fine, at most, whose numbers follow the table."""


def check(path: str) -> None:
    """See that a report can be written under this name.

    Raises:
        MswbError: ``report-form``: its suffix names no form; ``path-unwritable``: no file can be there.
    """
    if _suffix(path) not in FORMS:
        raise stop("report-form", values={"path": printable(path), "known": ", ".join(FORMS)})
    refuse_special(path)
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise stop("path-unwritable", values={"path": path, "reason": f"there is no folder {folder}"})


def write(report: Report, path: str, lang: str = "en") -> None:
    """Write a report in the form that the suffix of ``path`` names.

    Raises:
        MswbError: ``report-form``, ``path-unwritable``.
    """
    check(path)
    write_atomic(path, FORMS[_suffix(path)](to_plain(report), lang), mode=0o644)


def as_json(report: Report, lang: str = "en") -> str:
    """The object itself."""
    text = json.dumps(report, ensure_ascii=False, allow_nan=False, indent=1)
    return UNSAFE.sub(lambda match: match.group() if match.group() == "\n" else f"\\u{ord(match.group()):04x}", text)


def as_markdown(report: Report, lang: str = "en") -> str:
    """Facts, findings, the table of operators, and the numbers of those that are not fine."""
    return "\n".join(_markdown(report, lang)) + "\n"


FORMS: Mapping[str, Callable[[Report, str], str]] = {
    ".json": as_json,
    ".md": as_markdown,
    ".html": as_html,
}
"""What makes the text, by suffix."""


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def _markdown(report: Report, lang: str) -> Iterator[str]:
    yield f"# {word('title', lang)}"
    yield ""
    yield from (f"- {_safe(name)}: {_safe(text)}" for name, text in facts(report, lang))
    if report["findings"]:
        yield from ("", f"## {word('findings', lang)}", "")
        for one in report["findings"]:
            yield f"- **{one['severity']}** {_safe(one['title'])}"
            yield from (f"  - {_safe(text)}" for text in one["advice"])
    if report["operators"]:
        yield from ("", f"## {word('operators', lang)}", "")
        rows = [cells(one, lang) for one in report["operators"]]
        right = {"order", *MEASURES}
        yield from _table([word(name, lang) for name in COLUMNS], [[row[name] for name in COLUMNS] for row in rows],
                          [name in right for name in COLUMNS])  # fmt: skip
    outputs = report.get("graph_outputs") or ()
    if outputs:
        yield from ("", f"## {word('outputs', lang)}", "")
        yield from _table(
            [word("name", lang), word("chain", lang), word("verdict", lang)],
            [
                [str(one["name"]), f"{one['max_abs_error'] or 0:.1e}", verdict_word(one["verdict"], lang)]
                for one in outputs
            ],
            [False, True, False],
        )
    bad = [one for one in report["operators"] if one["verdict"] == "failed"]
    for one in bad[:DETAILED]:
        yield from _details(one, lang)
    yield from ("", f"{word('made by', lang)} {report.get('tool_version', '')}")


def _details(one: Operator, lang: str) -> Iterator[str]:
    yield from ("", f"## {_safe(one['op'])} {_safe(one['node'])}", "")
    if one.get("reason"):
        yield from (f"{word('reason', lang)}: {_safe(str(one['reason']))}", "")
    numbers = [list(row) for row in statistics(one, lang)]
    if numbers:
        yield from _table(["", word("ours", lang), word("theirs", lang)], numbers, [False, True, True])
    counted = [[start, f"{count:,}"] for start, count, _ in histogram(one, lang, local=True)]
    if counted:
        yield from ("", *_table([word("errors", lang), ""], counted, [False, True]))


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> Iterator[str]:
    yield f"| {' | '.join(_safe(head) for head in heads)} |"
    yield f"| {' | '.join('--:' if at_right else '---' for at_right in right)} |"
    yield from (f"| {' | '.join(_safe(cell) for cell in row)} |" for row in rows)


def _safe(text: str) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([\\`*_{}\[\]<>|#&~$!])", r"\\\1", printable(text))
