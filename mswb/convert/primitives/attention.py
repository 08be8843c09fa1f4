"""Attention of Ascend in one operator, taken apart; by the formulas and masks of MindSpore's documentation.

``softmax(scale (shift + query key^T), masked) value``, in single precision. What the operators give besides is of use
to gradients alone and is not given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.extents import along, calc, counted, size
from mswb.convert.primitives.kernels import run, single
from mswb.convert.primitives.linear import turned
from mswb.convert.primitives.operands import tensor
from mswb.convert.program import Call

_LAYOUTS = ("BSH", "BNSD", "SBH", "BSND")
"""By their numbers in MindIR."""
_TO_HEADS = {"BSH": (0, 2, 1, 3), "BSND": (0, 2, 1, 3), "SBH": (1, 2, 0, 3)}
"""The order that makes (batch, heads, sequence, head size) of it, with heads split."""
_FROM_HEADS = {"BSH": (0, 2, 1, 3), "BSND": (0, 2, 1, 3), "SBH": (2, 0, 1, 3)}
_UNUSED = (
    "drop_mask", "padding_mask", "prefix", "actual_seq_qlen", "actual_seq_kvlen", "actual_seq_lengths",
    "actual_seq_lengths_kv", "deq_scale1", "quant_scale1", "deq_scale2", "quant_scale2", "quant_offset2",
)  # fmt: skip
_LOWEST = float(np.finfo(np.float32).min)
_FAR = 1 << 30
"""From this many tokens on a band is taken to be open."""


@dataclass(frozen=True, slots=True)
class _Form:
    """How one call computes.

    Attributes:
        before, after: how far a query sees to the left and to the right; None for all.
        corner: whether the causal triangle ends at the lower right corner.
    """

    layout: str
    heads: int
    scale: float
    shift: Any
    mask: Any
    before: int | None
    after: int | None
    corner: bool


def _form(call: Call) -> _Form:
    for name in _UNUSED:
        if call.get(name, None) is not None:
            raise Refused(f"it is given {name}", attribute=name)
    if float(call.get("keep_prob", 1.0)) != 1.0:
        raise Refused("it drops parts at random", attribute="keep_prob")
    given = call.get("input_layout", 0)
    layout = _LAYOUTS[given] if isinstance(given, int) and 0 <= given < len(_LAYOUTS) else str(given)
    if layout not in _LAYOUTS:
        raise Refused(f"its layout is {layout}", attribute="input_layout")
    mode, mask = int(call.get("sparse_mode", 0)), call.get("attn_mask", None)
    shift = call.get("real_shift", call.get("pse_shift", None))
    if mode > 3 or (mode in (2, 3) and shift is not None):
        raise Refused(f"its sparse_mode is {mode}" + (" with a shift" if shift is not None else ""))
    heads = int(call.get("head_num", call.get("num_heads", 1)))
    before, after = (int(call.get(name, _FAR)) for name in ("pre_tokens", "next_tokens"))
    bounded, causal = mode == 0 and mask is not None, mode in (2, 3)
    left = before if bounded and before < _FAR else None
    right = 0 if causal else after if bounded and after < _FAR else None
    scale = float(call.get("scale_value", 1.0))
    return _Form(layout, heads, scale, shift, None if causal else mask, left, right, mode == 3)


# -- ONNX


def _split(b: OnnxBuilder, x: Value, form: _Form, heads: int) -> Value:
    """As (batch, heads, sequence, head size)."""
    wide = single(b, x)
    if form.layout in ("BSH", "SBH"):
        last = None if x.shape is None else x.shape[-1]
        shape = None if x.shape is None else (*x.shape[:2], heads, None if last is None else last // heads)
        wide = b.op("Reshape", wide, b.ints([0, 0, heads, -1]), shape=shape)
    return b.transpose(wide, _TO_HEADS[form.layout]) if form.layout in _TO_HEADS else wide


def _key_heads(call: Call, query: Value, key: Value, form: _Form) -> int:
    given = int(call.get("num_key_value_heads", 0) or 0)
    if given:
        return given
    axis = {"BNSD": 1, "BSND": 2}.get(form.layout, -1)
    sizes = [None if one.shape is None else one.shape[axis] for one in (query, key)]
    if sizes[0] is None or sizes[1] is None:
        raise Refused("the number of heads is only known when the model runs")
    return sizes[1] if axis >= 0 else form.heads * sizes[1] // sizes[0]


def _repeated(b: OnnxBuilder, x: Value, times: int) -> Value:
    """Each head for several of the query's."""
    if times == 1:
        return x
    last = None if x.shape is None else x.shape[-1]
    heads = None if x.shape is None else x.shape[1]
    if last is None or heads is None:
        raise Refused("the size of the heads is only known when the model runs")
    many = b.op("Expand", b.unsqueeze(x, [2]), b.ints([1, 1, times, 1, 1]))
    return b.op("Reshape", many, b.ints([0, heads * times, -1, last]))


def _hidden(b: OnnxBuilder, scores: Value, form: _Form) -> list[Value]:
    """What may not be seen, each broadcast to the scores."""
    found = [b.cast(form.mask, "bool")] if form.mask is not None else []
    if form.mask is not None and form.mask.rank == 3:
        found = [b.unsqueeze(found[0], [1])]
    if form.before is None and form.after is None:
        return found
    rows, columns = (along(b, counted(b, size(b, scores, axis)), axis + 2, 2) for axis in (-2, -1))
    apart = b.op("Sub", columns, rows)
    if form.corner:
        more = calc(b, "Sub", size(b, scores, -1), size(b, scores, -2))
        apart = b.op("Sub", apart, b.scalar(more, "int64") if isinstance(more, int) else more)
    if form.after is not None:
        found.append(b.op("Greater", apart, b.scalar(form.after, "int64")))
    if form.before is not None:
        found.append(b.op("Less", apart, b.scalar(-form.before, "int64")))
    return found


def _attention(call: Call, b: OnnxBuilder) -> Value:
    form = _form(call)
    given = [tensor(call, at) for at in range(3)]
    heads = _key_heads(call, given[0], given[1], form)
    query = _split(b, given[0], form, form.heads)
    key, value = (_repeated(b, _split(b, one, form, heads), form.heads // heads) for one in given[1:])
    scores = b.op("MatMul", query, turned(b, key, True))
    scores = scores if form.shift is None else b.op("Add", scores, b.cast(form.shift, scores.dtype))
    scores = run(b, "Mul", scores, form.scale)
    for hidden in _hidden(b, scores, form):
        scores = b.op("Where", hidden, b.scalar(_LOWEST, scores.dtype), scores)
    found = b.op("MatMul", b.op("Softmax", scores, axis=-1), value)
    if form.layout in _FROM_HEADS:
        found = b.transpose(found, _FROM_HEADS[form.layout])
    if form.layout in ("BSH", "SBH"):
        found = b.op("Reshape", found, b.ints([0, 0, -1]), shape=given[0].shape)
    return b.cast(found, given[0].dtype)


# -- numbers


def _split_of(x: Array, form: _Form, heads: int) -> Array:
    x = x.reshape(*x.shape[:2], heads, -1) if form.layout in ("BSH", "SBH") else x
    return x.transpose(_TO_HEADS[form.layout]) if form.layout in _TO_HEADS else x


def _attention_of(call: Call) -> Array:
    form, given = _form(call), call.inputs[:3]
    query = _split_of(given[0], form, form.heads)
    heads = int(call.get("num_key_value_heads", 0) or 0)
    width = query.shape[-1]
    heads = heads or {"BNSD": given[1].shape[1], "BSND": given[1].shape[-2]}.get(
        form.layout, given[1].shape[-1] // width
    )
    key, value = (np.repeat(_split_of(one, form, heads), form.heads // heads, axis=1) for one in given[1:])
    scores = query @ np.swapaxes(key, -1, -2)
    scores = form.scale * (scores if form.shift is None else scores + form.shift)
    if form.mask is not None:
        mask = form.mask != 0
        scores = np.where(mask[:, None] if mask.ndim == 3 else mask, _LOWEST, scores)
    rows, columns = (np.arange(one) for one in scores.shape[-2:])
    apart = columns - rows[:, None] - (len(columns) - len(rows) if form.corner else 0)
    for limit, beyond in ((form.after, apart), (form.before, -apart)):
        scores = scores if limit is None else np.where(beyond > limit, _LOWEST, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    found = weights / weights.sum(-1, keepdims=True) @ value
    found = found.transpose(_FROM_HEADS[form.layout]) if form.layout in _FROM_HEADS else found
    return np.asarray(found.reshape(given[0].shape))


TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    "FlashAttentionScore": lambda call, b: (None, None, None, _attention(call, b)),
    "PromptFlashAttention": _attention,
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    "FlashAttentionScore": lambda call: (None, None, None, _attention_of(call)),
    "PromptFlashAttention": _attention_of,
}
