"""What the launch form holds, as data, and how it changes. Pure: no widget, no disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from mswb.findings import Finding, MswbError
from mswb.launch import form
from mswb.launch.form import Values
from mswb.launch.presets import Launches

if TYPE_CHECKING:  # it loads much, and the first frame needs none of it
    from mswb.flows.run import Prepared
    from mswb.jobs.spec import ProcessSpec


class Checked(NamedTuple):
    """What a look at these arguments gave: the launch and its processes, or why it was refused."""

    arguments: tuple[str, ...]
    prepared: Prepared | None = None
    processes: tuple[ProcessSpec, ...] = ()
    refused: Finding | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that is to say about it, errors first."""
        if self.prepared is None:
            return (self.refused,) if self.refused is not None else ()
        order = ("error", "warning", "note")
        everything = (*self.prepared.findings, *self.prepared.request.notes)
        return tuple(sorted(everything, key=lambda one: order.index(one.severity)))

    @property
    def errors(self) -> int:
        return sum(one.severity == "error" for one in self.findings)


@dataclass(frozen=True, slots=True)
class FormState:
    """One moment of the form.

    Attributes:
        first: the values it began with (to know whether anything would be lost).
        wrong: by field, what is wrong with its own text.
        checked: the last look, which may be of older arguments.
        source: where the values came from: the name of a preset, or nothing.
        withheld: variables that the source had, whose values were not kept.
        launches: presets and history, once they were read.
    """

    values: Values = field(default_factory=Values)
    first: Values = field(default_factory=Values)
    wrong: Mapping[str, Finding] = field(default_factory=dict)
    checked: Checked | None = None
    source: str = ""
    withheld: tuple[str, ...] = ()
    launches: Launches = field(default_factory=Launches)
    starting: bool = False
    read_only: bool = False

    @property
    def arguments(self) -> tuple[str, ...]:
        """What stands behind ``mswb run``."""
        return form.arguments(self.values)

    @property
    def is_checked(self) -> bool:
        """Whether the last look was at what the form holds now."""
        return self.checked is not None and self.checked.arguments == self.arguments and not self.wrong

    @property
    def blocked(self) -> bool:
        """Whether the checks found what makes a start useless, and nobody asked to skip them."""
        prepared = self.checked.prepared if self.checked is not None else None
        return prepared is not None and prepared.blocked and not prepared.request.skip_check

    @property
    def missing(self) -> tuple[str, ...]:
        """Withheld variables that have no value yet."""
        pairs = self.values.given.get("env", ())
        return tuple(name for name in self.withheld if not any(pair.startswith(f"{name}=") for pair in pairs))

    @property
    def lacks_script(self) -> bool:
        """Whether nothing is to be started yet, which is no mistake of anybody."""
        return not self.values.text(form.SCRIPT)

    def problems(self) -> Mapping[str, Finding]:
        """By field, what is wrong with it: its own text, or what the look at all of them said about it."""
        known = self.checked is not None and self.is_checked and not self.lacks_script
        refused = self.checked.refused if known and self.checked is not None else None
        name = form.field_of(refused) if refused is not None else None
        return {**({name: refused} if name and refused is not None else {}), **self.wrong}


def typed(state: FormState, name: str, text: str) -> FormState:
    """The state after the text of one field changed; a text that can't be cut into words changes no value."""
    if name == form.LINE:
        return _line_typed(state, text)
    wrong = {other: finding for other, finding in state.wrong.items() if other not in (name, form.LINE)}
    found = form.problem(name, text)
    if found is not None:
        wrong[name] = found
    if found is not None and found.values.get("mistake") == "quote-open":
        return replace(state, wrong=wrong)
    return replace(state, values=state.values.with_text(name, text), wrong=wrong)


def _line_typed(state: FormState, text: str) -> FormState:
    try:
        values = form.read_line(text)
    except MswbError as error:
        return replace(state, wrong={form.LINE: error.finding})
    return filled(state, values, state.source, state.withheld)


def shows(state: FormState, name: str, text: str) -> bool:
    """Whether ``text`` in a field says what the state holds, though perhaps not letter by letter."""
    try:
        values = form.read_line(text) if name == form.LINE else state.values.with_text(name, text)
    except MswbError:
        return name in state.wrong
    return values == state.values


def filled(state: FormState, values: Values, source: str = "", withheld: tuple[str, ...] = ()) -> FormState:
    """The state with other values in all fields."""
    wrong = {name: found for name in values.given if (found := form.problem(name, values.text(name))) is not None}
    return replace(state, values=values, wrong=wrong, source=source, withheld=withheld)
