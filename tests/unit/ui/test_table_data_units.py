"""How values read in a table, and how text is fitted into cells."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from mswb.ui.glyphs import set_ascii
from mswb.ui.widgets.table.data import Column
from mswb.ui.widgets.table.text import fit, safe
from mswb.ui.widgets.table.units import Kind, draw, quantity, time_text

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("text", None, "-"),
        ("text", 3, "3"),
        ("number", 0, "0"),
        ("number", 1024, "1024"),
        ("number", -1234567, "-1,234,567"),
        ("number", 0.123456, "0.1235"),
        ("number", 2.5, "2.5"),
        ("number", 1.5e-7, "1.500e-07"),
        ("number", NAN, "nan"),
        ("number", INF, "inf"),
        ("number", True, "True"),
        ("number", "odd", "odd"),
        ("bytes", 0, "0 B"),
        ("bytes", 1023, "1023 B"),
        ("bytes", 1024, "1.0 KiB"),
        ("bytes", 1024**2 - 1, "1.0 MiB"),
        ("bytes", 80 * 2**30, "80.0 GiB"),
        ("bytes", NAN, "-"),
        ("seconds", 0, "0 s"),
        ("seconds", 1.5e-9, "1.50 ns"),
        ("seconds", 0.0123, "12.3 ms"),
        ("seconds", 0.99999, "1.00 s"),
        ("seconds", 59.96, "1m00s"),
        ("seconds", 245.2, "4m05s"),
        ("seconds", 7380, "2h03m"),
        ("seconds", 200_000, "2d07h"),
        ("seconds", -2, "-2.00 s"),
        ("age", 0.4, "0s"),
        ("age", 59.9, "59s"),
        ("age", 60, "1m"),
        ("age", 3600, "1h"),
        ("age", 172_800, "2d"),
        ("age", -5, "0s"),
        ("age", INF, "inf"),
        ("time", 1e30, "1e+30"),
    ],
)
def test_values_read(kind: Kind, value: Any, text: str) -> None:
    assert draw(kind, value) == text


def test_times_read_by_how_far_they_are() -> None:
    now = time.mktime((2025, 6, 15, 12, 0, 0, 0, 0, -1))
    assert time_text(now - 60, now) == "11:59:00"
    assert time_text(now - 40 * 86400, now)[5:] == " 12:00"
    assert time_text(now - 400 * 86400, now).startswith("2024-05")


@pytest.mark.parametrize(
    ("kind", "text", "number"),
    [
        ("number", "5", 5),
        ("number", "1,000", 1000),
        ("number", "-2.5e3", -2500),
        ("number", "3k", 3000),
        ("number", "five", None),
        ("number", "5s", None),
        ("bytes", "2GiB", 2**31),
        ("bytes", "1.5 kb", 1536),
        ("bytes", "7 parsecs", None),
        ("seconds", "300ms", 0.3),
        ("age", "5m", 300),
        ("age", "2", 2),
    ],
)
def test_quantities_are_read_back(kind: Kind, text: str, number: float | None) -> None:
    assert quantity(kind, text) == (None if number is None else pytest.approx(number))


def test_moments_are_read_back() -> None:
    assert quantity("time", "2025-06-15 12:00") == time.mktime((2025, 6, 15, 12, 0, 0, 0, 0, -1))
    assert time.localtime(quantity("time", "9:30") or 0)[3:5] == (9, 30)
    assert quantity("time", "soon") is None


def test_a_column_draws_signs_styles_and_its_own_text() -> None:
    state = Column("s", "S", "severity")
    assert state.text("failed") == "✖ failed"
    assert state.text("warning") == "▲ WARN"
    assert state.text("odd") == "odd"
    assert [state.style_of(word) for word in ("failed", "ok", "odd", None)] == ["error", "success", "", "text-muted"]
    share = Column("x", "X", "number", show=lambda value: f"{value:.0%}", style=lambda value: "$warning")
    assert share.text(0.5) == "50%" and share.style_of(0.5) == "warning"
    assert share.text(None) == "-" and share.style_of(None) == "text-muted"


@pytest.mark.parametrize(
    ("text", "width", "right", "cut", "fitted"),
    [
        ("abc", 5, False, "end", "abc  "),
        ("abc", 5, True, "end", "  abc"),
        ("abcdef", 4, False, "end", "abc…"),
        ("abcdef", 4, False, "start", "…def"),
        ("中文字", 6, False, "end", "中文字"),
        ("中文字", 5, False, "end", "中文…"),
        ("中文字", 4, False, "end", "中 …"),
        ("中文字", 4, False, "start", "… 字"),
        ("abc", 1, False, "end", "…"),
        ("", 2, False, "end", "  "),
    ],
)
def test_text_is_fitted(text: str, width: int, right: bool, cut: Any, fitted: str) -> None:
    assert fit(text, width, right, cut) == fitted


@given(st.text(max_size=30), st.integers(1, 20), st.booleans(), st.sampled_from(["end", "start"]))
def test_fitted_text_has_exactly_its_width_and_no_controls(text: str, width: int, right: bool, cut: Any) -> None:
    fitted = fit(safe(text), width, right, cut)
    assert cell_len(fitted) == width
    assert "\x1b" not in fitted and "\t" not in fitted and "\n" not in fitted


def test_ascii_terminals_get_an_ascii_ellipsis() -> None:
    set_ascii(True)
    try:
        assert fit("abcdef", 4) == "abc~"
    finally:
        set_ascii(False)
