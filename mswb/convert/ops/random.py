"""Operators that draw random numbers. A converted model can't draw the same ones, so nothing could check it."""

from __future__ import annotations

from collections.abc import Mapping

from mswb.convert.graph import Builder, Value
from mswb.convert.onnx.node import Lower, OnnxNode, Refused


def _refuse(node: OnnxNode, b: Builder) -> Value:
    raise Refused(
        "it draws random numbers, which no other program draws alike",
        nearest="make the numbers an input of the model",
    )


TO_MINDIR: Mapping[str, Lower] = dict.fromkeys(
    ["Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"], _refuse
)
