"""Operators of ONNX by how they bear half precision.

The lists start from MindSpore's automatic mixed precision (its black list of operators that stay in float32) and from
the operators that ONNX's own half precision converter leaves alone; what onnxruntime's CPU kernels refuse in half
precision is added as it was seen.
"""

from __future__ import annotations

GRAPHS = frozenset({"If", "Loop", "Scan"})
"""Operators with graphs in them: these, and what passes in and out, stay in float32."""
NEVER_HALF = GRAPHS | {
    "TopK", "Resize", "Range", "CumSum", "Min", "Max", "Upsample", "NonMaxSuppression", "RoiAlign", "RandomUniform",
    "RandomUniformLike", "RandomNormal", "RandomNormalLike", "Bernoulli", "Multinomial", "EyeLike", "Det", "Scatter",
    "ScatterElements", "ScatterND", "SequenceConstruct", "SequenceEmpty", "SequenceInsert", "SequenceErase",
    "SequenceAt", "SequenceMap", "ConcatFromSequence", "SplitToSequence", "Optional", "OptionalGetElement",
    "BitCast", "DFT", "STFT", "MelWeightMatrix", "HannWindow", "HammingWindow", "BlackmanWindow", "Adagrad", "Adam",
    "Momentum", "MeanVarianceNormalization",
}  # fmt: skip
"""In float32 even where all is to be half: no kernel, or numbers that half precision can't count."""

EXPONENTIAL = frozenset(
    {
        "Softmax", "LogSoftmax", "Hardmax", "Exp", "Log", "Pow", "Reciprocal", "Softplus", "ReduceLogSumExp",
        "ReduceLogSum", "Sin", "Cos", "Tan", "Sinh", "Cosh", "Asin", "Acos", "Asinh", "Acosh", "Atanh",
        "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss",
    }
)  # fmt: skip
"""Operators that make the rounding of their input larger: what is rounded on the way to them is lost to the result, so
all arithmetic back to the matrix product or convolution stays in float32 with them."""
SUMMING = frozenset(
    {
        "LayerNormalization", "GroupNormalization", "InstanceNormalization", "RMSNormalization", "LpNormalization",
        "MeanVarianceNormalization", "LRN", "ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2",
        "ReduceSumSquare", "CumSum", "TopK", "Attention", "ArgMax", "ArgMin", "Equal", "Greater", "GreaterOrEqual",
        "Less", "LessOrEqual", "IsInf", "IsNaN", "NonZero", "Unique",
    }
)  # fmt: skip
"""Operators that sum or compare: they, and the operator that makes their input."""
ALONE = frozenset({"BatchNormalization", "Resize", "Upsample", "Sqrt", "Einsum"})
"""Operators that stay in float32 by themselves. At inference, a batch normalization is a product and a sum with fixed
numbers, which leaves the relative error of what a convolution gives as it is."""

MOVING = frozenset(
    {
        "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Slice", "Split", "Concat", "Expand",
        "Gather", "GatherElements", "GatherND", "Tile", "Pad", "DepthToSpace", "SpaceToDepth", "Cast", "CastLike",
        "ReverseSequence", "Trilu", "Compress", "Dropout",
    }
)  # fmt: skip
"""Operators behind which a number is still the same number."""
ARITHMETIC = frozenset({"Add", "Sub", "Mul", "Div", "Sum", "Neg", "Abs", "Where", "Clip", "Min", "Max", "Mean"})
"""Element-wise arithmetic that keeps the size of an error."""
ROUNDING = frozenset({"Floor", "Ceil", "Round", "Sqrt", "Mod"})
"""What computes sizes and indices, besides."""
LIMITING = frozenset({"Add", "Sub", "Sum", "Where", "Clip", "Min", "Max", "Pad", "Concat", "Expand", "ConstantOfShape"})
"""Operators for which a number beyond the range of half precision means "far away": the largest one means the same."""
