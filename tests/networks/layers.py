"""One layer of mindspore.nn each, in the forms that people write."""

from __future__ import annotations

import mindspore as ms
from mindspore import mint, nn

from tests.networks.catalogue import f16, f32, i32, layer

IMAGE = f32(2, 4, 9, 11)
FREE = f32("n", 4, "h", "w")
LINE = f32(2, 4, 15)
BLOCK = f32(1, 2, 6, 7, 8)
ROWS = f32(3, 8)


def _even(cell: nn.Cell) -> nn.Cell:
    """A cell as it is after training."""
    cell.set_train(False)
    return cell


layer("dense", lambda: nn.Dense(8, 5), ROWS)
layer("dense-free", lambda: nn.Dense(8, 5, activation="relu"), f32("n", 8))
layer("dense-3d", lambda: nn.Dense(8, 5, has_bias=False), f32(2, 3, 8))
layer("dense-3d-free", lambda: nn.Dense(8, 5), f32("n", "length", 8))
layer("dense-half", lambda: nn.Dense(8, 5, dtype=ms.float16), f16(3, 8))
layer("dense-tanh-stack", lambda: nn.SequentialCell(nn.Dense(8, 6), nn.Tanh(), nn.Dense(6, 2), nn.Softmax()), ROWS)
layer("bilinear", lambda: nn.BiDense(8, 5, 3), ROWS, f32(3, 5))

layer("conv2d-same", lambda: nn.Conv2d(4, 6, 3), IMAGE)
layer("conv2d-same-stride", lambda: nn.Conv2d(4, 6, 3, stride=2, has_bias=True), IMAGE)
layer("conv2d-valid", lambda: nn.Conv2d(4, 6, (3, 2), pad_mode="valid", has_bias=True), IMAGE)
layer("conv2d-pad", lambda: nn.Conv2d(4, 6, 3, pad_mode="pad", padding=(1, 2, 0, 1), stride=(1, 2)), IMAGE)
layer("conv2d-free", lambda: nn.Conv2d(4, 6, 3, pad_mode="pad", padding=1, has_bias=True), FREE)
layer("conv2d-same-free", lambda: nn.Conv2d(4, 6, 3, pad_mode="same", stride=2), FREE)
layer("conv2d-dilated", lambda: nn.Conv2d(4, 6, 3, dilation=2, pad_mode="pad", padding=2), IMAGE)
layer("conv2d-grouped", lambda: nn.Conv2d(4, 6, 3, group=2, has_bias=True), IMAGE)
layer("conv2d-depthwise", lambda: nn.Conv2d(4, 4, 3, group=4, pad_mode="pad", padding=1), IMAGE)
layer("conv2d-half", lambda: nn.Conv2d(4, 6, 3, dtype=ms.float16), f16(2, 4, 9, 11))
layer("conv1d-same", lambda: nn.Conv1d(4, 6, 3, stride=2), LINE)
layer("conv1d-pad", lambda: nn.Conv1d(4, 6, 4, pad_mode="pad", padding=2, dilation=2, has_bias=True), LINE)
layer("conv3d", lambda: nn.Conv3d(2, 3, 3, has_bias=True), BLOCK)
layer("conv3d-pad", lambda: nn.Conv3d(2, 3, (1, 3, 2), stride=(1, 2, 1), pad_mode="pad", padding=1), BLOCK)
layer("conv2d-transpose", lambda: nn.Conv2dTranspose(4, 6, 4, stride=2, pad_mode="pad", padding=1), IMAGE)
layer("conv2d-transpose-same", lambda: nn.Conv2dTranspose(4, 6, 3, stride=2, has_bias=True), IMAGE)
layer("conv2d-transpose-valid", lambda: nn.Conv2dTranspose(4, 3, (2, 3), pad_mode="valid", has_bias=True), IMAGE)
layer("conv1d-transpose", lambda: nn.Conv1dTranspose(4, 6, 4, stride=2, pad_mode="pad", padding=1), LINE)
layer("conv3d-transpose", lambda: nn.Conv3dTranspose(2, 3, 2, stride=2, pad_mode="valid"), BLOCK)
layer("conv-bn-relu", lambda: _even(nn.Conv2dBnAct(4, 6, 3, has_bn=True, activation="relu")), IMAGE)
layer("dense-bn-relu", lambda: _even(nn.DenseBnAct(8, 5, has_bn=True, activation="relu")), ROWS)

layer("batch-norm-1d", lambda: _even(nn.BatchNorm1d(8)), ROWS)
layer("batch-norm-2d", lambda: _even(nn.BatchNorm2d(4, eps=1e-3)), IMAGE)
layer("batch-norm-2d-free", lambda: _even(nn.BatchNorm2d(4)), FREE)
layer("batch-norm-2d-plain", lambda: _even(nn.BatchNorm2d(4, affine=False)), IMAGE)
layer("batch-norm-3d", lambda: _even(nn.BatchNorm3d(2)), BLOCK)
layer("layer-norm", lambda: nn.LayerNorm((8,)), f32(2, 3, 8))
layer("layer-norm-two-axes", lambda: nn.LayerNorm((3, 8), begin_norm_axis=1, begin_params_axis=1), f32(2, 3, 8))
layer("layer-norm-free", lambda: nn.LayerNorm([8], epsilon=1e-5), f32("n", "length", 8))
layer("group-norm", lambda: nn.GroupNorm(2, 4), IMAGE)
layer("local-response-norm", lambda: nn.LRN(depth_radius=2, bias=1.0, alpha=0.01, beta=0.75), f32(2, 8, 5, 6))

layer("max-pool-2d", lambda: nn.MaxPool2d(2, 2), IMAGE)
layer("max-pool-2d-same", lambda: nn.MaxPool2d(3, 2, pad_mode="same"), IMAGE)
layer("max-pool-2d-free", lambda: nn.MaxPool2d((2, 3), (2, 1)), FREE)
layer("max-pool-2d-pad", lambda: nn.MaxPool2d(3, 2, pad_mode="pad", padding=1), IMAGE)
layer("max-pool-2d-ceil", lambda: nn.MaxPool2d(3, 2, pad_mode="pad", padding=1, ceil_mode=True), f32(2, 4, 8, 10))
layer("max-pool-2d-dilated", lambda: nn.MaxPool2d(2, 1, pad_mode="pad", dilation=2), IMAGE)
layer("max-pool-1d", lambda: nn.MaxPool1d(3, 2), LINE)
layer("max-pool-1d-same", lambda: nn.MaxPool1d(3, 2, pad_mode="same"), LINE)
layer("max-pool-3d", lambda: nn.MaxPool3d(2, 2), BLOCK)
layer("max-pool-3d-pad", lambda: nn.MaxPool3d(3, 2, pad_mode="pad", padding=1), BLOCK)
layer("avg-pool-2d", lambda: nn.AvgPool2d(2, 2), IMAGE)
layer("avg-pool-2d-same", lambda: nn.AvgPool2d(3, 2, pad_mode="same"), IMAGE)
layer("avg-pool-2d-pad", lambda: nn.AvgPool2d(3, 2, pad_mode="pad", padding=1), IMAGE)
layer("avg-pool-2d-inner", lambda: nn.AvgPool2d(3, 2, pad_mode="pad", padding=1, count_include_pad=False), IMAGE)
layer("avg-pool-2d-ceil", lambda: nn.AvgPool2d(3, 2, pad_mode="pad", ceil_mode=True), f32(2, 4, 8, 10))
layer("avg-pool-2d-divisor", lambda: nn.AvgPool2d(2, 2, pad_mode="pad", divisor_override=3), IMAGE)
layer("avg-pool-1d", lambda: nn.AvgPool1d(3, 2), LINE)
layer("avg-pool-3d", lambda: nn.AvgPool3d(2, 2), BLOCK)
layer("adaptive-avg-2d", lambda: nn.AdaptiveAvgPool2d((3, 4)), IMAGE)
layer("adaptive-avg-2d-one", lambda: nn.AdaptiveAvgPool2d(1), f32("n", 4, "h", "w"))
layer("adaptive-max-2d", lambda: nn.AdaptiveMaxPool2d((3, 4)), IMAGE)
layer("adaptive-avg-1d", lambda: nn.AdaptiveAvgPool1d(5), LINE)
layer("adaptive-max-1d", lambda: nn.AdaptiveMaxPool1d(3), LINE)
layer("adaptive-avg-3d", lambda: nn.AdaptiveAvgPool3d((2, 3, 2)), BLOCK)
layer("lp-pool-2d", lambda: nn.LPPool2d(2, 2, stride=2), f32(2, 4, 8, 8, low=0.1))

ACTIVATIONS = {
    "relu": nn.ReLU,
    "relu6": nn.ReLU6,
    "sigmoid": nn.Sigmoid,
    "tanh": nn.Tanh,
    "gelu-tanh": nn.GELU,
    "gelu-erf": lambda: nn.GELU(approximate=False),
    "fast-gelu": nn.FastGelu,
    "hswish": nn.HSwish,
    "hsigmoid": nn.HSigmoid,
    "silu": nn.SiLU,
    "mish": nn.Mish,
    "elu": nn.ELU,
    "celu": lambda: nn.CELU(alpha=1.5),
    "selu": nn.SeLU,
    "prelu": lambda: nn.PReLU(4),
    "leaky-relu": lambda: nn.LeakyReLU(0.1),
    "softsign": nn.Softsign,
    "hshrink": nn.HShrink,
    "soft-shrink": nn.SoftShrink,
    "tanhshrink": nn.Tanhshrink,
    "threshold": lambda: nn.Threshold(0.5, -1.0),
    "hardtanh": lambda: nn.Hardtanh(-1.0, 1.5),
    "log-sigmoid": nn.LogSigmoid,
    "softmax": lambda: nn.Softmax(axis=1),
    "log-softmax": nn.LogSoftmax,
    "softmin": nn.Softmin,
    "softmax2d": nn.Softmax2d,
    "glu": lambda: nn.GLU(axis=1),
}
for _name, _make in ACTIVATIONS.items():
    layer(_name, _make, f32(2, 4, 3, 5, low=-4.0, high=4.0))
layer("silu-free", nn.SiLU, f32("n", "length"))
layer("softmax-half", nn.Softmax, f16(4, 10))

layer("embedding", lambda: nn.Embedding(20, 6), i32(3, 5, low=0, high=20))
layer("embedding-free", lambda: nn.Embedding(20, 6), i32("n", "length", low=0, high=20))
layer("embedding-one-hot", lambda: nn.Embedding(20, 6, use_one_hot=True), i32(3, 5, low=0, high=20))
layer("one-hot", lambda: nn.OneHot(depth=7), i32(3, 5, low=0, high=7))
layer("dropout", lambda: _even(nn.Dropout(p=0.4)), ROWS)
layer("dropout2d", lambda: _even(nn.SequentialCell(nn.Conv2d(4, 4, 1), nn.Dropout2d(p=0.3))), IMAGE)
layer("flatten", nn.Flatten, IMAGE)
layer("flatten-free", lambda: nn.SequentialCell(nn.Flatten(), nn.Dense(60, 4)), f32("n", 3, 4, 5))
layer("unflatten", lambda: nn.Unflatten(1, (2, 4)), ROWS)
layer("pad-constant", lambda: nn.Pad(((0, 0), (1, 2), (3, 0), (0, 1)), mode="CONSTANT"), IMAGE)
layer("pad-reflect", lambda: nn.Pad(((0, 0), (1, 2), (3, 0), (0, 1)), mode="REFLECT"), IMAGE)
layer("pad-symmetric", lambda: nn.Pad(((0, 0), (1, 2), (3, 0), (0, 1)), mode="SYMMETRIC"), IMAGE)
layer("constant-pad-2d", lambda: nn.ConstantPad2d((1, 2, 0, 1), 0.5), IMAGE)
layer("zero-pad-2d", lambda: nn.ZeroPad2d(2), IMAGE)
layer("reflection-pad-2d", lambda: nn.ReflectionPad2d((1, 2, 0, 1)), IMAGE)
layer("replication-pad-2d", lambda: nn.ReplicationPad2d(1), IMAGE)
layer("pixel-shuffle", lambda: nn.PixelShuffle(2), f32(2, 8, 3, 4))
layer("pixel-unshuffle", lambda: nn.PixelUnshuffle(2), f32(2, 3, 6, 4))
layer("channel-shuffle", lambda: nn.ChannelShuffle(2), IMAGE)
layer(
    "upsample-nearest", lambda: nn.Upsample(scale_factor=(2.0, 2.0), mode="nearest", recompute_scale_factor=True), IMAGE
)
layer("upsample-bilinear", lambda: nn.Upsample(size=(18, 15), mode="bilinear"), IMAGE)
layer("upsample-bilinear-corners", lambda: nn.Upsample(size=(18, 15), mode="bilinear", align_corners=True), IMAGE)
layer("upsample-bicubic", lambda: nn.Upsample(size=(18, 15), mode="bicubic"), IMAGE)
layer("reduce-log-sum-exp", lambda: nn.ReduceLogSumExp((1,), True), ROWS)
layer("mse-loss", nn.MSELoss, ROWS, ROWS)
layer("smooth-l1-loss", lambda: nn.SmoothL1Loss(reduction="mean"), ROWS, ROWS)
layer("cross-entropy", lambda: nn.CrossEntropyLoss(), ROWS, i32(3, low=0, high=8))

SEQUENCE = f32(2, 5, 4)
NEAR = f32(2, 5, 4, low=-0.5, high=0.5)
"""MindSpore's own Tanh on a CPU is off by up to 1e-4 where its input is near 5; this keeps away from there."""
STEP = f32(2, 4)
layer("lstm", lambda: nn.LSTM(4, 6, batch_first=True), SEQUENCE)
layer("lstm-two-layers", lambda: _even(nn.LSTM(4, 6, num_layers=2, batch_first=True, dropout=0.1)), SEQUENCE)
layer("lstm-bidirectional", lambda: nn.LSTM(4, 6, bidirectional=True), f32(5, 2, 4))
layer("gru", lambda: nn.GRU(4, 6, batch_first=True), SEQUENCE)
layer("gru-bidirectional", lambda: nn.GRU(4, 6, bidirectional=True, batch_first=True, has_bias=False), SEQUENCE)
layer("rnn", lambda: nn.RNN(4, 6, batch_first=True), NEAR)
layer("rnn-relu", lambda: nn.RNN(4, 6, nonlinearity="relu", num_layers=2), f32(5, 2, 4))
layer("gru-cell", lambda: nn.GRUCell(4, 6), STEP, f32(2, 6))
layer("rnn-cell", lambda: nn.RNNCell(4, 6), STEP, f32(2, 6))

layer("mint-linear-layer", lambda: mint.nn.Linear(8, 5), ROWS)
layer("mint-group-norm-layer", lambda: mint.nn.GroupNorm(2, 4), IMAGE)
layer("mint-dropout", lambda: _even(mint.nn.Dropout(0.3)), ROWS)
layer("mint-hardswish", mint.nn.Hardswish, ROWS)
layer("mint-hardsigmoid", mint.nn.Hardsigmoid, ROWS)
layer("mint-prelu", mint.nn.PReLU, ROWS)
layer("mint-softshrink", mint.nn.Softshrink, ROWS)
layer("mint-upsample", lambda: mint.nn.Upsample(size=(18, 22), mode="nearest"), IMAGE)
layer("mint-pixel-shuffle", lambda: mint.nn.PixelShuffle(2), IMAGE)
