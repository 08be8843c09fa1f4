"""Tuples and lists of a MindIR file, and places as coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mswb.convert.onnx.node import Refused
from mswb.convert.primitives import table
from mswb.convert.program import Call
from tests.unit.convert.primitive_models import agree


@pytest.mark.parametrize(
    ("op", "inputs", "wanted"),
    [
        ("SequenceLen", ((1, 2, 3),), 3),
        ("tuple_setitem", ((1, 2, 3), -1, 9), (1, 2, 9)),
        ("list_getitem", ((1, 2, 3), 1), 2),
        ("tuple_reversed", ((1, 2),), (2, 1)),
        ("ListAppend", ((1,), 2), (1, 2)),
        ("SequenceAdd", ((1,), (2, 3)), (1, 2, 3)),
        ("SequenceMul", ((1, 2), 2), (1, 2, 1, 2)),
        ("SequenceSlice", ((1, 2, 3, 4), 1, 2147483647, 2), (2, 4)),
    ],
)
def test_a_tuple_is_what_it_is_in_python(op: str, inputs: tuple[Any, ...], wanted: Any) -> None:
    assert table("EVALUATE")[op](Call(op, op, inputs, {})) == wanted


@pytest.mark.parametrize(
    ("op", "inputs"),
    [
        ("SequenceMul", ((1, 2), 10**12)),
        ("tuple_setitem", ((1,), 3, 0)),
        ("list_getitem", ((), 0)),
        ("SequenceLen", (3,)),
    ],
)
def test_what_is_no_tuple_or_has_no_such_item_is_refused(op: str, inputs: tuple[Any, ...]) -> None:
    with pytest.raises(Refused):
        table("EVALUATE")[op](Call(op, op, inputs, {}))


def test_places_as_coordinates() -> None:
    places, sizes = np.array([3, 7, 19]), np.array([4, 5])
    agree(lambda b, x: b.op("UnravelIndex", x, sizes), [places], [np.stack(np.unravel_index(places, (4, 5)))])


def test_values_at_points_of_a_tensor_of_zeros() -> None:
    points, values = np.array([[0, 1], [2, 3]]), np.array([5, 6], np.float32)
    wanted = np.zeros((3, 4), np.float32)
    wanted[0, 1], wanted[2, 3] = 5, 6
    agree(lambda b, i, v: b.op("SparseToDense", i, v, (3, 4)), [points, values], [wanted])
