"""Attention, and what is built with it."""

from __future__ import annotations

from typing import Any

import mindspore as ms
from mindspore import nn, ops

from tests.networks.catalogue import f32, i32
from tests.networks.cells import Model, cell


class Attention(nn.Cell):
    """Attention of several heads."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.query, self.key, self.value = nn.Dense(width, width), nn.Dense(width, width), nn.Dense(width, width)
        self.out = nn.Dense(width, width)
        self.heads, self.size = heads, width // heads

    def parted(self, x: Any) -> Any:
        """The heads of a projection."""
        n, length, _ = x.shape
        return x.reshape(n, length, self.heads, self.size).transpose(0, 2, 1, 3)

    def construct(self, x: Any, mask: Any) -> Any:
        n, length, width = x.shape
        query, key, value = self.parted(self.query(x)), self.parted(self.key(x)), self.parted(self.value(x))
        scores = ops.matmul(query, key.transpose(0, 1, 3, 2)) / (self.size**0.5)
        if mask is not None:
            scores = scores + mask
        found = ops.matmul(ops.softmax(scores, -1), value)
        return self.out(found.transpose(0, 2, 1, 3).reshape(n, length, width))


class Encoder(nn.Cell):
    """One layer of a transformer."""

    def __init__(self, width: int, heads: int, first: bool = False) -> None:
        super().__init__()
        self.attention = Attention(width, heads)
        self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.inner = nn.SequentialCell(
            nn.Dense(width, 2 * width), nn.GELU(approximate=False), nn.Dense(2 * width, width)
        )
        self.first = first

    def construct(self, x: Any, mask: Any) -> Any:
        if self.first:
            x = x + self.attention(self.norm1(x), mask)
            return x + self.inner(self.norm2(x))
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.inner(x))


@cell(i32(2, 6, low=0, high=30), i32(2, 6, low=0, high=2))
class BERT(Model):
    """An encoder of words with a mask of padding."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(30, 16), nn.Embedding(8, 16)
        self.norm, self.dropout = nn.LayerNorm((16,)), nn.Dropout(p=0.1)
        self.layer1, self.layer2 = Encoder(16, 4), Encoder(16, 4)
        self.pooler = nn.Dense(16, 16)
        self.set_train(False)

    def construct(self, ids: Any, mask: Any) -> Any:
        x = self.words(ids) + self.places(ops.arange(ids.shape[1]))
        x = self.dropout(self.norm(x))
        bias = (1.0 - mask.astype(ms.float32)).expand_dims(1).expand_dims(2) * -10000.0
        x = self.layer2(self.layer1(x, bias), bias)
        return x, ops.tanh(self.pooler(x[:, 0]))


@cell(i32("n", "length", low=0, high=30))
class GPT(Model):
    """A decoder of words, causal, of any batch and length."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(30, 16), nn.Embedding(12, 16)
        self.layer, self.norm = Encoder(16, 2, first=True), nn.LayerNorm((16,))
        self.head = nn.Dense(16, 30, has_bias=False)
        self.mask = ms.Tensor(
            [[0.0 if column <= row else -1e4 for column in range(12)] for row in range(12)], ms.float32
        )
        self.set_train(False)

    def construct(self, ids: Any) -> Any:
        length = ids.shape[1]
        x = self.words(ids) + self.places.embedding_table[:length]
        x = self.layer(x, self.mask[:length, :length])
        return self.head(self.norm(x))


@cell(f32(2, 3, 16, 16))
class ViT(Model):
    """Patches of an image."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, stride=4, pad_mode="valid", has_bias=True)
        self.token = ms.Parameter(ops.zeros((1, 1, 16)), name="token")
        self.places = ms.Parameter(ops.zeros((1, 17, 16)), name="places")
        self.layer, self.norm, self.head = Encoder(16, 4, first=True), nn.LayerNorm((16,)), nn.Dense(16, 5)
        self.set_train(False)

    def construct(self, x: Any) -> Any:
        n = x.shape[0]
        x = self.patches(x).reshape(n, 16, -1).transpose(0, 2, 1)
        x = ops.cat((self.token.broadcast_to((n, 1, 16)), x), 1) + self.places
        return self.head(self.norm(self.layer(x, None))[:, 0])


@cell(f32(2, 5, 8), f32(2, 5, 8), f32(2, 5, 8))
class MultiHead(Model):
    """MindSpore's own attention."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.set_train(False)

    def construct(self, query: Any, key: Any, value: Any) -> Any:
        return self.attention(query, key, value)


@cell(f32(2, 5, 8))
class TransformerLayer(Model):
    """MindSpore's own layer of a transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True)
        self.set_train(False)

    def construct(self, x: Any) -> Any:
        return self.layer(x)


@cell(f32(5, 2, 8), f32(6, 2, 8))
class TransformerDecoder(Model):
    """MindSpore's own decoder of a transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, dim_feedforward=16), num_layers=2)
        self.set_train(False)

    def construct(self, x: Any, memory: Any) -> Any:
        return self.decoder(x, memory)
