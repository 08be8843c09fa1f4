"""Control flow: if, while and for, unrolled or not."""

from __future__ import annotations

from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Parameter, nn, ops

from tests.networks.catalogue import f32, i32
from tests.networks.cells import cell, function

ROW = f32(2, 3)


@function(ROW)
def if_by_sum(x: Any) -> Any:
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y


@function(f32(2, 3), f32(2, 3))
def if_nested(x: Any, y: Any) -> Any:
    if x.sum() > 0:
        if y.sum() > 0:
            z = x + y
        else:
            z = x * y
    else:
        z = ops.relu(y) - x
    return z, z + 1


@function(f32(2, 3), i32(1, low=0, high=5))
def if_by_input(x: Any, which: Any) -> Any:
    result = ops.tanh(x)
    if which > 2:
        result = result + ops.exp(x)
    elif which > 1:
        result = result * 3
    return result.sum(1)


@function(f32(2, 3), i32(1, low=0, high=5))
def if_augmented(x: Any, which: Any) -> Any:
    result = ops.tanh(x)
    before = result * 3
    if which > 2:
        result += 1.5
    else:
        result -= x
    return result + before


@function(f32(5, 3), i32(1, low=1, high=4))
def while_augmented(x: Any, count: Any) -> Any:
    total, step = x * 0, x * 1
    at = ms.Tensor([0], ms.int32)
    while at < count:
        total += step
        step *= 0.5
        at = at + 1
    return total, step


@function(f32(2, 3), i32(1, low=0, high=2))
def if_returns(x: Any, which: Any) -> Any:
    if which == 1:
        return ops.relu(x)
    return ops.sigmoid(x) * 2


@function(f32(2, 3), i32(1, low=2, high=6))
def while_counted(x: Any, count: Any) -> Any:
    at = ms.Tensor([0], ms.int32)
    while at < count:
        x = x * 1.5 + 0.25
        at = at + 1
    return x


@function(f32(2, 3, low=0.5, high=1.5))
def while_by_value(x: Any) -> Any:
    while x.sum() < 40:
        x = x * 2
    return x


@function(f32(2, 3))
def for_unrolled(x: Any) -> Any:
    total = x
    for at in range(3):
        total = total + ops.tanh(total) * at
    return total


@function(f32(2, 3), i32(1, low=2, high=5))
def while_with_if(x: Any, count: Any) -> Any:
    at = ms.Tensor([0], ms.int32)
    while at < count:
        if x.sum() > 0:
            x = x - 1.0
        else:
            x = x + 2.0
        at = at + 1
    return x


@function(f32(2, 3), i32(1, low=2, high=4))
def while_nested(x: Any, count: Any) -> Any:
    outer = ms.Tensor([0], ms.int32)
    while outer < count:
        inner = ms.Tensor([0], ms.int32)
        while inner < outer + 1:
            x = x * 0.5 + 1.0
            inner = inner + 1
        outer = outer + 1
    return x


@cell(f32(2, 4))
class IfWithWeights(nn.Cell):
    """Two branches with layers of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.left = nn.Dense(4, 3)
        self.right = nn.Dense(4, 3)

    def construct(self, x: Any) -> Any:
        if x.mean() > 0:
            return self.left(x)
        return self.right(ops.relu(x))


@cell(f32(2, 4))
class SharedWeights(nn.Cell):
    """One layer called three times."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Dense(4, 4)

    def construct(self, x: Any) -> Any:
        for _ in range(3):
            x = ops.tanh(self.layer(x))
        return x


@cell(f32(2, 5, 4))
class ForOverLayers(nn.Cell):
    """A list of layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.CellList([nn.Dense(4, 4), nn.Dense(4, 4), nn.Dense(4, 2)])

    def construct(self, x: Any) -> Any:
        for layer in self.layers:
            x = ops.relu(layer(x))
        return x


@cell(f32(3, 4))
class OwnParameters(nn.Cell):
    """Parameters used directly."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = Parameter(np.ones((4,), np.float32), name="scale")
        self.shift = Parameter(np.zeros((3, 1), np.float32), name="shift")
        self.table = ms.Tensor(np.arange(12, dtype=np.float32).reshape(3, 4))

    def construct(self, x: Any) -> Any:
        return x * self.scale + self.shift, x + self.table


@cell(f32("n", 4), i32(1, low=1, high=5))
class WhileWithWeights(nn.Cell):
    """A recurrent step as often as an input says, at any batch."""

    def __init__(self) -> None:
        super().__init__()
        self.step = nn.Dense(4, 4)

    def construct(self, x: Any, count: Any) -> Any:
        at = ms.Tensor([0], ms.int32)
        state = ops.zeros_like(x)
        while at < count:
            state = ops.tanh(self.step(state) + x)
            at = at + 1
        return state


@cell(f32(2, 4), f32(2, 6), f32(2, 6))
class LSTMStep(nn.Cell):
    """One step of an LSTM, with its state."""

    def __init__(self) -> None:
        super().__init__()
        self.step = nn.LSTMCell(4, 6)

    def construct(self, x: Any, hidden: Any, memory: Any) -> Any:
        return self.step(x, (hidden, memory))


@cell(f32(3, 5, 4))
class ForOverTime(nn.Cell):
    """A recurrent layer written by hand, unrolled."""

    def __init__(self) -> None:
        super().__init__()
        self.step = nn.RNNCell(4, 6)

    def construct(self, x: Any) -> Any:
        state = ops.zeros((3, 6), ms.float32)
        found = []
        for at in range(5):
            state = self.step(x[:, at], state)
            found.append(state)
        return ops.stack(found, 1)


@function(f32(2, 3), i32(1, low=3, high=6))
def while_with_break(x: Any, count: Any) -> Any:
    at = ms.Tensor([0], ms.int32)
    while at < count:
        x = x * 2
        if x.sum() > 10:
            break
        at = at + 1
    return x + 1


@function(f32(2, 3), i32(1, low=3, high=6))
def while_with_continue(x: Any, count: Any) -> Any:
    at = ms.Tensor([0], ms.int32)
    while at < count:
        at = at + 1
        if at == 2:
            continue
        x = x * 2 - 1
    return x


@function(f32(2, 3), i32(1, low=0, high=3))
def if_in_for(x: Any, which: Any) -> Any:
    for at in range(3):
        if which == at:
            x = x * (at + 2)
        else:
            x = x - at
    return x


@function(f32(2, 3), i32(1, low=0, high=2))
def if_of_tuples(x: Any, which: Any) -> Any:
    if which > 0:
        a, b = x * 2, ops.relu(x)
    else:
        a, b = x - 1, ops.tanh(x)
    return a, (b, a + b)


@function(f32(4, 3), i32(1, low=1, high=4))
def for_over_rows(x: Any, count: Any) -> Any:
    total = ops.zeros((3,), ms.float32)
    at = ms.Tensor(0, ms.int32)
    while at < count[0]:
        total = total + x[at]
        at = at + 1
    return total


@function(f32(2, 3), i32(1, low=3, high=6))
def while_with_return(x: Any, count: Any) -> Any:
    at = ms.Tensor([0], ms.int32)
    while at < count:
        x = x * 2
        if x.max() > 5:
            return x - 1, at
        at = at + 1
    return ops.relu(x), at + 10


@function(f32(2, 3), i32(1, low=2, high=5))
def while_nested_with_break(x: Any, count: Any) -> Any:
    outer = ms.Tensor([0], ms.int32)
    while outer < count:
        inner = ms.Tensor([0], ms.int32)
        while inner < 4:
            x = x * 1.5 + 0.5
            if x.sum() > 20:
                break
            inner = inner + 1
        x = x - inner.astype(ms.float32)
        outer = outer + 1
    return x


@function(f32(2, 3), i32(1, low=2, high=5))
def while_with_two_breaks(x: Any, count: Any) -> Any:
    at = ms.Tensor([0], ms.int32)
    while at < count:
        if x.sum() > 20:
            break
        x = x * 2 + 1
        if x.min() < -8:
            x = ops.abs(x)
            break
        at = at + 1
    return x, at


@function(f32("n", 3), i32(1, low=3, high=6))
def while_growing(x: Any, count: Any) -> Any:
    at = ms.Tensor([0], ms.int32)
    while at < count:
        at = at + 1
        if at == 2:
            continue
        if x.sum() > 9:
            break
        x = x + ops.exp(x * 0.1)
    return x.sum(0)
