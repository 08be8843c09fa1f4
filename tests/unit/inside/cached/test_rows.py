"""Samples as arrays, and as a store holds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from mswb.inside.cached.handover import pack, unpack
from mswb.inside.cached.rows import Layout, layout_of, row_of, size_of
from mswb.inside.store import StoreReader, StoreWriter

plain = arrays.arrays(
    st.sampled_from(["<f4", "<i8", "|u1", "|b1", "<f2", ">i4"]), arrays.array_shapes(min_dims=0, max_dims=3, min_side=0)
)
texts = arrays.arrays(
    st.sampled_from(["|S1", "|S5", "<U1", "<U4"]), arrays.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3)
)


def same(one: Any, other: Any) -> bool:
    alike = (one == other) | ((one != one) & (other != other))  # NaN is what differs from itself
    return one.dtype.kind == other.dtype.kind and one.shape == other.shape and bool(np.all(alike))


@given(st.lists(plain | texts, min_size=1, max_size=3))
def test_a_row_comes_back_as_it_was(row: list[Any]) -> None:
    layout = layout_of([f"c{index}" for index in range(len(row))], [tuple(row)])
    assert layout.fits(tuple(row)) and not layout.changed(tuple(row))
    back = Layout(layout.columns, layout.texts).from_store(layout.to_store(tuple(row)))
    assert all(map(same, row, back))
    number, handed = unpack(pack(7, tuple(row)))
    assert number == 7 and all(
        one.dtype == other.dtype and same(one, other) for one, other in zip(row, handed, strict=True)
    )
    assert size_of(tuple(row)) == sum(array.nbytes for array in row)


def test_texts_of_any_length_go_through_a_store(tmp_path: Path) -> None:
    rows = [
        (np.array([b"r\0" * n, b""]), np.array(["wort" * n]), np.array(b"x\0" * n), np.array("ü" * n)) for n in range(4)
    ]
    layout = layout_of(["a", "b", "c", "d"], rows)
    assert [column.dtype for column in layout.columns] == ["|u1", "<u4", "bytes", "str"]
    with StoreWriter(str(tmp_path), layout.columns, "ab" * 32) as writer:
        for number, row in enumerate(rows):
            writer.append(number, layout.to_store(row))
    with StoreReader(str(tmp_path)) as reader:
        for number, row in enumerate(rows):
            assert all(map(same, row, layout.from_store(reader.get(number))))


@pytest.mark.parametrize(
    ("sample", "columns", "reason"),
    [
        ((1, 2), 1, "2 columns, and 1 have names"),
        ([{"a": 1}], 1, "dtype object can't be cached"),
        ((None,), 1, "dtype object can't be cached"),
        ((np.zeros(2, [("x", "<i4")]),), 1, "can't be cached"),
    ],
)
def test_what_is_no_row_is_refused(sample: Any, columns: int, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        row_of(sample, columns)


def test_plain_values_and_tensors_become_arrays() -> None:
    class Tensor:
        def asnumpy(self) -> Any:
            return np.ones(2, np.float16)

    row = row_of((1, 2.0, True, "text", b"raw", Tensor()), 6)
    assert [array.dtype.kind for array in row] == ["i", "f", "b", "U", "S", "f"]


def test_what_does_not_fit_is_told() -> None:
    layout = layout_of(["image", "name"], [(np.zeros((2, 2), np.float32), np.array("a"))])
    assert layout.changed((np.zeros(3), np.array(b"a"))) == (
        "'image' is <f4 in the cache and float64[3] now; 'name' is str in the cache and |S1[] now"
    )
    assert not layout.fits((np.zeros((2, 3), np.float32), np.array("a")))
    assert not layout.changed((np.zeros((2, 3), np.float32), np.array("longer")))
    assert not layout.fits((np.zeros((2, 2), np.float32), np.array(["a"])))
    varied = layout_of(["image", "name"], [(np.zeros((2, 2), np.float32), np.array("a"))], varied=True)
    assert varied.fits((np.zeros((2, 3), np.float32), np.array(["a", "b"])))
