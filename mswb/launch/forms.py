"""The forms of lines that tell of a training's progress, as data: ``progress.toml``, and the user's own.

Built-in forms are Python's regular expressions with bounded repeats, tried on the first characters of a line only. The
user's are of RE2, which no pattern can make hang.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NoReturn

from mswb.findings import Where, parse_toml, stop
from mswb.settings import Settings

if TYPE_CHECKING:
    from mswb.files.patterns import Finder

MAX_STEP_LINE = 600
"""Characters of a line in which a step is looked for."""
MAX_PATTERNS, MAX_PATTERN = 20, 400
"""Patterns of the user's that are taken, and the characters of each."""
STEP_GROUPS = frozenset({"epoch", "epochs", "step", "steps", "loss", "step_ms"})
VALUE_GROUPS = frozenset({"lr", "samples_s", "step_ms", "step_s", "steps_s", "batch", "global_batch"})
_MAYBE = re.compile(r"(?i)step|epoch|iter|batch|%\|")
_MAYBE_BYTES = r"(?i:step|epoch|iter|batch|%\||sample|img|image|example|sequence|throughput|fps|learning.rate)"
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)
_PARTS = {
    "<number>": r"(?:[-+]?(?:\d{1,20}\.?\d{0,20}(?:[eE][-+]?\d{1,4})?|nan|inf(?:inity)?))",
    "<gap>": r"[^\n]{0,120}?",
}


@dataclass(frozen=True, slots=True)
class Step:
    """What a step line says; what it doesn't is None. ``loss`` may be NaN or infinite; ``number`` is its line."""

    number: int
    step: int | None
    steps: int | None
    epoch: int | None
    epochs: int | None
    loss: float | None
    step_ms: float | None
    time: int | None = None

    @property
    def sure(self) -> bool:
        """Whether the line has a loss, a total or a time: the bare words "step 19" may be part of any sentence."""
        return any(value is not None for value in (self.loss, self.steps, self.epochs, self.step_ms))

    def recalls(self, known: Step | None) -> bool:
        """Whether these are words about an earlier step, in a log whose own step lines say more."""
        if known is None or self.sure or not known.sure:
            return False
        if self.epoch is not None and known.epoch is not None and self.epoch != known.epoch:
            return self.epoch < known.epoch
        return self.step is not None and known.step is not None and self.step < known.step

    def updated(self, new: Step) -> Step:
        """Each value as the newer line has it, or as it was."""
        return Step(
            new.number,
            self.step if new.step is None else new.step,
            self.steps if new.steps is None else new.steps,
            self.epoch if new.epoch is None else new.epoch,
            self.epochs if new.epochs is None else new.epochs,
            self.loss if new.loss is None else new.loss,
            self.step_ms if new.step_ms is None else new.step_ms,
            self.time if new.time is None else new.time,
        )


@dataclass(frozen=True, slots=True)
class Values:
    """What stands beside a step or in a line of its own; ``batch_is_global`` tells whose samples ``batch`` counts."""

    lr: float | None = None
    samples_s: float | None = None
    step_ms: float | None = None
    batch: int | None = None
    batch_is_global: bool = False


@dataclass(frozen=True, slots=True)
class StepForm:
    """A form of line. Its groups are of :data:`STEP_GROUPS` or :data:`VALUE_GROUPS`; the user's may have both.

    ``words``: a line of a value has one of these, in lower case.
    """

    name: str
    pattern: Any
    sample: str = ""
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Forms:
    """All forms that apply: the user's own come first."""

    steps: tuple[StepForm, ...]
    values: tuple[StepForm, ...]
    own: tuple[StepForm, ...] = ()

    def step(self, text: str, number: int = 0, time: int | None = None) -> Step | None:
        """The step that one line tells of; None for any other line. Only its first characters are looked at."""
        text = text[:MAX_STEP_LINE]
        found = self._own_groups(text) or self._step_groups(text)
        if found is None:
            return None
        step = Step(
            number,
            _whole(found.get("step")),
            _whole(found.get("steps")),
            _whole(found.get("epoch")),
            _whole(found.get("epochs")),
            _real(found.get("loss")),
            _milliseconds(found),
            time,
        )
        told = (step.step, step.epoch, step.loss, step.step_ms)
        return None if all(value is None for value in told) else step

    def beside(self, text: str, among: Iterable[StepForm] | None = None) -> Values | None:
        """Learning rate, throughput, step time and batch size that one line tells of, if any.

        Args:
            among: the forms of values to try, where the caller knows which ones its log has.
        """
        text = text[:MAX_STEP_LINE]
        found: dict[str, str] = self._own_groups(text) or {}
        for form in self.fitting(text) if among is None else among:
            match = form.pattern.search(text)
            if match is not None:
                found = {**match.groupdict(), **found}
        if not found.keys() & VALUE_GROUPS:
            return None
        batch = _whole(found.get("global_batch")) or _whole(found.get("batch"))
        values = (_real(found.get("lr")), _real(found.get("samples_s")), _milliseconds(found), batch or None)
        return Values(*values, "global_batch" in found)

    def fitting(self, text: str) -> Iterator[StepForm]:
        """The forms of values that fit one line."""
        low = text[:MAX_STEP_LINE].lower()
        likely = (form for form in self.values if any(word in low for word in form.words))
        return (form for form in likely if form.pattern.search(text[:MAX_STEP_LINE]))

    @property
    def find(self) -> Finder:
        """Finds lines that some form might fit, in bytes."""
        return _finder(tuple(form.pattern.pattern for form in self.own))

    def _own_groups(self, text: str) -> dict[str, str] | None:
        for form in self.own:
            match = form.pattern.search(text)
            if match is not None:
                return {name: value for name, value in match.groupdict().items() if value is not None}
        return None

    def _step_groups(self, text: str) -> dict[str, str] | None:
        if not _MAYBE.search(text):
            return None
        matches = (form.pattern.search(text) for form in self.steps)
        return next((match.groupdict() for match in matches if match is not None), None)


def forms_of(settings: Settings) -> Forms:
    """The built-in forms and those of ``[progress]`` in the configuration file.

    Raises:
        MswbError: ``config-invalid``, naming the first pattern that is wrong and why.
    """
    table = settings.tables.get("progress", {})
    unknown = sorted(set(table) - {"patterns"})
    if unknown:
        _refuse(settings, unknown[0], "there is only: patterns")
    patterns = table.get("patterns", [])
    if not isinstance(patterns, list) or len(patterns) > MAX_PATTERNS:
        _refuse(settings, "patterns", f"it must be a list of at most {MAX_PATTERNS} texts")
    return Forms(BUILT_IN.steps, BUILT_IN.values, tuple(_own(settings, at, raw) for at, raw in enumerate(patterns, 1)))


def _own(settings: Settings, number: int, raw: Any) -> StepForm:
    import re2

    name = f"patterns, number {number}"
    if not isinstance(raw, str) or not 0 < len(raw) <= MAX_PATTERN:
        _refuse(settings, name, f"it must be a text of at most {MAX_PATTERN} characters")
    options = re2.Options()
    options.log_errors = False  # RE2 would write to stderr, in the middle of the screen
    try:
        pattern = re2.compile(raw, options)
    except re2.error as problem:
        reason = problem.args[0] if problem.args else problem
        _refuse(settings, name, reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason))
    groups = set(pattern.groupindex)
    known = STEP_GROUPS | VALUE_GROUPS
    if not groups or groups - known:
        _refuse(settings, name, f"its groups must have names of: {', '.join(sorted(known))}")
    return StepForm(f"own {number}", pattern)


def _refuse(settings: Settings, name: str, reason: str) -> NoReturn:
    where = Where(file=str(settings.config_file))
    raise stop("config-invalid", where=where, values={"name": f"[progress] {name}", "reason": reason})


@lru_cache(maxsize=8)
def _finder(own: tuple[str, ...]) -> Finder:
    from mswb.files.patterns import compile_pattern

    return compile_pattern("|".join([_MAYBE_BYTES, *(f"(?:{pattern})" for pattern in own)])).find


def _load() -> Forms:
    table = parse_toml(resources.files("mswb.launch").joinpath("progress.toml").read_text(encoding="utf-8"))
    return Forms(tuple(map(_form, table["step"])), tuple(map(_form, table["value"])))


def _form(raw: Mapping[str, Any]) -> StepForm:
    pattern = raw["pattern"]
    for name, part in _PARTS.items():
        pattern = pattern.replace(name, part)
    return StepForm(raw["name"], re.compile(pattern, re.IGNORECASE), raw["sample"], tuple(raw.get("words", ())))


BUILT_IN = _load()
"""The forms of ``progress.toml`` alone."""


def _milliseconds(found: Mapping[str, str | None]) -> float | None:
    """The time of a step, in whichever unit it was printed."""
    milliseconds, seconds, rate = (_real(found.get(name)) for name in ("step_ms", "step_s", "steps_s"))
    if milliseconds is not None:
        return milliseconds
    if seconds is not None:
        return seconds * 1e3
    return 1e3 / rate if rate else None


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and _WHOLE.fullmatch(text) else None


def _real(text: str | None) -> float | None:
    try:
        return float(text) if text is not None else None
    except ValueError:
        return None
