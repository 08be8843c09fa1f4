"""What the form of a conversion holds, and the command that it is equal to. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mswb.findings import Finding

INPUT, OUTPUT, SHAPES, VERIFY, PRECISION = "input_file", "output_file", "input_shape", "verify", "precision_mode"
ALL = "ALL"
"""One ONNX file in each precision, with their sizes and errors."""
FLAGS: Mapping[str, str] = {
    INPUT: "",
    OUTPUT: "",
    "input_format": "NCHW",
    PRECISION: "FP32",
    SHAPES: "",
    "custom_op_config": "",
    "freeze": "",
    VERIFY: "",
    "seed": "0",
    "threshold": "",
    "inputs": "",
    "python": "",
}
"""The fields in their order, each a flag of ``mswb convert``, with what it is when nothing is said."""
CHOICES: Mapping[str, tuple[str, ...]] = {
    "input_format": ("NCHW", "NHWC"),
    PRECISION: ("FP32", "FP16", "MIXED", ALL),
}
OF_VERIFY = ("seed", "threshold", "inputs", "python")
"""Fields that mean something only with a verification."""
Values = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look at these values has found.

    Attributes:
        values: what was looked at.
        kind: of the input: onnx or mindir, "" when it is none.
        output: where the result goes when nothing is said.
        shapes: the inputs as ``--input_shape`` would have them.
        problems: by field, what is wrong.
        replaces: there is a file already where the result goes.
    """

    values: Values
    kind: str = ""
    output: str = ""
    shapes: str = ""
    problems: Mapping[str, Finding] = field(default_factory=dict)
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class FormState:
    """The form.

    Attributes:
        values: text by field; a switch is "true" or "".
        looked: the last look, of these values or earlier ones.
    """

    values: Values = field(default_factory=dict)
    looked: Looked | None = None
    read_only: bool = False

    def text(self, name: str) -> str:
        """The text of a field."""
        return self.values.get(name, "")

    @property
    def kind(self) -> str:
        """What the input is, as far as it is known."""
        return "" if self.looked is None else self.looked.kind

    @property
    def is_checked(self) -> bool:
        """Whether the last look was at these values."""
        return self.looked is not None and self.looked.values == self.values

    @property
    def problems(self) -> Mapping[str, Finding]:
        """What is wrong, by field; of fields that were changed since only what is known again."""
        if self.looked is None:
            return {}
        known = self.looked.values
        return {
            name: found
            for name, found in self.looked.problems.items()
            if known.get(name, "") == self.text(name) and name in self.shown
        }

    @property
    def shown(self) -> tuple[str, ...]:
        """The fields that mean something now."""
        return tuple(name for name in FLAGS if name not in OF_VERIFY or self.text(VERIFY))


def begun(path: str, *, read_only: bool = False) -> FormState:
    """A form for one model; its result is verified unless somebody says otherwise."""
    return FormState({INPUT: path, VERIFY: "true"}, read_only=read_only)


def typed(state: FormState, name: str, text: str) -> FormState:
    """A field has another text; the sizes of another model's inputs are not kept."""
    values = {**state.values, name: text}
    if name == INPUT and _are_the_models(state):
        del values[SHAPES]
    return replace(state, values=values)


def looked(state: FormState, found: Looked) -> FormState:
    """A look is over; sizes of inputs that nobody has typed are those of the model."""
    if SHAPES in state.values or not found.shapes or state.values != found.values:
        return replace(state, looked=found)
    values = {**state.values, SHAPES: found.shapes}
    return replace(state, values=values, looked=replace(found, values=values))


def _are_the_models(state: FormState) -> bool:
    """Whether the sizes of the inputs are as the model has them."""
    return state.looked is not None and SHAPES in state.values and state.text(SHAPES) == state.looked.shapes


def given(state: FormState, name: str) -> bool:
    """Whether a field says something that would not be so anyway."""
    text = state.text(name).strip()
    return bool(text) and text != FLAGS[name] and not (name == SHAPES and _are_the_models(state))


def arguments(state: FormState) -> tuple[str, ...]:
    """What stands behind ``mswb convert``: only what is not as it would be anyway."""
    words: list[str] = []
    for name in state.shown:
        text = state.text(name).strip()
        if not given(state, name):
            continue
        if name == VERIFY:
            words.append("--verify")
        elif name == "freeze":
            words += [word for one in _parts(text) for word in ("--freeze", one)]
        else:
            words += [f"--{name}", text]
    if state.kind == "mindir":
        target = "" if state.text(OUTPUT).strip() or state.looked is None else state.looked.output
        words += [*(("--output_file", target) if target else ()), "--to_onnx"]
    return tuple(words)


def _parts(text: str) -> list[str]:
    """The frozen inputs, parted by blanks; a quote that is not closed is somebody still typing."""
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def command(state: FormState) -> str:
    """The command that the form is equal to."""
    return shlex.join(("mswb", "convert", *arguments(state)))
