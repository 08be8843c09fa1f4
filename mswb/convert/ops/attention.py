"""Attention and the rotation of positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mswb.convert.graph import Builder, Value, broadcast
from mswb.convert.onnx.model import dtype_name
from mswb.convert.onnx.node import Lower, OnnxNode, Refused
from mswb.convert.ops import sizes
from mswb.convert.ops.linear import matmul
from mswb.convert.ops.normalization import arithmetic


@dataclass(frozen=True, slots=True)
class Scores:
    """What a bias of the scores is built for: the sizes of both sequences and where the queries start.

    Attributes:
        like: the scores (batch, heads, queries, keys).
        offset: how many keys come before the first query; for each batch where it has dimensions, None for 0.
    """

    like: Value
    offset: Value | None


def _attention(node: OnnxNode, b: Builder) -> Sequence[Value | None]:
    """softmax(bias + softcap(Q * K')) * V as ONNX's own body has it: keys and queries take half the scale each."""
    if node.has(4) != node.has(5) or (node.has(4) and node.has(6)):
        raise Refused("past_key goes with past_value, and with no nonpad_kv_seqlen")
    flat = node.rank() == 3
    query, key, value = (_heads(node, b, at, name) for at, name in enumerate(("q", "kv", "kv")))
    for at, one in ((4, key), (5, value)):
        if node.has(at):
            past = node.input(at)
            joined = b.op("Concat", b.tuple([past, one]), 2, dtype=one.dtype, shape=_longer(past, one))
            key, value = (joined, value) if at == 4 else (key, joined)
    present = (key, value)
    key, value = _repeated(b, query, key), _repeated(b, query, value)
    raw = _products(node, b, query, key)
    capped = _capped(node, b, raw)
    bias = _bias(node, b, query, capped)
    biased = capped if bias is None else arithmetic(b, "Add", capped, bias)
    weights = b.cast(_softmax(node, b, biased, bias), query.dtype)
    result = matmul(b, weights, value)
    if flat:
        turned = b.transpose(result, (0, 2, 1, 3))
        lengths = [sizes.size(b, turned, at) for at in range(4)]
        result = sizes.reshape(b, turned, [*lengths[:2], sizes.product(b, lengths[2:])])
    shown = (raw, capped, biased, weights)[int(node.get("qk_matmul_output_mode", 0))]
    return [result, *present, shown]


def _longer(past: Value, one: Value) -> tuple[int | None, ...] | None:
    if past.shape is None or one.shape is None:
        return None
    both = past.shape[2], one.shape[2]
    total = None if both[0] is None or both[1] is None else both[0] + both[1]
    return (*one.shape[:2], total, *one.shape[3:])


def _heads(node: OnnxNode, b: Builder, at: int, name: str) -> Value:
    """An input as (batch, heads, length, head size)."""
    x = node.input(at)
    if node.rank(at) == 4:
        return x
    heads = int(node.get(f"{name}_num_heads", 0))
    if not heads or x.shape is None:
        raise Refused(f"{name}_num_heads is missing", attribute=f"{name}_num_heads")
    width = x.shape[2]
    apart = [sizes.size(b, x, 0), sizes.size(b, x, 1), heads, -1 if width is None else width // heads]
    return b.transpose(sizes.reshape(b, x, apart), (0, 2, 1, 3))


def _repeated(b: Builder, query: Value, x: Value) -> Value:
    """Keys or values with each head as often as queries share it."""
    assert query.shape is not None and x.shape is not None
    wanted, have = query.shape[1], x.shape[1]
    if wanted == have:
        return x
    if wanted is None or have is None or wanted % have:
        raise Refused(f"{wanted} heads of queries do not share {have} of keys")
    index = b.constant(np.repeat(np.arange(have, dtype=np.int64), wanted // have))
    return b.op("Gather", x, index, 1, 0, shape=(x.shape[0], wanted, *x.shape[2:]))


def _products(node: OnnxNode, b: Builder, query: Value, key: Value) -> Value:
    assert query.shape is not None
    width, scale = query.shape[3], node.get("scale")
    if scale is None and width is None:
        raise Refused("the head size, which the scale follows from, is only known when the model runs")
    factor = float(np.sqrt(scale if scale is not None else 1 / np.sqrt(width or 1)))
    half = b.scalar(factor, query.dtype)
    return matmul(b, arithmetic(b, "Mul", query, half), b.transpose(arithmetic(b, "Mul", key, half), (0, 1, 3, 2)))


def _capped(node: OnnxNode, b: Builder, x: Value) -> Value:
    cap = float(node.get("softcap", 0.0))
    if not cap:
        return x
    inner = arithmetic(b, "Div", x, b.scalar(cap, x.dtype))
    return arithmetic(b, "Mul", b.op("Tanh", inner, shape=x.shape), b.scalar(cap, x.dtype))


def _softmax(node: OnnxNode, b: Builder, scores: Value, bias: Value | None) -> Value:
    """The weights; those of a query that may see no key are zeros.

    MindSpore's Softmax on the CPU ends at a row of minus infinities and leaves all rows behind it undone, so it never
    gets one.
    """
    precision = node.get("softmax_precision")
    wide = scores if not precision else b.cast(scores, dtype_name(int(precision)))
    if bias is None:
        return b.op("Softmax", wide, (-1,), shape=scores.shape)
    shape = None if bias.shape is None else (*bias.shape[:-1], 1)
    best = b.op("ReduceMax", bias, (-1,), True, shape=shape)
    blind = b.op("Equal", best, b.scalar(-np.inf, best.dtype), dtype="bool", shape=shape)
    zero = b.scalar(0, wide.dtype)
    seen = b.op("Select", blind, zero, wide, dtype=wide.dtype, shape=scores.shape)
    weights = b.op("Softmax", seen, (-1,), shape=scores.shape)
    return b.op("Select", blind, zero, weights, dtype=wide.dtype, shape=scores.shape)


# -- what is added to the scores


def _bias(node: OnnxNode, b: Builder, query: Value, scores: Value) -> Value | None:
    about = Scores(scores, _offset(node, b, query))
    parts = [*_mask(node, b, scores)]
    left, right = (int(node.get(f"{side}_window_size", -1)) for side in ("left", "right"))
    bounds = [("GreaterEqual", -left)] if left >= 0 else []
    bounds += [("LessEqual", right)] if right >= 0 else []
    bounds += [("LessEqual", 0)] if node.get("is_causal", 0) else []
    parts += [_band(b, about, primitive, bound) for primitive, bound in bounds]
    if node.has(6):
        count = b.reshape(b.cast(node.input(6), "int64"), (-1, 1, 1, 1))
        parts.append(_allowed(b, scores, "Less", sizes.positions(b, scores, 3), count))
    result = None
    for part in parts:
        result = part if result is None else arithmetic(b, "Add", result, part)
    return result


def _offset(node: OnnxNode, b: Builder, query: Value) -> Value | None:
    if node.has(4):
        return sizes.as_tensor(b, sizes.size(b, node.input(4), 2))
    if not node.has(6):
        return None
    count = b.reshape(b.cast(node.input(6), "int64"), (-1, 1, 1, 1))
    return arithmetic(b, "Sub", count, sizes.as_tensor(b, sizes.size(b, query, 2)))


def _mask(node: OnnxNode, b: Builder, scores: Value) -> list[Value]:
    """The mask as something to add; keys beyond its end are not seen."""
    mask = node.optional(3)
    if mask is None:
        return []
    if mask.dtype == "bool":
        nothing, never = b.scalar(0, scores.dtype), b.scalar(-np.inf, scores.dtype)
        mask = b.op("Select", mask, nothing, never, dtype=scores.dtype, shape=mask.shape)
    mask = b.cast(mask, scores.dtype)
    if mask.shape is None or scores.shape is None:
        raise Refused("the rank of the mask is only known when the model runs")
    have, wanted = mask.shape[-1], scores.shape[-1]
    if have is not None and wanted is not None:
        return [sizes.pad(b, mask, [(0, max(wanted - have, 0))], -np.inf)]
    more = arithmetic(
        b, "Sub", sizes.as_tensor(b, sizes.size(b, scores, 3)),
        sizes.as_tensor(b, sizes.size(b, mask, len(mask.shape) - 1)),
    )  # fmt: skip
    pads = b.op("Concat", b.tuple([b.constant(np.zeros(1, np.int64)), more]), 0, dtype="int64", shape=(2,))
    return [sizes.pad_by(b, mask, pads, -np.inf, (*mask.shape[:-1], wanted))]


def _band(b: Builder, about: Scores, primitive: str, bound: int) -> Value:
    """Keys whose distance from the place of the query keeps a bound."""
    place = sizes.positions(b, about.like, 2)
    if about.offset is not None:
        place = arithmetic(b, "Add", place, about.offset)
    limit = arithmetic(b, "Add", place, b.constant(np.array([bound], np.int64)))
    return _allowed(b, about.like, primitive, sizes.positions(b, about.like, 3), limit)


def _allowed(b: Builder, scores: Value, primitive: str, first: Value, second: Value) -> Value:
    """0 where a comparison holds, minus infinity elsewhere."""
    shape = broadcast(first.shape, second.shape)
    holds = b.op(primitive, first, second, dtype="bool", shape=shape)
    nothing, never = b.scalar(0, scores.dtype), b.scalar(-np.inf, scores.dtype)
    return b.op("Select", holds, nothing, never, dtype=scores.dtype, shape=shape)


# -- rotation


def _rotary_embedding(node: OnnxNode, b: Builder) -> Value:
    """Pairs of features turned by the angle of their position."""
    given, flat = node.input(0), node.rank() == 3
    x = given
    if flat:
        heads, width = int(node.get("num_heads", 0)), given.shape[2] if given.shape is not None else None
        if not heads or width is None:
            raise Refused("num_heads or the hidden size is missing", attribute="num_heads")
        x = sizes.reshape(b, given, [sizes.size(b, given, 0), sizes.size(b, given, 1), heads, width // heads])
    else:
        x = b.transpose(given, (0, 2, 1, 3))
    assert x.shape is not None
    whole = x.shape[3]
    turned = int(node.get("rotary_embedding_dim", 0)) or whole
    if whole is None or turned is None:
        raise Refused("the head size is only known when the model runs")
    cosine, sine = (_angles(node, b, at) for at in (1, 2))
    rest = [sizes.cut(b, x, 3, turned, 0)] if turned < whole else []
    x = sizes.cut(b, x, 3, 0, whole - turned)
    interleaved = bool(node.get("interleaved", 0))
    if interleaved:
        first, second = sizes.cut(b, x, 3, 0, 1, 2), sizes.cut(b, x, 3, 1, 0, 2)
    else:
        first, second = sizes.cut(b, x, 3, 0, turned // 2), sizes.cut(b, x, 3, turned // 2, 0)
    real = arithmetic(b, "Sub", arithmetic(b, "Mul", cosine, first), arithmetic(b, "Mul", sine, second))
    imaginary = arithmetic(b, "Add", arithmetic(b, "Mul", sine, first), arithmetic(b, "Mul", cosine, second))
    if interleaved:
        pairs = [sizes.expand(b, one, 4) for one in (real, imaginary)]
        both = b.op("Concat", b.tuple(pairs), 4, dtype=x.dtype, shape=(*(real.shape or ()), 2))
        parts = [sizes.reshape(b, both, [*(sizes.size(b, x, at) for at in range(3)), turned])]
    else:
        parts = [real, imaginary]
    parts += rest
    result = parts[0]
    if len(parts) > 1:
        result = b.op("Concat", b.tuple(parts), 3, dtype=x.dtype, shape=(*(x.shape or ())[:3], whole))
    if flat:
        return sizes.reshape(b, result, [sizes.size(b, given, at) for at in range(3)])
    return b.transpose(result, (0, 2, 1, 3))


def _angles(node: OnnxNode, b: Builder, at: int) -> Value:
    """A cache as (batch, length, 1, half of the turned features)."""
    cache = node.input(at)
    if node.has(3):
        places = node.input(3)
        shape = None if places.shape is None or cache.shape is None else (*places.shape, cache.shape[-1])
        cache = b.op("Gather", cache, places, 0, 0, shape=shape)
    return sizes.expand(b, cache, 2)


TO_MINDIR: Mapping[str, Lower] = {"Attention": _attention, "RotaryEmbedding": _rotary_embedding}
