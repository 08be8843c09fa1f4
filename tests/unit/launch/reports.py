"""Diagnoses as the JSON that people get, checked against the formal schema, and what tests ask of them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import jsonschema

from mswb.launch.diagnose import diagnose, to_report
from tests.unit.launch.samples import FIXTURES


@dataclass(frozen=True, slots=True)
class Expected:
    """What the root finding of a failed run must say.

    ``ranks``: any of these. ``line``: a regular expression that the named line of the named file matches; ``evidence``:
    one that the evidence matches. ``values``: these must be among the finding's.
    """

    code: str
    file: str
    ranks: tuple[int | None, ...]
    line: str | None = None
    evidence: str | None = None
    values: dict[str, Any] = field(default_factory=dict)
    verdict: str = "failed"


def report_of(path: Path, *, complete: bool = True, **options: Any) -> dict[str, Any]:
    """The report, as a program reads it; a report against the schema fails the test.

    Unless ``complete`` is False, a title with a value that nothing filled in fails it, too.
    """
    report: dict[str, Any] = json.loads(json.dumps(to_report(diagnose(path, lang="en", **options)), allow_nan=False))
    jsonschema.validate(report, _schema())
    for finding in report["findings"]:
        _check_place(finding["where"])
        assert not complete or "?" not in finding["title"] or "?" in finding["evidence"], (
            f"a value is missing in {finding['title']!r}"
        )
    return report


def check_root(report: dict[str, Any], expected: Expected) -> None:
    """The root is the expected one, and everything else that is wrong is a consequence of it."""
    assert report["verdict"] == expected.verdict
    assert report["root"] is not None, report["findings"]
    root = report["findings"][report["root"]]
    where = root["where"]
    assert (root["code"], where["rank"] in expected.ranks) == (expected.code, True), (root["code"], where)
    assert where["file"].endswith(expected.file), where
    assert root["consequence_of"] is None
    if expected.line is not None:
        assert re.search(expected.line, line_of(where)), (where["line"], line_of(where))
    if expected.evidence is not None:
        assert re.search(expected.evidence, root["evidence"], re.DOTALL), root["evidence"]
    assert {key: root["values"].get(key) for key in expected.values} == expected.values
    assert root["title"] and root["cause"] and root["advice"]
    loose = [one["code"] for one in report["findings"] if one["severity"] == "error" and one["consequence_of"] is None]
    assert loose in ([expected.code], []), loose


def check_good(report: dict[str, Any], verdict: str = "succeeded") -> None:
    """Nothing is wrong."""
    assert report["verdict"] == verdict
    assert [one["code"] for one in report["findings"] if one["severity"] != "note"] == []
    assert report["root"] is None


def line_of(where: dict[str, Any]) -> str:
    """The line that a finding names."""
    lines = Path(where["file"]).read_bytes().split(b"\n")
    return lines[where["line"] - 1].decode("utf-8", "replace")


def _check_place(where: dict[str, Any]) -> None:
    if where["line"] is None:
        return
    data = Path(where["file"]).read_bytes()
    count = data.count(b"\n") + (not data.endswith(b"\n"))
    assert 1 <= where["line"] <= max(count, 1), where
    if where["offset"] is not None:
        assert 0 <= where["offset"] <= len(data), where


@lru_cache(maxsize=1)
def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((FIXTURES / "report.schema.json").read_text(encoding="utf-8"))
    return schema
