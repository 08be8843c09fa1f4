"""Transformers: batch and length are open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.models.net import IDS, Model, Net

TOKENS = ("ids", "id", ("n", "t"))
RUNS = ({"n": 1, "t": 5}, {"n": 3, "t": 17}, {"n": 4, "t": 1})
WIDE, HEADS, LONGEST = 16, 4, 32


def attended(net: Net, x: str, wide: int, heads: int, masked: str = "") -> str:
    """Attention of x to itself, as it is exported: heads by Reshape to sizes that Shape and Gather give.

    Args:
        masked: what is added to the scores.
    """
    count, length = net.size(x, 0), net.size(x, 1)
    query, key, value = (
        net.op(
            "Transpose", net.op("Reshape", net.linear(x, wide, wide), net.sizes(count, length, heads, -1)), perm=perm
        )
        for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
    )
    scores = net.op("Div", net.op("MatMul", query, key), net.number((wide // heads) ** 0.5))
    shares = net.op("Softmax", net.op("Add", scores, masked) if masked else scores, axis=-1)
    joined = net.op("Transpose", net.op("MatMul", shares, value), perm=[0, 2, 1, 3])
    return net.linear(net.op("Reshape", joined, net.sizes(count, length, wide)), wide, wide)


def _normed(net: Net, x: str) -> str:
    """A layer normalization before opset 17 had the operator."""
    centered = net.op("Sub", x, net.mean(x, -1))
    spread = net.mean(net.op("Pow", centered, net.number(2.0)), -1)
    scaled = net.op("Div", centered, net.op("Sqrt", net.op("Add", spread, net.number(1e-5))))
    return net.op("Add", net.op("Mul", scaled, net.weight(WIDE, near=1)), net.weight(WIDE))


def _embedded(net: Net, ids: str) -> str:
    """Rows for the words and for their places."""
    places = net.range(net.size(ids, 1))
    words = net.op("Gather", net.weight(IDS, WIDE), ids, axis=0)
    return net.op("Add", words, net.op("Gather", net.weight(LONGEST, WIDE), places, axis=0))


def _erf(net: Net, x: str) -> str:
    inner = net.op("Add", net.op("Erf", net.op("Div", x, net.number(2**0.5))), net.number(1.0))
    return net.op("Mul", net.op("Mul", x, inner), net.number(0.5))


def _tanh(net: Net, x: str) -> str:
    cubic = net.op("Mul", net.op("Pow", x, net.number(3.0)), net.number(0.044715))
    inner = net.op("Tanh", net.op("Mul", net.op("Add", x, cubic), net.number(0.7978846)))
    return net.op("Mul", net.op("Mul", x, net.number(0.5)), net.op("Add", inner, net.number(1.0)))


def _encoder(net: Net, ids: str, mask: str) -> Sequence[str]:
    """The mask is spread over all scores and becomes the lowest number where it is 0."""
    count, length = net.size(ids, 0), net.size(ids, 1)
    seen = net.op("Expand", net.unsqueeze(mask, 1, 2), net.sizes(count, 1, length, length))
    hidden = net.op("Cast", net.op("Sub", net.number(1.0), net.op("Cast", seen, to=1)), to=9)
    masked = net.op("Where", hidden, net.number(-3.4028234663852886e38), net.op("Cast", seen, to=1))
    x = _normed(net, _embedded(net, ids))
    for _ in range(2):
        x = _normed(net, net.op("Add", x, attended(net, x, WIDE, HEADS, masked)))
        inner = net.linear(_erf(net, net.linear(x, WIDE, 32)), 32, WIDE)
        x = _normed(net, net.op("Add", x, inner))
    pooled = net.op("Tanh", net.linear(net.op("Gather", x, net.constant(0), axis=1), WIDE, WIDE))
    return [x, pooled]


def _causal(net: Net, length: str) -> str:
    """Minus infinity where a place would see a later one."""
    places = net.range(length)
    later = net.op("Greater", net.unsqueeze(places, 0), net.unsqueeze(places, 1))
    return net.op("Where", later, net.number(float("-inf")), net.number(0.0))


def _decoder(net: Net, ids: str) -> Sequence[str]:
    x, masked = _embedded(net, ids), _causal(net, net.size(ids, 1))
    for _ in range(2):
        normed = net.op("LayerNormalization", x, net.weight(WIDE, near=1), net.weight(WIDE), axis=-1)
        x = net.op("Add", x, attended(net, normed, WIDE, HEADS, masked))
        normed = net.op("LayerNormalization", x, net.weight(WIDE, near=1), net.weight(WIDE), axis=-1)
        x = net.op("Add", x, net.linear(_tanh(net, net.linear(normed, WIDE, 32)), 32, WIDE))
    logits = net.op("MatMul", x, net.op("Transpose", net.weight(IDS, WIDE), perm=[1, 0]))
    return [logits, net.op("ArgMax", net.slice(logits, -1, 2**63 - 1, 1), axis=2, keepdims=0)]


def _turned(net: Net, x: str, length: str) -> str:
    """Rotary embedding: the halves of each head turned by an angle that grows with the place."""
    places = net.unsqueeze(net.op("Cast", net.range(length), to=1), 1)
    angles = net.op("Mul", places, net.constant([[1.0, 0.1]], "float32"))
    both = net.op("Concat", angles, angles, axis=1)
    front, back = net.slice(x, 0, 2, 3), net.slice(x, 2, 2**63 - 1, 3)
    crossed = net.op("Concat", net.op("Neg", back), front, axis=3)
    parts = net.op("Mul", x, net.op("Cos", both)), net.op("Mul", crossed, net.op("Sin", both))
    return net.op("Add", *parts)


def _grouped(net: Net, ids: str) -> Sequence[str]:
    """Two queries share a key, whose heads are repeated by Expand; norm by mean squares, gated products."""
    count, length = net.size(ids, 0), net.size(ids, 1)
    x = net.op("Gather", net.weight(IDS, WIDE), ids, axis=0)
    squares = net.mean(net.op("Pow", x, net.number(2.0)), -1)
    root = net.op("Reciprocal", net.op("Sqrt", net.op("Add", squares, net.number(1e-6))))
    normed = net.op("Mul", net.op("Mul", x, root), net.weight(WIDE, near=1))

    def heads(many: int) -> str:
        apart = net.op("Reshape", net.linear(normed, WIDE, many * 4), net.sizes(count, length, many, 4))
        return net.op("Transpose", apart, perm=[0, 2, 1, 3])

    def repeated(value: str) -> str:
        wide = net.op("Expand", net.unsqueeze(value, 2), net.sizes(count, 2, 2, length, 4))
        return net.op("Reshape", wide, net.sizes(count, 4, length, 4))

    query, key = _turned(net, heads(4), length), repeated(_turned(net, heads(2), length))
    scores = net.op("MatMul", query, net.op("Transpose", key, perm=[0, 1, 3, 2]))
    shares = net.op("Softmax", net.op("Add", scores, _causal(net, length)), axis=-1)
    joined = net.op("Transpose", net.op("MatMul", shares, repeated(heads(2))), perm=[0, 2, 1, 3])
    x = net.op("Add", x, net.linear(net.op("Reshape", joined, net.sizes(count, length, -1)), WIDE, WIDE))
    gate = net.linear(x, WIDE, 32)
    inner = net.op("Mul", net.op("Mul", gate, net.op("Sigmoid", gate)), net.linear(x, WIDE, 32))
    return [net.op("Add", x, net.linear(inner, 32, WIDE))]


def _relative(net: Net, ids: str) -> Sequence[str]:
    """Distances fall into buckets that grow as a logarithm (Raffel et al., 2020): a bucket more is another result."""
    places = net.range(net.size(ids, 1))
    apart = net.op("Abs", net.op("Sub", net.unsqueeze(places, 0), net.unsqueeze(places, 1)))
    grown = net.op(
        "Div", net.op("Log", net.op("Div", net.op("Cast", apart, to=1), net.number(8.0))), net.number(2.7725887)
    )
    far = net.op("Add", net.op("Cast", net.op("Mul", grown, net.number(8.0)), to=7), net.constant(8))
    near = net.op("Less", apart, net.constant(8))
    bucket = net.op("Where", near, apart, net.op("Min", far, net.constant(15)))
    biased = net.unsqueeze(net.op("Transpose", net.op("Gather", net.weight(16, HEADS), bucket), perm=[2, 0, 1]), 0)
    x = net.op("Gather", net.weight(IDS, WIDE), ids, axis=0)
    return [net.op("Add", x, attended(net, x, WIDE, HEADS, biased))]


MODELS: Mapping[str, Model] = {
    "encoder": Model(_encoder, [TOKENS, ("mask", "mask", ("n", "t"))], RUNS, 14),
    "decoder": Model(_decoder, [TOKENS], RUNS, 17),
    "relative places": Model(_relative, [TOKENS], ({"n": 1, "t": 70}, {"n": 3, "t": 17}, {"n": 2, "t": 6}), 13, [3]),
    "grouped decoder": Model(_grouped, [TOKENS], RUNS, 18),
}
