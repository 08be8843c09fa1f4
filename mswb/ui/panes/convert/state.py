"""Conversions of this session as values: what was asked, how far each is, what came of it; and their changes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from mswb.findings import Finding
from mswb.flows.convert_job import Outcome, Step
from mswb.ui.screens.convert_form.state import INPUT, OUTPUT, Values

Status = Literal["running", "done", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class Work:
    """One conversion.

    Attributes:
        source: the model, as an absolute path.
        values: of the form that asked for it; ``arguments`` are the words behind ``mswb convert``.
        folder: what its paths are relative to.
        report: the object that ``--format json`` writes.
    """

    number: int
    source: str
    folder: str
    values: Values
    arguments: tuple[str, ...]
    status: Status = "running"
    step: Step | None = None
    report: Mapping[str, Any] | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def verdict(self) -> str:
        """What came of it in one word; the status while there is none."""
        return str(self.report["verdict"]) if self.report is not None and self.status == "done" else self.status

    @property
    def operators(self) -> tuple[Mapping[str, Any], ...]:
        """The operators of the report, the one to look at first on top."""
        return tuple(self.report["operators"]) if self.report is not None else ()

    @property
    def blocked(self) -> tuple[Finding, ...]:
        """What stands in the way, when there is no table of operators."""
        return () if self.operators else tuple(one for one in self.findings if one.severity == "error")

    @property
    def models(self) -> tuple[str, str]:
        """The ONNX file and the MindIR file; "" where there is none."""
        told = self.report or {}
        named = (*(told.get(key) for key in ("input", "output", "reference")), self.values.get(INPUT),
                 self.values.get(OUTPUT))  # fmt: skip
        paths = [os.path.join(self.folder, str(path)) for path in named if path]
        onnx = next((path for path in paths if path.lower().endswith(".onnx")), "")
        return onnx, next((path for path in paths if path.lower().endswith(".mindir")), "")


@dataclass(frozen=True, slots=True)
class ConvertState:
    """All of the session; ``shown`` is the number of the one that is looked at, None while models are listed."""

    works: tuple[Work, ...] = ()
    shown: int | None = None
    details: bool = False
    numbers: int = 0
    sides: Mapping[tuple[int, str], Any] = field(default_factory=dict)
    """What is known of both sides of operators, by conversion and output: Sides, or a finding that says why not."""

    @property
    def current(self) -> Work | None:
        """The one that is looked at."""
        return next((one for one in self.works if one.number == self.shown), None)

    def of(self, source: str) -> Work | None:
        """The newest conversion of a model."""
        return next((one for one in reversed(self.works) if one.source == source), None)


def begun(state: ConvertState, source: str, folder: str, values: Values, arguments: tuple[str, ...]) -> ConvertState:
    """A conversion begins, and is looked at."""
    number = state.numbers + 1
    work = Work(number, source, folder, values, arguments)
    return replace(state, works=(*state.works, work), shown=number, details=False, numbers=number)


def stepped(state: ConvertState, number: int, step: Step) -> ConvertState:
    """A conversion has told how far it is."""
    return _changed(state, number, step=step)


def ended(state: ConvertState, number: int, outcome: Outcome | None) -> ConvertState:
    """A conversion is over; None: it was cancelled."""
    if outcome is None:
        return _changed(state, number, status="cancelled")
    status = "failed" if outcome.report is None else "done"
    return _changed(state, number, status=status, report=outcome.report, findings=outcome.findings)


def failed(state: ConvertState, number: int, problem: Finding) -> ConvertState:
    """A conversion could not be run."""
    return _changed(state, number, status="failed", findings=(problem,))


def showing(state: ConvertState, number: int | None) -> ConvertState:
    """Look at a conversion, or (None) at the list."""
    return replace(state, shown=number, details=False)


def detailed(state: ConvertState, details: bool) -> ConvertState:
    """With the details over the table, or without."""
    return replace(state, details=details)


def told(state: ConvertState, number: int, output: str, sides: Any) -> ConvertState:
    """Both sides of an operator are known."""
    return replace(state, sides={**state.sides, (number, output): sides})


def _changed(state: ConvertState, number: int, **facts: Any) -> ConvertState:
    return replace(state, works=tuple(replace(one, **facts) if one.number == number else one for one in state.works))


def short(path: str, folder: str) -> str:
    """A path as somebody in the folder would type it."""
    inside = os.path.realpath(folder).rstrip("/") + "/"
    return path.removeprefix(inside) if path.startswith(inside) else path
