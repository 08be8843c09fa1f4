"""Attention of Ascend: our ONNX and our evaluation against the formula of the documentation."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mswb.convert import to_onnx
from mswb.convert.evaluator import evaluate
from mswb.convert.mindir.reader import read_file
from tests.unit.convert.primitive_models import Make, agree, run_onnx, same, written

RNG = np.random.default_rng(13)
HEADS, ROWS, COLUMNS, WIDTH = 4, 3, 5, 8


def draw(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


QUERY, KEY, VALUE = draw(2, HEADS, ROWS, WIDTH), draw(2, HEADS, COLUMNS, WIDTH), draw(2, HEADS, COLUMNS, WIDTH)


def attention(query: Any, key: Any, value: Any, hidden: Any = False, shift: Any = 0.0) -> Any:
    scores = 0.3 * (np.einsum("bnid,bnjd->bnij", query, key) + shift)
    weights = np.where(hidden, 0, np.exp(scores))
    return np.einsum("bnij,bnjd->bnid", weights / weights.sum(-1, keepdims=True), value).astype(np.float32)


def score(layout: int, mask: Any = None, shift: Any = None, mode: int = 0, before: int = 2147483647,
          after: int = 2147483647, keep: float = 1.0) -> Make:  # fmt: skip
    def make(b: Any, *given: Any) -> Any:
        more = (shift, None, None, mask, None, None, None, HEADS, keep, 0.3, before, after, 0, layout, mode)
        return b.ops("FlashAttentionScore", *given, *more, results=[("float32", None)] * 4)[3]

    return make


def arranged(x: Any, layout: int) -> Any:
    if layout == 1:
        return x
    x = x.transpose((2, 0, 1, 3) if layout == 2 else (0, 2, 1, 3))
    return x if layout == 3 else x.reshape(*x.shape[:2], -1)


@pytest.mark.parametrize("layout", [0, 1, 2, 3])
def test_layouts(layout: int) -> None:
    inputs = [arranged(one, layout) for one in (QUERY, KEY, VALUE)]
    expected = arranged(attention(QUERY, KEY, VALUE), layout)
    known(score(layout), inputs, expected)
    if layout in (0, 2):  # the sizes of the others are not enough to tell the heads
        agree(score(layout), inputs, [expected], 1e-4)


def known(make: Make, inputs: list[Any], expected: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = written(make, inputs, Path(folder))
        same(run_onnx(path, inputs), [expected], 1e-4, "onnx")
        same(evaluate(path, read_file(path), inputs), [expected], 1e-4, "evaluation")


def test_masks() -> None:
    mask = RNG.random((2, 1, ROWS, COLUMNS)) < 0.4
    mask[..., 0] = False
    inputs, (i, j) = [QUERY, KEY, VALUE], np.indices((ROWS, COLUMNS))
    known(score(1, mask.astype(np.uint8)), inputs, attention(QUERY, KEY, VALUE, mask))
    known(score(1, mask[0, 0], mode=1, after=0), inputs, attention(QUERY, KEY, VALUE, mask[0, 0]))
    triangle = np.triu(np.ones((20, 20), bool), 1)
    known(score(1, triangle, mode=2), inputs, attention(QUERY, KEY, VALUE, j > i))
    known(score(1, triangle, mode=3), inputs, attention(QUERY, KEY, VALUE, j > i + COLUMNS - ROWS))
    none = np.zeros((ROWS, COLUMNS), bool)
    known(score(1, none, before=1, after=2), inputs, attention(QUERY, KEY, VALUE, (j - i > 2) | (i - j > 1)))
    known(score(1, before=1, after=0), inputs, attention(QUERY, KEY, VALUE))


def test_a_shift_is_scaled_with_the_scores() -> None:
    shift = draw(1, HEADS, ROWS, COLUMNS)
    known(score(1, None, shift), [QUERY, KEY, VALUE], attention(QUERY, KEY, VALUE, shift=shift))


@pytest.mark.parametrize("layout", [0, 1])
def test_heads_that_share_keys(layout: int) -> None:
    def make(b: Any, *given: Any) -> Any:
        more = (None,) * 9
        return b.op("PromptFlashAttention", *given, *more, HEADS, 0.3, 2147483647, 0, layout, 2, 0, 1)

    key, value = KEY[:, :2], VALUE[:, :2]
    expected = attention(QUERY, np.repeat(key, 2, 1), np.repeat(value, 2, 1))
    known(make, [arranged(one, layout) for one in (QUERY, key, value)], arranged(expected, layout))
    known(score(layout), [arranged(one, layout) for one in (QUERY, key, value)], arranged(expected, layout))


@pytest.mark.parametrize(
    "make", [score(1, keep=0.9), score(1, mode=4), score(7), score(1, None, draw(1, HEADS, ROWS, COLUMNS), 2)]
)
def test_other_forms_are_refused(make: Make, tmp_path: Path) -> None:
    assert to_onnx.convert(written(make, [QUERY, KEY, VALUE], tmp_path)).proto is None
