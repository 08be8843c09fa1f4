"""TfIdfVectorizer: each n-gram of the pool compared with every place of the sequence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from mswb.convert.arith import Num, arange, num, size
from mswb.convert.graph import Array, Builder, Value
from mswb.convert.onnx.node import Lower, OnnxNode, Refused


def _pool(node: OnnxNode) -> Iterator[tuple[Array, Array]]:
    """The n-grams of each wanted length [G, n], and the column of the result that each counts in [G]."""
    pool = np.array(node.get("pool_int64s", []), np.int64)
    starts, columns = [*node.get("ngram_counts", []), len(pool)], np.array(node.get("ngram_indexes", []), np.int64)
    done = 0
    for length in range(1, len(starts)):
        grams = pool[starts[length - 1] : starts[length]].reshape(-1, length)
        if node.get("min_gram_length") <= length <= node.get("max_gram_length") and len(grams):
            yield grams, columns[done : done + len(grams)]
        done += len(grams)


def _matches(tokens: Num, grams: Array, skip: int) -> Num:
    """How often each n-gram stands in each row, its items ``skip`` places apart: [B, G] float32."""
    length = size(tokens.b, tokens.value, 1)
    found: Num | None = None
    for item in range(grams.shape[1]):
        at = arange(length) + item * skip
        here = tokens.take(at.least(length - 1), 1).expand(-1).equal(num(tokens.b, grams[:, item]))
        here = here & (at < length).reshape(-1, 1)
        found = here if found is None else found & here
    assert found is not None
    return found.cast("float32").sum(1)


def _vectorize(node: OnnxNode, b: Builder) -> Value:
    given = node.input(0)
    if given.dtype not in ("int32", "int64") or not node.get("pool_int64s"):
        raise Refused("MindSpore has no tensors of strings", nearest="tokens as integers")
    tokens, rank = num(b, given).cast("int64"), node.rank()
    if rank not in (1, 2) or 0 in (given.shape or ()):
        raise Refused(f"a sequence of shape {list(given.shape or ())} has no n-grams")
    tokens = tokens.expand(0) if rank == 1 else tokens
    width = max(node.get("ngram_indexes")) + 1
    total: Num | None = None
    for grams, columns in _pool(node):
        places = num(b, np.eye(width, dtype=np.float32)[columns])
        # what is skipped between items tells nothing of single items
        for skip in range(1, 2 if grams.shape[1] == 1 else node.get("max_skip_count") + 2):
            part = _matches(tokens, grams, skip).matmul(places)
            total = part if total is None else total + part
    if total is None:
        raise Refused("the pool has no n-gram of a wanted length")
    weights = np.array(node.get("weights") or np.ones(width), np.float32)
    if len(weights) < width:
        raise Refused("there are fewer weights than columns", attribute="weights")
    mode = node.get("mode")
    if mode == "IDF":
        total = (total > 0.0).cast("float32")
    if mode in ("IDF", "TFIDF"):
        total = total * num(b, weights[:width])
    elif mode != "TF":
        raise Refused(f"{mode} is not a weighting that ONNX has", attribute="mode")
    return (total.reshape(width) if rank == 1 else total).value


TO_MINDIR: Mapping[str, Lower] = {"TfIdfVectorizer": _vectorize}
