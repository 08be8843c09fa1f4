"""Whole models, small."""

from __future__ import annotations

from typing import Any

import mindspore as ms
from mindspore import nn, ops

from tests.networks.catalogue import f16, f32, i32
from tests.networks.cells import Model, cell


def _block(inner: int, outer: int, stride: int = 1, group: int = 1) -> nn.SequentialCell:
    return nn.SequentialCell(
        nn.Conv2d(inner, outer, 3, stride=stride, pad_mode="pad", padding=1, group=group),
        nn.BatchNorm2d(outer),
        nn.ReLU(),
    )


@cell(f32("n", 1, 28, 28))
class LeNet(Model):
    """LeNet-5."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid")
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.pool = nn.MaxPool2d(2, 2)
        self.flatten = nn.Flatten()
        self.head = nn.SequentialCell(nn.Dense(256, 120), nn.ReLU(), nn.Dense(120, 84), nn.ReLU(), nn.Dense(84, 10))

    def construct(self, x: Any) -> Any:
        x = self.pool(ops.relu(self.conv1(x)))
        x = self.pool(ops.relu(self.conv2(x)))
        return self.head(self.flatten(x))


class Residual(nn.Cell):
    """A residual block."""

    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.first = _block(inner, outer, stride)
        self.second = nn.SequentialCell(nn.Conv2d(outer, outer, 3), nn.BatchNorm2d(outer))
        self.short = (
            nn.SequentialCell(nn.Conv2d(inner, outer, 1, stride), nn.BatchNorm2d(outer)) if stride > 1 else None
        )

    def construct(self, x: Any) -> Any:
        short = x if self.short is None else self.short(x)
        return ops.relu(self.second(self.first(x)) + short)


@cell(f32("n", 3, 32, 32))
class ResNet(Model):
    """A small residual network."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.SequentialCell(_block(3, 8), nn.MaxPool2d(3, 2, pad_mode="same"))
        self.body = nn.SequentialCell(Residual(8, 8, 1), Residual(8, 16, 2), Residual(16, 32, 2))
        self.head = nn.Dense(32, 10)
        self.set_train(False)

    def construct(self, x: Any) -> Any:
        return self.head(ops.mean(self.body(self.stem(x)), (2, 3)))


class Inverted(nn.Cell):
    """An inverted residual block."""

    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        wide = inner * 3
        self.layers = nn.SequentialCell(
            nn.Conv2d(inner, wide, 1),
            nn.BatchNorm2d(wide),
            nn.ReLU6(),
            nn.Conv2d(wide, wide, 3, stride, pad_mode="pad", padding=1, group=wide),
            nn.BatchNorm2d(wide),
            nn.ReLU6(),
            nn.Conv2d(wide, outer, 1),
            nn.BatchNorm2d(outer),
        )
        self.same = stride == 1 and inner == outer

    def construct(self, x: Any) -> Any:
        return x + self.layers(x) if self.same else self.layers(x)


@cell(f32(2, 3, 32, 32))
class MobileNet(Model):
    """Depthwise and inverted residual blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.SequentialCell(_block(3, 8, 2), Inverted(8, 8, 1), Inverted(8, 12, 2), Inverted(12, 12, 1))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.SequentialCell(nn.Flatten(), nn.Dropout(p=0.2), nn.Dense(12, 10))
        self.set_train(False)

    def construct(self, x: Any) -> Any:
        return self.head(self.pool(self.features(x)))


@cell(f32(2, 3, 32, 32))
class VGG(Model):
    """Stacks of convolutions."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Cell] = []
        for inner, outer in ((3, 8), (8, 16), (16, 24)):
            layers += [_block(inner, outer), _block(outer, outer), nn.MaxPool2d(2, 2)]
        self.features = nn.SequentialCell(layers)
        self.head = nn.SequentialCell(
            nn.Flatten(), nn.Dense(24 * 16, 32), nn.ReLU(), nn.Dropout(p=0.5), nn.Dense(32, 5)
        )
        self.set_train(False)

    def construct(self, x: Any) -> Any:
        return self.head(self.features(x))


@cell(f32(1, 3, 32, 32))
class UNet(Model):
    """Down, up, and the connections between."""

    def __init__(self) -> None:
        super().__init__()
        self.down1, self.down2, self.bottom = _block(3, 8), _block(8, 16), _block(16, 32)
        self.pool = nn.MaxPool2d(2, 2)
        self.up2 = nn.Conv2dTranspose(32, 16, 2, stride=2, has_bias=True)
        self.up1 = nn.Conv2dTranspose(16, 8, 2, stride=2, has_bias=True)
        self.join2, self.join1 = _block(32, 16), _block(16, 8)
        self.head = nn.Conv2d(8, 2, 1)
        self.set_train(False)

    def construct(self, x: Any) -> Any:
        first = self.down1(x)
        second = self.down2(self.pool(first))
        x = self.bottom(self.pool(second))
        x = self.join2(ops.cat((self.up2(x), second), 1))
        x = self.join1(ops.cat((self.up1(x), first), 1))
        return ops.softmax(self.head(x), 1)


@cell(i32(2, 7, low=0, high=20))
class Tagger(Model):
    """A bidirectional LSTM that gives a tag to each word."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(20, 8)
        self.lstm = nn.LSTM(8, 6, bidirectional=True, batch_first=True)
        self.head = nn.Dense(12, 4)

    def construct(self, ids: Any) -> Any:
        found, _ = self.lstm(self.words(ids))
        return ops.log_softmax(self.head(found), -1)


@cell(f32(3, 6, 4))
class Forecaster(Model):
    """A GRU over a series, and a number at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(4, 8, num_layers=2, batch_first=True)
        self.head = nn.Dense(8, 1)

    def construct(self, x: Any) -> Any:
        found, _ = self.gru(x)
        return self.head(found[:, -1, :])


@cell(f32("n", 12))
class Autoencoder(Model):
    """Down to three numbers and back."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.SequentialCell(nn.Dense(12, 6), nn.ReLU(), nn.Dense(6, 3))
        self.decoder = nn.SequentialCell(nn.Dense(3, 6), nn.LeakyReLU(), nn.Dense(6, 12), nn.Sigmoid())

    def construct(self, x: Any) -> Any:
        code = self.encoder(x)
        return self.decoder(code), code


@cell(f32(2, 8, 6, 6))
class SqueezeExcite(Model):
    """Channels weighed by what they hold."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = _block(8, 8)
        self.pool = ops.ReduceMean(keep_dims=True)
        self.weigh = nn.SequentialCell(nn.Conv2d(8, 2, 1, has_bias=True), nn.ReLU(), nn.Conv2d(2, 8, 1), nn.HSigmoid())
        self.set_train(False)

    def construct(self, x: Any) -> Any:
        x = self.conv(x)
        return x * self.weigh(self.pool(x, (2, 3)))


@cell(f32(1, 8, 8, 8), f32(1, 16, 4, 4))
class YoloHead(Model):
    """Boxes of two scales."""

    def __init__(self) -> None:
        super().__init__()
        self.fine, self.coarse = nn.Conv2d(8 + 8, 14, 1, has_bias=True), nn.Conv2d(16, 14, 1, has_bias=True)
        self.reduce = nn.SequentialCell(nn.Conv2d(16, 8, 1), nn.BatchNorm2d(8), nn.LeakyReLU(0.1))
        self.set_train(False)

    def boxes(self, x: Any, size: int) -> Any:
        """Centres, sizes and scores of one scale."""
        x = x.reshape(1, 2, 7, size, size).transpose(0, 1, 3, 4, 2)
        line = ops.arange(size).astype(ms.float32)
        grid = ops.stack(ops.meshgrid(line, line), -1).reshape(1, 1, size, size, 2)
        centre = (ops.sigmoid(x[..., :2]) + grid) / size
        return ops.cat((centre, ops.exp(x[..., 2:4]), ops.sigmoid(x[..., 4:])), -1).reshape(1, -1, 7)

    def construct(self, fine: Any, coarse: Any) -> Any:
        up = ops.interpolate(self.reduce(coarse), size=(8, 8), mode="nearest")
        return ops.cat((self.boxes(self.fine(ops.cat((fine, up), 1)), 8), self.boxes(self.coarse(coarse), 4)), 1)


@cell(f32(2, 16, 1, 1))
class Generator(Model):
    """The generator of a DCGAN."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.SequentialCell(
            nn.Conv2dTranspose(16, 12, 4, 1, pad_mode="valid"),
            nn.BatchNorm2d(12),
            nn.ReLU(),
            nn.Conv2dTranspose(12, 8, 4, 2, pad_mode="pad", padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Conv2dTranspose(8, 3, 4, 2, pad_mode="pad", padding=1),
            nn.Tanh(),
        )
        self.set_train(False)

    def construct(self, x: Any) -> Any:
        return self.layers(x)


@cell(f32(2, 3, 16, 16))
class DenseNet(Model):
    """Layers that see all before them."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.CellList([_block(3 + 4 * at, 4) for at in range(3)])
        self.head = nn.Dense(15, 4)
        self.set_train(False)

    def construct(self, x: Any) -> Any:
        for layer in self.layers:
            x = ops.cat((x, layer(x)), 1)
        return self.head(x.mean((2, 3)))


@cell(f32(2, 3, 16, 16))
class Inception(Model):
    """Four ways side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Conv2d(3, 4, 1)
        self.three = nn.SequentialCell(nn.Conv2d(3, 2, 1), nn.Conv2d(2, 4, 3))
        self.five = nn.SequentialCell(nn.Conv2d(3, 2, 1), nn.Conv2d(2, 4, (1, 5)), nn.Conv2d(4, 4, (5, 1)))
        self.pool = nn.SequentialCell(nn.MaxPool2d(3, 1, pad_mode="same"), nn.Conv2d(3, 4, 1))

    def construct(self, x: Any) -> Any:
        return ops.relu(ops.cat((self.one(x), self.three(x), self.five(x), self.pool(x)), 1))


@cell(f32("n", 10), i32("n", 3, low=0, high=12))
class Recommender(Model):
    """Numbers and categories of a customer."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(12, 4)
        self.wide, self.deep = nn.Dense(10, 1), nn.SequentialCell(nn.Dense(22, 8), nn.ReLU(), nn.Dense(8, 1))

    def construct(self, numbers: Any, categories: Any) -> Any:
        found = self.table(categories).reshape(categories.shape[0], -1)
        return ops.sigmoid(self.wide(numbers) + self.deep(ops.cat((numbers, found), 1)))


@cell(f16(2, 3, 8, 8))
class HalfNet(Model):
    """A network in half precision."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.SequentialCell(
            nn.Conv2d(3, 4, 3, dtype=ms.float16), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()
        )
        self.head = nn.Dense(64, 5, dtype=ms.float16)
        self.set_train(False)

    def construct(self, x: Any) -> Any:
        return ops.softmax(self.head(self.layers(x)))


@cell(f32(2, 3, 8, 8))
class MixedNet(Model):
    """Layers in half precision in a network of float32."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3).to_float(ms.float16)
        self.norm, self.head = nn.BatchNorm2d(4), nn.Dense(4, 5).to_float(ms.float16)
        self.set_train(False)

    def construct(self, x: Any) -> Any:
        x = ops.relu(self.norm(self.conv(x).astype(ms.float32)))
        return ops.softmax(self.head(x.mean((2, 3))))


@cell(f32(2, 4, 20))
class TemporalNet(Model):
    """Causal convolutions over time."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(4, 6, 3, pad_mode="valid", dilation=1, has_bias=True)
        self.conv2 = nn.Conv1d(6, 6, 3, pad_mode="valid", dilation=2, has_bias=True)

    def construct(self, x: Any) -> Any:
        x = ops.relu(self.conv1(ops.pad(x, (2, 0))))
        return ops.relu(self.conv2(ops.pad(x, (4, 0)))) + x


@cell(f32(6, 4), f32(6, 6, low=0.0, high=1.0))
class GraphNet(Model):
    """Two layers of graph convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Dense(4, 8), nn.Dense(8, 3)

    def construct(self, nodes: Any, edges: Any) -> Any:
        weights = edges / edges.sum(1, keepdims=True)
        return ops.log_softmax(self.second(weights @ ops.relu(self.first(weights @ nodes))), 1)
