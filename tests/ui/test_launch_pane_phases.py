"""The phases of a launch as bars: one axis for all ranks, letters that read without colours, places to jump to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from mswb.launch.foreign import ForeignRun
from mswb.launch.timeline import PhaseSpan
from mswb.ui.panes.launch import work
from mswb.ui.panes.launch.state import OpenRun
from mswb.ui.panes.launch.timeline import timeline_lines
from tests.ui import launch_states as made
from tests.ui.sessions import screen_text, until
from tests.ui.test_launch_pane_list import alone, launch
from tests.ui.test_launch_pane_run import shown

__all__ = ["alone"]
SECOND = 1_000_000


def phase(rank: int | None, kind: str, begin: float, end: float | None, **facts: object) -> PhaseSpan:
    """A phase that lasts from ``begin`` to ``end``, in seconds."""
    stop = None if end is None else round(end * SECOND)
    values = {"name": kind, "role": "worker" if rank is not None else "scheduler", "node": None, "line": 5, **facts}
    file = f"/logs/worker_{rank}.log"
    return PhaseSpan(kind=kind, start_us=round(begin * SECOND), end_us=stop, rank=rank, file=file, **values)  # type: ignore[arg-type]


PHASES = (
    phase(1, "start", 0, 4),
    phase(1, "cluster", 4, 6),
    phase(1, "compile", 6, None, name="optimize", text="Net.construct", line=77),
    phase(0, "start", 0, 2),
    phase(0, "cluster", 2, 6),
    phase(0, "compile", 6, 7, name="type_inference", text="Net.construct"),
    phase(0, "training", 7, 10),
    phase(None, "start", 0, 1),
)


def test_bars_share_an_axis_and_ranks_stand_in_order() -> None:
    rows = [line.text for line in timeline_lines(OpenRun("run:x", phases=PHASES), 46)]
    assert rows[0].split() == ["0s", "10s"]
    assert rows[1] == "r0    " + "s" * 8 + "j" * 16 + "C" * 4 + "T" * 12
    assert rows[2] == "r1    " + "s" * 16 + "j" * 8 + "C" * 16
    assert rows[3].rstrip() == "sched " + "s" * 4


def test_what_never_ended_is_told_first_and_leads_to_its_line() -> None:
    lines = timeline_lines(OpenRun("run:x", phases=PHASES), 70)
    stuck = next(line for line in lines if "not ended" in line.text)
    assert "compile optimize" in stuck.text
    assert stuck.colour == "warning"
    assert stuck.where is not None
    assert (stuck.where.rank, stuck.where.line) == (1, 77)
    after = [line.text for line in lines[lines.index(stuck) + 1 :]]
    assert after[0].startswith("r1     start")
    assert "training" not in "".join(after)


def test_no_phases_say_how_to_get_them() -> None:
    text = " ".join(line.text for line in timeline_lines(OpenRun("run:x", phases=()), 60))
    assert "--log_level INFO" in text
    assert "reading" in timeline_lines(OpenRun("run:x"), 60)[0].text


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["start", "cluster", "compile", "launch", "training"]),
                  st.floats(0, 1e5), st.one_of(st.none(), st.floats(0, 1e5))),
        min_size=1, max_size=12,
    ),
    st.integers(30, 160),
)  # fmt: skip
def test_any_phases_fit_any_width(spans: list[tuple[int, str, float, float | None]], width: int) -> None:
    phases = tuple(
        phase(rank, kind, begin, None if took is None else begin + took) for rank, kind, begin, took in spans
    )
    assert all(cell_len(line.text) <= width for line in timeline_lines(OpenRun("run:x", phases=phases), width))


@pytest.mark.asyncio
async def test_t_reads_and_shows_the_phases(
    tmp_path: Path, alone: list[ForeignRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    monkeypatch.setattr(work, "phases", lambda logs, ticket: read.append(len(logs)) or PHASES)
    async with launch(tmp_path) as (pane, pilot):
        await shown(pane, pilot, made.OPEN_RUNNING, tmp_path)
        await pilot.press("t")
        await until(pilot, lambda: "not ended" in screen_text(pilot.app))
        assert "s starting  j joining" in screen_text(pilot.app)
        await pilot.press("R")
        await until(pilot, lambda: read == [2, 2])
        await pilot.press("t")
        await until(pilot, lambda: pane.state.side == "")
        other = replace(made.OPEN_RUNNING, open=replace(made.OPEN_RUNNING.open, key="run:other"))  # type: ignore[type-var]
        pane.show(other)
        assert pane.state.open is not None
        assert pane.state.open.phases is None


def test_the_axis_ends_with_the_run() -> None:
    """Prints have no time stamps: a rank that trains does so until the end, though its last record is older."""
    view = made.view((made.rank(0),), "succeeded", started=1000.0, ended=1020.0)
    phases = (phase(0, "start", 0, 2), phase(0, "training", 2, 10))
    rows = [line.text for line in timeline_lines(OpenRun("run:x", view=view, phases=phases), 43)]
    assert rows[0].split() == ["0s", "20s"]
    assert rows[1] == "r0 " + "s" * 4 + "T" * 36
    live = replace(view, state="running", ended=None)
    assert timeline_lines(OpenRun("run:x", view=live, phases=phases), 43, 1040.0)[0].text.split() == ["0s", "40s"]
    assert timeline_lines(OpenRun("run:x", phases=phases), 43)[0].text.split() == ["0s", "10s"]
