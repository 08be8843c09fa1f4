"""The words and cells of a report on a conversion, whatever file or screen they stand in.

A report is the object that ``--format json`` writes (``mswb.convert/1``); nothing else of a run is needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mswb.files.safety import printable

Report = Mapping[str, Any]
Operator = Mapping[str, Any]

_WORDS: Mapping[str, tuple[str, str]] = {
    "order": ("#", "序号"),
    "op": ("operator", "算子"),
    "node": ("node", "节点"),
    "output": ("output", "输出"),
    "shape": ("shape", "形状"),
    "dtype": ("type", "类型"),
    "local": ("alone", "单独误差"),
    "chain": ("in the chain", "累积误差"),
    "scaled": ("scaled", "相对阈值"),
    "cosine": ("cosine", "余弦"),
    "verdict": ("verdict", "结论"),
    "model": ("model", "模型"),
    "result": ("result", "结果文件"),
    "layers": ("layers", "层"),
    "structure": ("structure", "结构"),
    "weights": ("weights", "权重"),
    "numbers": ("numbers", "数值"),
    "reference": ("reference", "参考"),
    "target": ("compared", "对比对象"),
    "evaluator": ("instead of onnxruntime", "代替 onnxruntime"),
    "shapes": ("inputs", "输入"),
    "operators": ("Operators", "算子"),
    "findings": ("Findings", "发现"),
    "outputs": ("Outputs of the model", "模型输出"),
    "title": ("Conversion report", "转换报告"),
    "name": ("name", "名称"),
    "made by": ("written by mswb", "由 mswb 生成"),
    "ours": ("this side", "本侧"),
    "theirs": ("reference", "参考"),
    "min": ("least", "最小"),
    "max": ("greatest", "最大"),
    "mean": ("mean", "均值"),
    "std": ("std", "标准差"),
    "zeros": ("zeros", "零值占比"),
    "not_finite": ("not finite", "非有限值"),
    "errors": ("absolute errors by decade", "按数量级统计的绝对误差"),
    "exact": ("exact", "完全一致"),
    "infinite": ("infinite", "无穷"),
    "first": ("the first to look at", "首先查看"),
    "reason": ("reason", "原因"),
    "worst": ("worst element", "最差元素"),
    "largest": ("largest error", "最大误差"),
}
VERDICTS: Mapping[str, tuple[str, str]] = {
    "passed": ("fine", "正常"),
    "failed": ("WRONG", "错误"),
    "inherited": ("inherited", "由上游引起"),
    "not-compared": ("not compared", "未比较"),
    "nothing-compared": ("nothing compared", "未比较任何数值"),
    "converted": ("converted", "已转换"),
    "refused": ("refused", "无法转换"),
}
"""Of operators, layers and whole reports."""
BAD = ("failed", "inherited")
MEASURES = ("local", "chain", "scaled", "cosine")
COLUMNS = ("order", "op", "node", "output", "shape", "dtype", *MEASURES, "verdict")
FLOOR = 1e-6
"""The scaled error whose bar is empty."""


def word(name: str, lang: str = "en") -> str:
    """The words of this name."""
    return _WORDS[name][lang == "zh"]


def verdict_word(verdict: str, lang: str = "en") -> str:
    """A verdict in words; one that is not known stays as it is."""
    return VERDICTS[verdict][lang == "zh"] if verdict in VERDICTS else printable(verdict)


def error_text(value: Any) -> str:
    """An error as a person reads it; "" where there is none."""
    if not isinstance(value, (int, float)):
        return ""
    return "0" if value == 0 else f"{value:.1e}" if math.isfinite(value) else "inf"


def number_text(value: Any) -> str:
    """A number of a tensor in five digits."""
    return f"{value:.5g}" if isinstance(value, (int, float)) else ""


def share_text(value: Any) -> str:
    """A share in per cent."""
    return f"{value:.1%}" if isinstance(value, (int, float)) else ""


def shape_text(shape: Sequence[Any] | None) -> str:
    """``[1,3,224,224]``; ? where a size is open."""
    return "" if shape is None else f"[{','.join('?' if size is None else str(size) for size in shape)}]"


def cells(one: Operator, lang: str = "en") -> dict[str, str]:
    """What the columns say of an operator; names of the file may hold anything."""
    cosine, order = one.get("cosine"), one.get("order")
    return {
        "order": "" if order is None else str(order + 1),
        "op": str(one["op"]),
        "node": str(one["node"]),
        "output": str(one["output"]),
        "shape": shape_text(one["output_shape"]),
        "dtype": str(one["dtype"]),
        "local": _error(one["local_max_abs_error"], one.get("local_errors_by_decade")),
        "chain": _error(one["max_abs_error"], one.get("errors_by_decade")),
        "scaled": error_text(worst_scaled(one)),
        "cosine": "" if cosine is None else f"{cosine:.6f}",
        "verdict": verdict_word(one["verdict"], lang),
    }


def _error(value: Any, counted: Any) -> str:
    """JSON has no infinity: an error that was measured and is no number is one."""
    return "inf" if value is None and counted else error_text(value)


def worst_scaled(one: Operator) -> float | None:
    """The scaled error that the verdict rests on: of the operator alone where that is wrong, else the greater one."""
    local, chain = one.get("local_scaled_error"), one.get("scaled_error")
    if one["verdict"] == "failed" and local is not None:
        return float(local)
    known = [float(value) for value in (local, chain) if value is not None]
    return max(known, default=None)


def share(scaled: float | None) -> float:
    """The length of a bar from 0 to 1, logarithmic: full is ten times over the limit."""
    if scaled is None or scaled <= FLOOR:
        return 0.0
    if not math.isfinite(scaled):
        return 1.0
    return min(1.0, (math.log10(scaled) - math.log10(FLOOR)) / (1 - math.log10(FLOOR)))


def first_bad(report: Report) -> Operator | None:
    """The operator to look at first: they stand with it on top."""
    return next((one for one in report["operators"] if one["verdict"] in BAD), None)


def facts(report: Report, lang: str = "en") -> Iterator[tuple[str, str]]:
    """What is told above the table, as names and texts."""
    for name, key in (("model", "input"), ("reference", "reference"), ("result", "output")):
        if report.get(key):
            yield word(name, lang), str(report[key])
    yield word("verdict", lang), verdict_word(report["verdict"], lang)
    layers = report.get("layers") or {}
    if layers:
        told = (f"{word(name, lang)}: {verdict_word(verdict, lang)}" for name, verdict in layers.items())
        yield word("layers", lang), ", ".join(told)
    for name, engine in (report.get("engines") or {}).items():
        yield (word(name, lang) if name in _WORDS else str(name)), str(engine)
    for one in report.get("shapes") or ():
        yield word("shapes", lang), ", ".join(f"{name} {shape_text(shape)}" for name, shape in one.items()) or "-"
    for one in report.get("precisions") or ():
        size, error = f"{one['bytes_written']:,} B", error_text(one["max_abs_error"])
        parts = [str(one["output"]), size, *([f"{word('largest', lang)} {error}"] if error else [])]
        yield str(one["mode"]), ", ".join(parts)
    bad = first_bad(report)
    if bad is not None:
        yield word("first", lang), f"{bad['op']} {bad['node']}"


def statistics(one: Operator, lang: str = "en") -> Iterator[tuple[str, str, str]]:
    """Name, this side and the reference of each number of an operator's tensors."""
    ours, theirs = one.get("statistics") or {}, one.get("reference_statistics") or {}
    for name in ("min", "max", "mean", "std", "zeros", "not_finite") if ours or theirs else ():
        form = share_text if name == "zeros" else number_text
        yield word(name, lang), form(ours.get(name)), form(theirs.get(name))


def histogram(one: Operator, lang: str = "en", *, local: bool = False) -> list[tuple[str, int, float]]:
    """Decade, count, and length of its bar (1 is the most) of an operator's errors."""
    rows = one.get("local_errors_by_decade" if local else "errors_by_decade") or ()
    most = max((row["count"] for row in rows), default=0)
    return [(_decade(row["from"], lang), row["count"], row["count"] / most) for row in rows]


def _decade(start: Any, lang: str) -> str:
    if start == 0:
        return word("exact", lang)
    return word("infinite", lang) if isinstance(start, str) else f"{start:.0e}".replace("e-0", "e-").replace("e+0", "e")
