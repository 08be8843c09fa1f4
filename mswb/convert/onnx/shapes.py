"""Channels and columns that do not fit: onnx.checker and ONNX's inference let most of these pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from onnx import NodeProto, helper

from mswb.convert.facts import plain
from mswb.convert.graph import Shape
from mswb.convert.onnx.model import OnnxModel
from mswb.findings import Where, stop

Rule = Callable[["dict[str, int]", Shape, Shape], str]
"""The problem of an operator's first two operands, or ""; attributes that are numbers come first."""


def check(model: OnnxModel) -> None:
    """See that operands fit one another, as far as shapes are known.

    Raises:
        MswbError: ``model-shape-mismatch``.
    """
    for node in model.proto.graph.node:
        for problem, shapes in _problems(node, model.types):
            name = plain(node.name or node.op_type)
            values = {"name": name, "op": node.op_type, "problem": problem, "shapes": shapes}
            raise stop("model-shape-mismatch", where=Where(node=name, file=model.path), values=values)


def _problems(node: NodeProto, types: Mapping[str, tuple[str, Shape | None]]) -> Iterator[tuple[str, str]]:
    rule = _RULES.get(node.op_type) if node.domain in ("", "ai.onnx") else None
    if rule is None or len(node.input) < 2:
        return
    first, second = (types.get(name, ("", None))[1] for name in node.input[:2])
    if first is None or second is None:
        return
    settings = {one.name: helper.get_attribute_value(one) for one in node.attribute if one.type == one.INT}
    problem = rule(settings, first, second)
    if problem:
        yield problem, " and ".join(str(["?" if size is None else size for size in one]) for one in (first, second))


def _differ(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one != other


def _conv(settings: dict[str, int], x: Shape, w: Shape) -> str:
    if len(x) < 3 or len(x) != len(w):
        return ""
    wanted = None if w[1] is None else w[1] * settings.get("group", 1)
    return f"its weight is made for {wanted} input channels and it gets {x[1]}" if _differ(x[1], wanted) else ""


def _transposed(settings: dict[str, int], x: Shape, w: Shape) -> str:
    if len(x) < 3 or len(x) != len(w) or not _differ(x[1], w[0]):
        return ""
    return f"its weight is made for {w[0]} input channels and it gets {x[1]}"


def _product(settings: dict[str, int], x: Shape, w: Shape) -> str:
    if not x or not w:
        return ""
    return _columns(x[-1], w[-2] if len(w) > 1 else w[0])


def _gemm(settings: dict[str, int], x: Shape, w: Shape) -> str:
    if len(x) != 2 or len(w) != 2:
        return ""
    return _columns(x[0 if settings.get("transA") else 1], w[1 if settings.get("transB") else 0])


def _columns(columns: int | None, rows: int | None) -> str:
    return f"{columns} columns for {rows} rows" if _differ(columns, rows) else ""


def _norm(settings: dict[str, int], x: Shape, scale: Shape) -> str:
    if len(x) < 2 or len(scale) != 1 or not _differ(x[1], scale[0]):
        return ""
    return f"{x[1]} channels for a scale of {scale[0]}"


_RULES: Mapping[str, Rule] = {
    "Conv": _conv,
    "ConvTranspose": _transposed,
    "MatMul": _product,
    "Gemm": _gemm,
    "BatchNormalization": _norm,
    "InstanceNormalization": _norm,
}
