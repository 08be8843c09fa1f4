"""The tables of a conversion: its operators in numbers, or what stands in its way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mswb.convert.verify.report_text import error_text, shape_text, worst_scaled
from mswb.files.safety import printable
from mswb.findings import Finding
from mswb.ui.glyphs import glyph
from mswb.ui.panes.convert.words import word
from mswb.ui.widgets.table.data import Column

WIDE = 120
"""Columns from which output, shape and type stand in the table; the details have them always."""
_RANKS = ("first", "failed", "inherited", "passed", "not-compared", "converted")
"""Verdicts from bad to good; the first one is of the operator to look at."""
_SIGNS: Mapping[str, tuple[str, str]] = {
    "first": ("error", "error"),
    "failed": ("error", "error"),
    "inherited": ("warning", "warning"),
    "passed": ("ok", "success"),
    "not-compared": ("note", "text-muted"),
    "converted": ("ok", "text-muted"),
}


def columns() -> tuple[Column, ...]:
    """Of the operators; 80 columns hold all up to the verdict."""
    return (
        Column("order", "#", "number", width=4, total=False),
        Column("op", word("operator"), width=11),
        Column("node", word("node"), cut="start"),
        Column("local", word("alone"), "number", width=7, show=error_text, total=False),
        Column("chain", word("chain"), "number", width=7, show=error_text, total=False),
        Column("scaled", word("scaled"), "number", width=7, show=error_text, total=False),
        Column("cosine", word("cosine"), "number", width=8, show=_cosine, total=False),
        Column("verdict", word("verdict"), "number", width=11, align="left", show=_verdict, style=_style, total=False),
        Column("output", word("result"), hide_below=WIDE, cut="start"),
        Column("shape", word("shape"), hide_below=WIDE),
        Column("dtype", word("dtype"), width=8, hide_below=WIDE),
    )


def rows(operators: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The operators in their order; the first bad one is marked."""
    first = next((one for one in operators if one["verdict"] in ("failed", "inherited")), None)
    return {
        "order": [None if one.get("order") is None else one["order"] + 1 for one in operators],
        "op": [printable(one["op"]) for one in operators],
        "node": [printable(one["node"]) for one in operators],
        "local": [_error(one["local_max_abs_error"], one.get("local_errors_by_decade")) for one in operators],
        "chain": [_error(one["max_abs_error"], one.get("errors_by_decade")) for one in operators],
        "scaled": [worst_scaled(one) for one in operators],
        "cosine": [one["cosine"] for one in operators],
        "verdict": [_RANKS.index("first") if one is first else _rank(one["verdict"]) for one in operators],
        "output": [printable(one["output"]) for one in operators],
        "shape": [shape_text(one["output_shape"]) for one in operators],
        "dtype": [printable(one["dtype"] or "") for one in operators],
    }


def is_bad(rank: Any) -> bool:
    """Whether a value of the column of verdicts is one to look at."""
    return isinstance(rank, int) and rank <= _RANKS.index("inherited")


def _error(value: Any, counted: Any) -> float | None:
    """JSON has no infinity: an error that was measured and is no number is one."""
    return float("inf") if value is None and counted else value


def _rank(verdict: str) -> int:
    return _RANKS.index(verdict) if verdict in _RANKS else len(_RANKS) - 1


def _verdict(rank: int) -> str:
    name = _RANKS[rank]
    text = f"{glyph(_SIGNS[name][0])} {word(f'verdict-{name}')}"
    return f"{text} {glyph('mark')}" if name == "first" else text


def _style(rank: int) -> str:
    return _SIGNS[_RANKS[rank]][1]


def _cosine(value: float) -> str:
    return f"{value:.6f}"


def blocked_columns() -> tuple[Column, ...]:
    """Of what stands in the way."""
    return (
        Column("op", word("operator"), width=20, optional=True),
        Column("count", word("count"), "number", width=5, total=False),
        Column("node", word("node"), width=18, cut="start", optional=True),
        Column("reason", word("reason")),
        Column("nearest", word("nearest"), hide_below=WIDE, optional=True),
    )


def _why(finding: Finding) -> str:
    """Why, in few words: the operator stands beside them."""
    if finding.code == "unsupported-op":
        return f"{word('unsupported')}{finding.values.get('near') or ''}"
    return str(finding.values.get("reason") or finding.title)


def blocked_rows(findings: Sequence[Finding]) -> dict[str, list[Any]]:
    """One row a finding: all nodes of one operator that are refused for one reason."""
    return {
        "op": [printable(str(one.values.get("op", ""))) for one in findings],
        "count": [one.values.get("count", 1) for one in findings],
        "node": [printable(one.where.node or "") for one in findings],
        "reason": [printable(_why(one)) for one in findings],
        "nearest": [printable(one.advice[0] if one.advice else "") for one in findings],
    }
