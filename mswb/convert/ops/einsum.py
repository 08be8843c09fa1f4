"""Einsum: diagonals, sums over labels that nobody else needs, and products of two operands at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from mswb.convert.graph import Builder, Value, broadcast
from mswb.convert.onnx.node import Lower, OnnxNode, Refused
from mswb.convert.ops import sizes
from mswb.convert.ops.linear import matmul

Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """An operand: a tensor and the label of each of its axes. A number counts an axis of an ellipsis from its end."""

    value: Value
    labels: Labels


def parse(equation: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """The labels of the operands and of the result.

    Raises:
        Refused: the equation is not one for operands of these ranks.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(ranks):
        raise Refused(f"the equation has {len(parts)} operands and the node {len(ranks)}", attribute="equation")
    named = [_labels(part, rank - len(part.replace("...", ""))) for part, rank in zip(parts, ranks, strict=True)]
    if any(len(labels) != rank for labels, rank in zip(named, ranks, strict=True)):
        raise Refused("the equation does not fit to the ranks of the operands", attribute="equation")
    dots = max((sum(one.isdigit() for one in labels) for labels in named), default=0)
    if arrow:
        return named, _labels(right, dots)
    every = [one for labels in named for one in labels if not one.isdigit()]
    return named, (*_ellipsis(dots), *sorted(one for one in set(every) if every.count(one) == 1))


def _labels(text: str, dots: int) -> Labels:
    before, found, after = text.partition("...")
    return (*before, *(_ellipsis(dots) if found else ()), *after)


def _ellipsis(count: int) -> Labels:
    return tuple(str(at) for at in reversed(range(count)))


def _einsum(node: OnnxNode, b: Builder) -> Value:
    given = [node.input(at) for at in range(len(node.inputs))]
    named, wanted = parse(str(node.get("equation", "")), [node.rank(at) for at in range(len(given))])
    terms = [_diagonal(b, Term(value, labels)) for value, labels in zip(given, named, strict=True)]
    result = terms[0]
    for at in range(1, len(terms)):
        needed = {*wanted, *(label for term in terms[at + 1 :] for label in term.labels)}
        result = _joined(b, result, terms[at], needed)
    result = _summed(b, result, set(wanted))
    return _ordered(b, result, wanted)


def _diagonal(b: Builder, term: Term) -> Term:
    """The operand with each label once: what is off the diagonal becomes zero and its axis is summed."""
    value, labels = term.value, term.labels
    for at in reversed(range(len(labels))):
        first = labels.index(labels[at])
        if first == at:
            continue
        rows, columns = sizes.positions(b, value, first), sizes.positions(b, value, at)
        same = b.op("Equal", rows, columns, dtype="bool", shape=broadcast(rows.shape, columns.shape))
        value = b.op("Select", same, value, b.scalar(0, value.dtype), dtype=value.dtype, shape=value.shape)
        value = _sum(b, value, [at])
        labels = labels[:at] + labels[at + 1 :]
    return Term(value, labels)


def _sum(b: Builder, value: Value, axes: Sequence[int]) -> Value:
    if not axes:
        return value
    left = None if value.shape is None else tuple(one for at, one in enumerate(value.shape) if at not in axes)
    return b.op("ReduceSum", value, tuple(axes), False, False, shape=left)


def _summed(b: Builder, term: Term, needed: Collection[str]) -> Term:
    axes = [at for at, label in enumerate(term.labels) if label not in needed]
    return Term(_sum(b, term.value, axes), tuple(label for label in term.labels if label in needed))


def _ordered(b: Builder, term: Term, wanted: Labels) -> Value:
    if sorted(term.labels) != sorted(wanted):
        raise Refused("a label of the result is in no operand", attribute="equation")
    if term.labels == wanted:
        return term.value
    return b.transpose(term.value, [term.labels.index(label) for label in wanted])


def _joined(b: Builder, first: Term, second: Term, needed: Collection[str]) -> Term:
    """The product of two operands, summed over the labels that are not needed any more."""
    first = _summed(b, first, {*needed, *second.labels})
    second = _summed(b, second, {*needed, *first.labels})
    summed = [one for one in first.labels if one in second.labels and one not in needed]
    if not summed or not all(_same_size(first, second, one) for one in first.labels if one in second.labels):
        return _summed(b, _multiplied(b, first, second), needed)
    batch = [one for one in first.labels if one in second.labels and one in needed]
    rows = [one for one in first.labels if one not in second.labels]
    columns = [one for one in second.labels if one not in first.labels]
    lengths = {one: sizes.size(b, term.value, at) for term in (second, first) for at, one in enumerate(term.labels)}

    def grouped(term: Term, *groups: Sequence[str]) -> Value:
        value = _ordered(b, term, (*batch, *(one for group in groups for one in group)))
        merged = [sizes.product(b, [lengths[one] for one in group]) for group in groups]
        return sizes.reshape(b, value, [*(lengths[one] for one in batch), *merged])

    product = matmul(b, grouped(first, rows, summed), grouped(second, summed, columns))
    labels = (*batch, *rows, *columns)
    return Term(sizes.reshape(b, product, [lengths[one] for one in labels]), labels)


def _same_size(first: Term, second: Term, label: str) -> bool:
    """Whether an axis surely needs no broadcasting: an axis of an ellipsis may, if one of its sizes is 1."""
    assert first.value.shape is not None and second.value.shape is not None
    one, other = first.value.shape[first.labels.index(label)], second.value.shape[second.labels.index(label)]
    return one == other and one is not None if label.isdigit() else one == other or None in (one, other)


def _multiplied(b: Builder, first: Term, second: Term) -> Term:
    labels = (*first.labels, *(one for one in second.labels if one not in first.labels))
    one, other = _aligned(b, first, labels), _aligned(b, second, labels)
    return Term(b.op("Mul", one, other, shape=broadcast(one.shape, other.shape)), labels)


def _aligned(b: Builder, term: Term, labels: Labels) -> Value:
    """The operand with an axis for each label, of size 1 for those that it does not have."""
    value = _ordered(b, term, tuple(one for one in labels if one in term.labels))
    for at, one in enumerate(labels):
        if one not in term.labels:
            value = sizes.expand(b, value, at)
    return value


TO_MINDIR: Mapping[str, Lower] = {"Einsum": _einsum}
