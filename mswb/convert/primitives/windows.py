"""Windows that slide over the last dimensions: how their arguments are written, and where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mswb.convert.graph import Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.extents import calc, fixed, size, vector
from mswb.convert.primitives.kernels import working
from mswb.convert.program import Call

Pads = tuple[tuple[int, int], ...]
"""What is added before and behind, for each dimension."""
_MODES = {"0": "pad", "1": "same", "2": "valid", "none": "valid", "calculated": "pad"}
_FORMATS = ("NCHW", "NCDHW", "NCL", "", "0")


def per_axis(given: Any, count: int, what: str = "a size of the windows") -> tuple[int, ...]:
    """One number for each dimension: the last ones of several, or the same for all."""
    known = fixed(given, what)
    if len(known) == 1:
        return known * count
    if len(known) < count:
        raise Refused(f"{what} is given for {len(known)} dimensions instead of {count}")
    return known[-count:]


def around(given: Any, count: int) -> Pads:
    """Pads: one number, one for each dimension, or two for each."""
    known = fixed(given, "the padding")
    if len(known) == 2 * count:
        return tuple(zip(known[::2], known[1::2], strict=True))
    return tuple((one, one) for one in per_axis(known, count, "the padding"))


def mode_of(call: Call, default: str = "valid") -> str:
    """The padding mode: pad, same or valid.

    Raises:
        Refused: it is another one.
    """
    given = str(call.get("pad_mode", default)).lower()
    mode = _MODES.get(given, given)
    if mode not in ("pad", "same", "valid"):
        raise Refused(f"{given} is no padding mode", attribute="pad_mode")
    return mode


def channels_first(call: Call) -> None:
    """The dimensions of channels come before those of the windows.

    Raises:
        Refused: they come last.
    """
    given = call.get("format", call.get("data_format", ""))
    if str(given).upper() not in _FORMATS:
        raise Refused(f"its data format is {given}; NCHW can be converted", attribute="format")


@dataclass(frozen=True, slots=True)
class Window:
    """The windows of one call; ``pads`` is None where they depend on sizes: as much as the mode "same" asks for."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: Pads | None

    @property
    def spans(self) -> tuple[int, ...]:
        """How many elements a window reaches over."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    def around(self, sizes: Sequence[int | None]) -> Pads | None:
        """The pads for these sizes; None where one would have to be known."""
        if self.pads is not None:
            return self.pads
        found = [_same(*one) for one in zip(sizes, self.spans, self.strides, strict=True)]
        return None if any(one is None for one in found) else tuple(one for one in found if one is not None)


def _same(given: int | None, span: int, stride: int) -> tuple[int, int] | None:
    """As many windows as strides fit into the size, what is missing shared out, the larger part behind."""
    if given is None and stride != 1:
        return None
    total = span - 1 if given is None or stride == 1 else max((-(-given // stride) - 1) * stride + span - given, 0)
    return total // 2, total - total // 2


def flat_pads(pads: Pads) -> list[int]:
    """Pads as ONNX writes them: all in front, then all behind."""
    return [low for low, _ in pads] + [high for _, high in pads]


def placed(b: OnnxBuilder, x: Value, window: Window, fill: float) -> tuple[Value, dict[str, Any]]:
    """The input, and the attributes of padding for an operator of ONNX.

    Where neither fixed pads nor ``auto_pad`` tells the place of the windows, the input is padded at run time:
    onnxruntime has ``auto_pad`` without dilations and gaps alone.
    """
    count = len(window.kernel)
    sizes = (None,) * count if x.shape is None else x.shape[-count:]
    pads = window.around(sizes)
    if pads is not None:
        return x, {"pads": flat_pads(pads)} if any(map(any, pads)) else {}
    if set(window.dilations) == {1} and all(k >= s for k, s in zip(window.kernel, window.strides, strict=True)):
        return x, {"auto_pad": "SAME_UPPER"}
    lows, highs = [], []
    for axis, (span, stride) in enumerate(zip(window.spans, window.strides, strict=True)):
        length = size(b, x, axis - count)
        whole = calc(b, "Mul", calc(b, "Div", calc(b, "Sub", length, 1), stride), stride)
        total = calc(b, "Max", calc(b, "Sub", calc(b, "Add", whole, span), length), 0)
        lows.append(calc(b, "Div", total, 2))
        highs.append(calc(b, "Sub", total, lows[-1]))
    pads_at_run = vector(b, (0, 0, *lows, 0, 0, *highs))
    used = working("Pad", x.dtype)
    return b.cast(b.op("Pad", b.cast(x, used), pads_at_run, b.scalar(fill, used)), x.dtype), {}


def batched(b: OnnxBuilder, x: Value, count: int) -> tuple[Value, bool]:
    """The input with a dimension of the batch; whether it had none.

    Raises:
        Refused: its rank is only known when the model runs, or does not fit.
    """
    if x.rank not in (count + 1, count + 2):
        raise Refused(f"its input has {x.rank if x.rank is not None else 'an unknown number of'} dimensions")
    return (b.unsqueeze(x, [0]), True) if x.rank == count + 1 else (x, False)
