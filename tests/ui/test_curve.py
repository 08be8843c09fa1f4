"""Curves as text: what is drawn, in any size, with and without Unicode."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult

from mswb.launch.series import Curve, Series
from mswb.ui.glyphs import set_ascii
from mswb.ui.widgets.curve import CurvePlot, Drawn, render_curve
from mswb.ui.widgets.curve_text import LABEL_CELLS, short


def series(*values: float, step: float = 1.0) -> Series:
    curve = Curve()
    for number, value in enumerate(values):
        curve.add(1 + number * step, value)
    return curve.series


def plot(lines: list[str], labels: int = 1) -> list[str]:
    """The cells of the plot alone."""
    return [line[LABEL_CELLS + 1 :] for line in lines[labels:-2]]


@pytest.mark.parametrize(
    ("width", "label"),
    [
        (80, "⠒ loss of rank 0, 20261130_113206_12837  last 5.053 @61  min 1.25 @60  max 9 @1"),
        (72, "⠒ loss of rank 0, 20261130_113206_12837  last 5.053 @61  min 1.25  max 9"),
        (68, "⠒ loss of rank 0, 20261130_113206_12837  last 5.053  min 1.25  max 9"),
    ],
)
def test_the_legend_says_less_before_it_is_cut(width: int, label: str) -> None:
    curve = series(9, *[3.0] * 58, 1.25, 5.0526)
    lines = render_curve([Drawn("loss of rank 0, 20261130_113206_12837", curve)], width, 10)
    assert lines[0].rstrip() == label


def test_a_falling_line() -> None:
    lines = render_curve([Drawn("loss", series(4, 3, 2, 1))], 40, 10)
    assert lines[0].split() == ["⠒", "loss", "last", "1", "@4", "min", "1", "@4", "max", "4", "@1"]
    assert [line[: LABEL_CELLS + 1] for line in (lines[1], lines[4], lines[7])] == [
        "        4│",
        "      2.5│",
        "        1│",
    ]
    cells = plot(lines)
    assert cells[0][0] != " " and cells[0][-1] == " "
    assert cells[-1][-1] != " " and cells[-1][0] == " "
    for row in cells:
        assert row.strip()  # no row without a dot: the line has no holes
    for column in range(len(cells[0])):
        assert any(row[column] != " " for row in cells)
    assert lines[-2].strip() == "└" + "─" * 30
    assert lines[-1].split() == ["1", "4"]


def test_a_falling_line_in_ascii() -> None:
    lines = render_curve([Drawn("loss", series(4, 3, 2, 1))], 40, 10, True)
    assert all(line.isascii() for line in lines)
    cells = plot(lines)
    assert cells[0][0] in "'-.:" and cells[-1][-1] in "'-.:"
    assert all(any(row[column] != " " for row in cells) for column in range(len(cells[0])))


def test_two_curves_differ_without_colour() -> None:
    lines = render_curve([Drawn("A", series(4, 4, 1, 1)), Drawn("B", series(1, 1, 4, 4))], 40, 10)
    assert (lines[0][0], lines[1][0]) == ("⠒", "×")
    cells = plot(lines, 2)
    assert cells[0][0] not in "× " and cells[0][-1] == "×"
    assert cells[-1][0] == "×" and cells[-1][-1] not in "× "
    same = plot(render_curve([Drawn("A", series(4, 1)), Drawn("B", series(4, 1))], 40, 10), 2)
    assert "◆" in same[0] and "◆" in same[-1]


def test_curves_are_aligned_by_step() -> None:
    """The second run has come half as far."""
    cells = plot(render_curve([Drawn("A", series(*[1] * 9)), Drawn("B", series(*[2] * 5))], 50, 10), 2)
    crosses = [column for column, cell in enumerate(cells[0]) if cell == "×"]
    assert crosses[0] == 0 and crosses[-1] == len(cells[0]) // 2


def test_broken_values_are_marked_where_they_are() -> None:
    lines = render_curve([Drawn("loss", series(4, 3, math.nan, math.inf, 1))], 40, 10)
    assert "✖ 2 nan or inf, first @3" in render_curve([Drawn("loss", series(4, 3, math.nan, math.inf, 1))], 80, 10)[0]
    marks = [column for column, cell in enumerate(lines[-2][LABEL_CELLS + 1 :]) if cell == "✖"]
    assert marks == [15, 22]
    assert "X" in render_curve([Drawn("loss", series(1, math.nan))], 40, 10, True)[-2]


def test_a_spike_is_drawn() -> None:
    values = [1.0] * 3000
    values[1500] = 100.0
    cells = plot(render_curve([Drawn("loss", series(*values))], 60, 12))
    assert [column for column, cell in enumerate(cells[0]) if cell != " "] == [25]


def test_values_at_the_cursor() -> None:
    one, two = Drawn("A", series(4, 3, 2)), Drawn("B", series(5, 5))
    assert "step 2: 3" in render_curve([one], 60, 10, cursor=2)[-1]
    assert "step 2: 3 | 5  +2" in render_curve([one, two], 60, 10, cursor=2)[-1]
    assert "step 3: 2 | -" in render_curve([one, two], 60, 10, cursor=3)[-1]
    assert render_curve([one], 60, 10, cursor=2)[-2].index("┴") == LABEL_CELLS + 1 + 25


def test_a_logarithmic_scale() -> None:
    lines = render_curve([Drawn("loss", series(1000, 100, 10, 1, 0, -5))], 60, 9, logarithmic=True)
    assert [lines[row].split("│")[0].strip() for row in (1, 6)] == ["1000", "1"]
    cells = plot(lines)
    assert cells[0][0] != " " and cells[-1][29] != " "
    assert not any(row[32:].strip() for row in cells)  # what is not positive has no place
    assert "no finite" in "".join(render_curve([Drawn("loss", series(0, -1))], 60, 9, logarithmic=True))


@pytest.mark.parametrize(
    ("values", "words"),
    [((), "no values yet"), ((math.nan, math.inf), "no finite values")],
)
def test_nothing_to_draw_is_said(values: tuple[float, ...], words: str) -> None:
    assert words in "\n".join(render_curve([Drawn("loss", series(*values))], 60, 10))


def test_a_flat_line_lies_in_the_middle() -> None:
    for value in (5.0, 0.0, -3.0, 1e300):
        cells = plot(render_curve([Drawn("loss", series(value, value, value))], 40, 10))
        assert not cells[0].strip() and not cells[-1].strip()
        assert any(row.strip() for row in cells)
    single = plot(render_curve([Drawn("loss", series(5))], 40, 10))
    assert any(row.strip() for row in single)


@settings(max_examples=150)
@given(
    values=st.lists(st.lists(st.floats(), max_size=30), max_size=3),
    label=st.text(max_size=20),
    width=st.integers(0, 120),
    height=st.integers(0, 40),
    ascii_only=st.booleans(),
    cursor=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    logarithmic=st.booleans(),
)
def test_every_line_has_its_width(
    values: list[list[float]],
    label: str,
    width: int,
    height: int,
    ascii_only: bool,
    cursor: float | None,
    logarithmic: bool,
) -> None:
    drawn = [Drawn(label, series(*some)) for some in values]
    lines = render_curve(drawn, width, height, ascii_only, cursor=cursor, logarithmic=logarithmic)
    assert len(lines) == height
    assert all(cell_len(line) == width for line in lines)
    assert not any(ord(char) < 32 for line in lines for char in line)


@given(st.floats())
def test_numbers_fit_beside_the_axis(value: float) -> None:
    assert len(short(value)) <= LABEL_CELLS


class PlotApp(App[None]):
    """A plot alone, that counts what it draws."""

    def compose(self) -> ComposeResult:
        yield CurvePlot()

    @property
    def plot(self) -> CurvePlot:
        return self.query_one(CurvePlot)

    @property
    def lines(self) -> list[str]:
        return ["".join(segment.text for segment in strip) for strip in self.screen._compositor.render_strips()]


@pytest.fixture
def ascii_mode() -> object:
    set_ascii(True)
    yield
    set_ascii(False)


@pytest.mark.asyncio
async def test_the_widget_draws_and_follows_its_size() -> None:
    app = PlotApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.plot.show([Drawn("loss", series(4, 3, 2, 1))], cursor=2)
        await pilot.pause()
        assert app.lines == render_curve([Drawn("loss", series(4, 3, 2, 1))], 60, 12, cursor=2)
        assert app.plot.columns == 50
        await pilot.resize_terminal(40, 9)
        await pilot.pause()
        assert app.lines == render_curve([Drawn("loss", series(4, 3, 2, 1))], 40, 9, cursor=2)


@pytest.mark.asyncio
async def test_only_lines_that_changed_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    app = PlotApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.plot.show([Drawn("loss", series(4, 3, 2, 1))])
        await pilot.pause()
        sent: list[int] = []
        monkeypatch.setattr(CurvePlot, "refresh", lambda self, *regions, **named: sent.extend(one.y for one in regions))
        app.plot.show([Drawn("loss", series(4, 3, 2, 1))])
        assert sent == []
        app.plot.show([Drawn("loss", series(4, 3, 2, 1))], cursor=2)
        assert sent == [10, 11]


@pytest.mark.asyncio
@pytest.mark.usefixtures("ascii_mode")
async def test_the_widget_in_ascii() -> None:
    app = PlotApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.plot.show([Drawn("loss", series(4, math.nan, 1)), Drawn("other", series(1, 4))])
        await pilot.pause()
        assert all(line.isascii() for line in app.lines)
