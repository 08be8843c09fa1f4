"""How far windows reach, and what einsum's equations say: plain arithmetic, without MindSpore."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.convert.onnx.node import OnnxNode, Refused
from mswb.convert.ops import einsum, windows

SMALL = st.integers(1, 4)


def node(**attributes: object) -> OnnxNode:
    return OnnxNode("MaxPool", "", "pool", 18, (), ("y",), dict(attributes), (("float32", None),))


@given(length=st.integers(1, 20), kernel=SMALL, stride=SMALL, dilation=SMALL, begin=st.integers(0, 3), data=st.data())
def test_ceil_mode_is_a_floor_with_other_pads(
    length: int, kernel: int, stride: int, dilation: int, begin: int, data: st.DataObject
) -> None:
    width = dilation * (kernel - 1) + 1
    end = data.draw(st.integers(0, max(kernel - 1, 0)))
    if length + begin + end < width:
        return
    asked = windows.read(
        node(strides=[stride], dilations=[dilation], pads=[begin, end], ceil_mode=1), [kernel]
    )  # fmt: skip
    wanted = -(-(length + begin + end - width) // stride) + 1
    if (wanted - 1) * stride >= length + begin:
        wanted -= 1
    ((left, right),) = asked.reach
    assert left == begin
    assert (length + left + right - width) // stride + 1 == wanted


@given(length=st.integers(1, 20), kernel=SMALL, stride=SMALL, dilation=SMALL, upper=st.booleans())
def test_same_covers_every_element(length: int, kernel: int, stride: int, dilation: int, upper: bool) -> None:
    auto = "SAME_UPPER" if upper else "SAME_LOWER"
    asked = windows.read(node(strides=[stride], dilations=[dilation], auto_pad=auto), [kernel])
    pairs = windows.fixed(asked, [length])
    assert pairs is not None
    ((begin, end),) = pairs
    width = dilation * (kernel - 1) + 1
    assert (length + begin + end - width) // stride + 1 == -(-length // stride)
    assert abs(begin - end) <= 1 and (begin <= end) == (upper or begin == end)
    unknown = windows.fixed(asked, [None])
    assert unknown == (pairs if stride == 1 else None)


@pytest.mark.parametrize("pads", [[-1, 0], [0, 0, 0]])
def test_pads_that_do_not_fit_are_refused(pads: list[int]) -> None:
    with pytest.raises(Refused):
        windows.read(node(pads=pads), [2])


@pytest.mark.parametrize(
    "equation, ranks, operands, result",
    [
        ("ab,bc->ac", [2, 2], ["ab", "bc"], "ac"),
        (" b a , c b ", [2, 2], ["ba", "cb"], "ac"),
        ("...ij,jk->...ik", [4, 2], ["10ij", "jk"], "10ik"),
        ("i...->...", [3], ["i10"], "10"),
        ("a...b,...", [3, 2], ["a0b", "10"], "10ab"),
        ("ii", [2], ["ii"], ""),
    ],
)
def test_equations(equation: str, ranks: list[int], operands: list[str], result: str) -> None:
    named, wanted = einsum.parse(equation, ranks)
    assert ["".join(one) for one in named] == operands
    assert "".join(wanted) == result
    if "..." not in equation:
        arrays = [np.ones([2] * rank) for rank in ranks]
        assert np.einsum(equation.replace(" ", ""), *arrays).ndim == len(wanted)


@pytest.mark.parametrize("equation, ranks", [("ab,bc->ac", [2]), ("ab->a", [3])])
def test_equations_that_do_not_fit_are_refused(equation: str, ranks: list[int]) -> None:
    with pytest.raises(Refused):
        einsum.parse(equation, ranks)
