"""What the Convert pane says of a model, in English and Chinese."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mswb.files.safety import printable
from mswb.findings import language
from mswb.ui.widgets.table.units import bytes_text

if TYPE_CHECKING:
    from mswb.convert.facts import ModelFacts

MOST = 20
"""Lines of one kind; the rest is counted."""

_WORDS = {
    "inspect": ("Look into", "查看"),
    "converting": ("Convert", "转换"),
    "lint": ("Check", "检查"),
    "reading": ("looking into the model", "正在查看模型"),
    "fine": ("nothing is wrong that MindSpore's loader would hide", "没有 MindSpore 加载器会隐藏的问题"),
    "made": ("Made by", "来源"),
    "graphs": ("Graphs", "图"),
    "nodes": ("nodes", "个节点"),
    "input": ("in", "输入"),
    "output": ("out", "输出"),
    "operators": ("Operators", "算子"),
    "weights": ("Weights", "权重"),
    "more": ("more", "更多"),
    "outside": ("in", "位于"),
    "operator": ("operator", "算子"),
    "operators title": ("operators", "算子"),
    "in the way": ("in the way", "无法转换的原因"),
    "node": ("node", "节点"),
    "alone": ("alone", "单独"),
    "chain": ("chain", "累积"),
    "scaled": ("scaled", "比阈值"),
    "cosine": ("cosine", "余弦"),
    "verdict": ("verdict", "结论"),
    "result": ("output", "输出"),
    "shape": ("shape", "形状"),
    "dtype": ("type", "类型"),
    "count": ("nodes", "节点数"),
    "reason": ("why", "原因"),
    "nearest": ("what helps", "处理"),
    "verdict-first": ("WRONG", "错误"),
    "verdict-failed": ("WRONG", "错误"),
    "verdict-inherited": ("inherited", "上游引起"),
    "verdict-passed": ("fine", "正常"),
    "verdict-not-compared": ("skipped", "未比较"),
    "verdict-converted": ("converted", "已转换"),
    "running": ("at work", "进行中"),
    "passed": ("verification passed", "验证通过"),
    "failed": ("verification failed", "验证失败"),
    "nothing-compared": ("nothing was compared", "未比较任何数值"),
    "converted": ("converted, not verified", "已转换，未验证"),
    "refused": ("can't be converted: nothing was written", "无法转换：未写出文件"),
    "died": ("it did not end well", "未正常结束"),
    "cancelled": ("stopped", "已停止"),
    "structure": ("structure", "结构"),
    "weights-layer": ("weights", "权重"),
    "numbers": ("numbers", "数值"),
    "against": ("against", "对比"),
    "instead": ("instead of onnxruntime", "代替 onnxruntime"),
    "step-convert": ("reading and converting", "正在读取和转换"),
    "step-start": ("starting MindSpore", "正在启动 MindSpore"),
    "step-reference": ("running the reference", "正在运行参考实现"),
    "step-outputs": ("running MindSpore", "正在运行 MindSpore"),
    "step-operators": ("measuring operators", "正在逐算子测量"),
    "waiting": ("x stops it; other panes can be used meanwhile.", "按 x 停止；期间可使用其他页面。"),
    "no operators": ("There is no operator to show.", "没有可显示的算子。"),
    "onnx side": ("ONNX", "ONNX"),
    "mindir side": ("MindSpore", "MindSpore"),
    "inputs": ("inputs", "输入"),
    "shapes": ("shapes", "形状"),
    "default": ("default", "默认"),
    "tensors": ("Tensors", "张量"),
    "ours": ("here", "本侧"),
    "theirs": ("reference", "参考"),
    "errors": ("Absolute errors, in the chain", "绝对误差（累积）"),
    "local errors": ("Absolute errors, alone", "绝对误差（单独）"),
    "worst": ("worst at", "最差位置"),
    "close": ("close to 0.1%", "误差小于 0.1% 的占比"),
    "nan": ("NaN", "NaN"),
    "looking": ("looking at both sides", "正在查看两侧"),
    "advice": ("What to do", "处理"),
    "nodes named": ("Nodes", "节点"),
    "export": ("Write the report to (.json, .md or .html):", "报告写入（.json、.md 或 .html）："),
    "exported": ("written: {path}", "已写出：{path}"),
    "read only": ("read-only: nothing is written", "只读：不会写入"),
    "findings of": ("Conversion of", "转换"),
    "foot none": (
        "Enter or c converts it, d looks into it, L checks a MindIR.",
        "Enter 或 c 转换，d 查看内容，L 检查 MindIR。",
    ),
    "foot other": ("d shows what is known of it.", "d 查看已知信息。"),
    "foot result": ("Enter: result, c: again", "Enter：结果，c：重新转换"),
    "details": ("details", "详情"),
    "command": ("Command", "命令"),
    "call": ("operator", "个算子"),
    "calls": ("operators", "个算子"),
    "mend": ("Look for what mends half precision in", "查找修复半精度的方法："),
    "mend write": ("Write", "写出"),
    "mend question": ("Keep these operators in float32? ({count})", "将以下算子保持为 float32？（{count}）"),
    "mend text": (
        "w writes {target}; casts added: {casts}, fallen away: {removed}. The model itself stays as it is.",
        "按 w 写出 {target}：新增 {casts} 个 Cast，去掉 {removed} 个。原模型不变。",
    ),
    "float32 outputs": ("float32 then: output", "将变为 float32 的输出："),
    "become float32": ("these become float32", "将改为 float32"),
    "before": ("error now", "当前误差"),
    "after": ("error then", "修复后误差"),
    "times before": ("limits now", "当前限值比"),
    "times after": ("limits then", "修复后比值"),
    "nothing to mend": ("half precision is not what is wrong here", "问题不在半精度"),
    "unsupported": ("it is not supported", "不支持"),
}


def word(name: str) -> str:
    """The words of this name, in the language of this process."""
    return _WORDS[name][language() == "zh"]


def facts_text(facts: ModelFacts) -> str:
    """What a model holds, as lines."""
    return "\n".join(printable(line) for line in _lines(facts))


def _lines(facts: ModelFacts) -> Iterator[str]:
    from mswb.convert.facts import value_text

    yield f"{word('made')} {facts.producer or '-'}"
    yield from (f"  {name} {value}" for name, value in facts.versions)
    yield f"{word('graphs')} {len(facts.graphs):,}"
    for graph in facts.graphs[:MOST]:
        yield f"  {graph.name or '-'}: {graph.nodes:,} {word('nodes')}"
        yield from _cut([f"    {word('input')}  {value_text(value)}" for value in graph.inputs])
        yield from _cut([f"    {word('output')} {value_text(value)}" for value in graph.outputs])
    if len(facts.graphs) > MOST:
        yield f"  + {len(facts.graphs) - MOST:,} {word('more')}"
    yield f"{word('operators')} {facts.nodes:,}"
    yield from _cut([f"  {count:,} {name}" for name, count in facts.operators])
    yield f"{word('weights')} {len(facts.weights):,}, {bytes_text(facts.weights_bytes)}"
    yield from _cut([f"  {one.name} {one.dtype} {list(one.shape)} {bytes_text(one.bytes)}" for one in facts.weights])
    yield from _cut([f"  {word('outside')} {file}" for file in facts.external_files])


def _cut(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:MOST]
    if len(lines) > MOST:
        yield f"  + {len(lines) - MOST:,} {word('more')}"
