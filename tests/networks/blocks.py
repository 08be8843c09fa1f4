"""Precision, recurrent lengths, and blocks of newer networks."""

from __future__ import annotations

from typing import Any

import mindspore as ms
from mindspore import amp, mint, nn, ops

from tests.networks.catalogue import f16, f32, flags, i32, layer
from tests.networks.cells import Model, cell, function


def _small() -> nn.Cell:
    """A convolution, a norm, a pool and a dense layer."""
    layers = [nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(96, 5)]
    return nn.SequentialCell(*layers).set_train(False)


def _words() -> nn.Cell:
    """Dense layers, norms and softmax."""
    layers = [nn.Dense(8, 16), nn.LayerNorm((16,)), nn.GELU(), nn.Dense(16, 6), nn.Softmax()]
    return nn.SequentialCell(*layers).set_train(False)


SMALL, WORDS = f32(2, 3, 8, 8), f32(3, 5, 8)
for _level in ("O1", "O2", "O3"):
    layer(f"amp-image-{_level}", lambda level=_level: amp.auto_mixed_precision(_small(), level), SMALL, half=True)
    layer(f"amp-words-{_level}", lambda level=_level: amp.auto_mixed_precision(_words(), level), WORDS, half=True)
layer("whole-half", lambda: _words().to_float(ms.float16), WORDS, half=True)


@cell(f32(3, 5, 4), i32(3, low=1, high=6))
class RecurrentLengths(nn.Cell):
    """An LSTM over rows of different lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 6, batch_first=True)

    def construct(self, x: Any, lengths: Any) -> Any:
        found, (hidden, memory) = self.lstm(x, seq_length=lengths)
        return found, hidden, memory


@cell(f32(3, 5, 4), f32(1, 3, 6))
class RecurrentState(nn.Cell):
    """A GRU that is given its first state."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(4, 6, batch_first=True)

    def construct(self, x: Any, state: Any) -> Any:
        return self.gru(x, state)


@cell(f32("length", 2, 4))
class RecurrentFree(nn.Cell):
    """An LSTM over any length."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 6)

    def construct(self, x: Any) -> Any:
        return self.lstm(x)[0]


@cell(f32(5, 2, 4))
class LSTMWithoutBias(nn.Cell):
    """Two layers, both ways, no bias."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 6, num_layers=2, has_bias=False, bidirectional=True)
        self.set_train(False)

    def construct(self, x: Any) -> Any:
        found, (hidden, _) = self.lstm(x)
        return found, hidden


@function(f32(2, 3), flags(2, 3))
def flags_in_arithmetic(x: Any, mask: Any) -> Any:
    return x * mask, mask.astype(ms.float32).mean(), ops.logical_not(mask).astype(ms.int32).sum(0)


@cell(i32(2, 5, low=1, high=12), i32(2, 4, low=1, high=12))
class Translator(Model):
    """MindSpore's own transformer, words to words."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(12, 8)
        self.body = nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True)
        self.head = nn.Dense(8, 12)
        self.set_train(False)

    def construct(self, source: Any, target: Any) -> Any:
        return self.head(self.body(self.words(source), self.words(target)))


@cell(f32(2, 6, 8), flags(2, 6))
class MaskedEncoder(Model):
    """MindSpore's own encoder, with a mask of padding."""

    def __init__(self) -> None:
        super().__init__()
        one = nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(one, 2, norm=nn.LayerNorm((8,)))
        self.set_train(False)

    def construct(self, x: Any, padding: Any) -> Any:
        keep = ops.logical_not(padding).astype(ms.float32).expand_dims(-1)
        return self.encoder(x) * keep


@cell(f32(1, 3, 16, 16))
class Detector(Model):
    """Features of two sizes, one brought up and added, as a feature pyramid does."""

    def __init__(self) -> None:
        super().__init__()
        self.low = nn.Conv2d(3, 8, 3, 2, pad_mode="pad", padding=1, has_bias=True)
        self.high = nn.Conv2d(8, 16, 3, 2, pad_mode="pad", padding=1)
        self.side, self.top = nn.Conv2d(8, 8, 1), nn.Conv2d(16, 8, 1)
        self.heads = nn.CellList([nn.Conv2d(8, 4, 3), nn.Conv2d(8, 2, 3)])

    def construct(self, x: Any) -> Any:
        low = ops.silu(self.low(x))
        top = self.top(ops.silu(self.high(low)))
        joined = self.side(low) + ops.interpolate(top, size=low.shape[2:], mode="bilinear")
        boxes, scores = [head(joined) for head in self.heads]
        return boxes, ops.sigmoid(scores), ops.topk(scores.reshape(-1), 5)[0]


@cell(f32("n", 3, "h", "w"))
class FullyConvolutional(Model):
    """A segmentation of any size."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.SequentialCell(
            nn.Conv2d(3, 6, 3, pad_mode="pad", padding=1), nn.BatchNorm2d(6), nn.PReLU(6), nn.Conv2d(6, 4, 1)
        )
        self.set_train(False)

    def construct(self, x: Any) -> Any:
        scores = self.layers(x)
        return ops.softmax(scores, 1), scores.argmax(1)


@cell(f32(2, 1, 8, 8))
class VAE(Model):
    """The mean way through a variational autoencoder."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.SequentialCell(
            nn.Conv2d(1, 4, 3, 2, pad_mode="pad", padding=1), nn.LeakyReLU(0.2), nn.Flatten()
        )
        self.mean, self.spread = nn.Dense(64, 5), nn.Dense(64, 5)
        self.decoder = nn.SequentialCell(nn.Dense(5, 64), nn.ELU(), nn.Unflatten(1, (4, 4, 4)))
        self.out = nn.Conv2dTranspose(4, 1, 4, 2, pad_mode="pad", padding=1)

    def construct(self, x: Any) -> Any:
        inner = self.encoder(x)
        mean, spread = self.mean(inner), self.spread(inner)
        kl = -0.5 * (1 + spread - mean**2 - ops.exp(spread)).sum(1)
        return ops.sigmoid(self.out(self.decoder(mean))), kl.mean()


@cell(f32(2, 8, 6))
class StateSpace(Model):
    """A gated recurrence over time as a scan of matrices."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.gate, self.out = nn.Dense(6, 6), nn.Dense(6, 6), nn.Dense(6, 6)

    def construct(self, x: Any) -> Any:
        decay = ops.cumsum(ops.log_softmax(self.gate(x), -1), 1)
        state = ops.cumsum(self.inner(x) * ops.exp(-decay * 0.1), 1) * ops.exp(decay * 0.1)
        return self.out(state) * ops.silu(x)


@cell(f32(2, 4, 16), f32(2, 5, 16))
class CrossAttention(Model):
    """Attention with rotary places, grouped keys and a norm of roots, as newer language models have it."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = nn.Dense(16, 16, False), nn.Dense(16, 8, False), nn.Dense(16, 8, False)
        self.weight = ms.Parameter(ops.ones((16,), ms.float32), name="norm.gamma")
        self.up, self.gate, self.down = nn.Dense(16, 24, False), nn.Dense(16, 24, False), nn.Dense(24, 16, False)

    def construct(self, x: Any, memory: Any) -> Any:
        normed = x * ops.rsqrt(ops.mean(ops.square(x), -1, True) + 1e-6) * self.weight
        query = self.query(normed).reshape(2, 4, 4, 4).transpose(0, 2, 1, 3)
        key = ops.repeat_interleave(self.key(memory).reshape(2, 5, 2, 4).transpose(0, 2, 1, 3), 2, 1)
        value = ops.repeat_interleave(self.value(memory).reshape(2, 5, 2, 4).transpose(0, 2, 1, 3), 2, 1)
        scores = ops.softmax(ops.matmul(query, key.swapaxes(-1, -2)) * 0.5, -1)
        x = x + ops.matmul(scores, value).transpose(0, 2, 1, 3).reshape(2, 4, 16)
        return x + self.down(ops.silu(self.gate(x)) * self.up(x))


@cell(f32(2, 6, 5), f32(2, 6, 6, low=0.0, high=1.0))
class GraphAttention(Model):
    """Attention of the nodes of a graph over their neighbours."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.left, self.right = nn.Dense(5, 8, False), nn.Dense(8, 1, False), nn.Dense(8, 1, False)

    def construct(self, nodes: Any, edges: Any) -> Any:
        inner = self.project(nodes)
        scores = ops.leaky_relu(self.left(inner) + self.right(inner).swapaxes(1, 2), 0.2)
        scores = ops.where(edges > 0.5, scores, ops.full_like(scores, -1e9))
        return ops.elu(ops.bmm(ops.softmax(scores, -1), inner))


@cell(f32(3, 7))
class Mixture(Model):
    """Experts, and the best two of them by a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Dense(7, 4)
        self.experts = nn.CellList([nn.Dense(7, 5) for _ in range(4)])

    def construct(self, x: Any) -> Any:
        weights, index = ops.topk(ops.softmax(self.gate(x), -1), 2)
        chosen = ops.one_hot(index, 4, ms.Tensor(1.0), ms.Tensor(0.0))
        share = (chosen * weights.expand_dims(-1)).sum(1)
        return (ops.stack([expert(x) for expert in self.experts], 1) * share.expand_dims(-1)).sum(1)


@cell(f32(2, 3, 9, 9))
class Pointwise(Model):
    """A block of ConvNeXt."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = nn.Conv2d(3, 3, 7, group=3, pad_mode="pad", padding=3, has_bias=True)
        self.norm = nn.LayerNorm((3,), epsilon=1e-6)
        self.wide, self.narrow = nn.Dense(3, 12), nn.Dense(12, 3)
        self.scale = ms.Parameter(ops.ones((3,), ms.float32), name="layer_scale")

    def construct(self, x: Any) -> Any:
        inner = self.norm(self.depth(x).transpose(0, 2, 3, 1))
        inner = self.scale * self.narrow(ops.gelu(self.wide(inner)))
        return x + inner.transpose(0, 3, 1, 2)


@cell(f32(2, 16, 4))
class Mixer(Model):
    """A block of an MLP-Mixer, and windows rolled as Swin does."""

    def __init__(self) -> None:
        super().__init__()
        self.across, self.within = nn.Dense(16, 16), nn.Dense(4, 4)
        self.norm = nn.LayerNorm((4,))

    def construct(self, x: Any) -> Any:
        x = x + self.across(self.norm(x).swapaxes(1, 2)).swapaxes(1, 2)
        windows = x.reshape(2, 2, 2, 2, 2, 4).transpose(0, 1, 3, 2, 4, 5).reshape(-1, 4, 4)
        return x + self.within(windows).reshape(2, 16, 4)


@cell(f16(2, 4, 6), f16(6, 6))
class HalfAttention(Model):
    """Attention in half precision with a softmax in float32."""

    def construct(self, x: Any, weight: Any) -> Any:
        scores = ops.matmul(ops.matmul(x, weight), x.swapaxes(1, 2))
        return ops.matmul(ops.softmax(scores.astype(ms.float32), -1).astype(ms.float16), x)


@function(f32(3, 4), f32(3, 4))
def mint_more(a: Any, b: Any) -> Any:
    return mint.pow(a, 2), mint.abs(a), mint.exp(a), mint.minimum(a, b), mint.isfinite(a), mint.square(b), mint.sin(a)


@function(f32(2, 3, 4))
def mint_movers(a: Any) -> Any:
    return (
        mint.split(a, 2, 2),
        mint.chunk(a, 3, 1),
        mint.squeeze(a[:1], 0),
        mint.transpose(a, 0, 1),
        mint.tile(a, (2, 1, 1)),
    )
