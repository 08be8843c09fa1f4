"""The sentences of the form of a conversion. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mswb.files.safety import printable
from mswb.findings import language
from mswb.ui.screens.convert_form.state import FormState, command
from mswb.ui.widgets.lines import wrap

MOST_ROWS = 4
"""Rows that the command may take."""


class Status(NamedTuple):
    """The row beside the start: a sign, a sentence, a theme variable, and whether it can start."""

    sign: str
    text: str
    colour: str
    can_start: bool


def say(english: str, chinese: str) -> str:
    """The words in the language of this process."""
    return chinese if language() == "zh" else english


LABELS: Mapping[str, tuple[str, str]] = {
    "input_file": ("model", "模型"),
    "output_file": ("write to", "输出文件"),
    "input_format": ("input format", "输入格式"),
    "precision_mode": ("precision", "精度"),
    "input_shape": ("input shapes", "输入形状"),
    "custom_op_config": ("attributes", "算子属性"),
    "freeze": ("freeze inputs", "固定输入"),
    "verify": ("verify", "验证"),
    "seed": ("  seed", "  随机种子"),
    "threshold": ("  threshold", "  阈值"),
    "inputs": ("  inputs", "  输入数据"),
    "python": ("  python", "  解释器"),
}
_HELP: Mapping[str, tuple[str, str]] = {
    "input_file": ("The model: ONNX or MindIR, told by its content.", "模型：ONNX 或 MindIR，按内容识别。"),
    "output_file": ("The file to write. Tab completes.", "要写出的文件。Tab 补全。"),
    "input_format": (
        "NHWC: inputs and outputs of four dimensions are transposed at the edges of the graph.",
        "NHWC：在图的边缘转置四维输入和输出。",
    ),
    "precision_mode": (
        "MIXED keeps sensitive operators, and what feeds them, in float32; ALL writes ONNX in each of the three.",
        "MIXED：敏感算子及其输入的来源保持 float32；ALL：三种精度的 ONNX 各写一份。",
    ),
    "input_shape": (
        "Sizes of inputs, such as x:[1,3,224,224]; ? or -1 stays open. Empty: as they are in the model.",
        "输入尺寸，如 x:[1,3,224,224]；? 或 -1 保持动态。留空：与模型一致。",
    ),
    "custom_op_config": (
        """Attributes by operator or node, as JSON: {"BatchNorm": {"epsilon": 1e-5}}""",
        """按算子或节点指定属性（JSON）：{"BatchNorm": {"epsilon": 1e-5}}""",
    ),
    "freeze": (
        "Inputs that become constants: NAME=VALUE or NAME=file.npy, parted by blanks.",
        "变为常量的输入：NAME=VALUE 或 NAME=file.npy，以空格分隔。",
    ),
    "verify": (
        "Run both models on new inputs, and compare every operator in numbers.",
        "用新的输入运行两个模型，逐个算子比较数值。",
    ),
    "seed": ("Of the random inputs.", "随机输入的种子。"),
    "threshold": (
        "The largest absolute error that passes, such as 1e-5. Empty: limits by data type.",
        "允许的最大绝对误差，如 1e-5。留空：按数据类型的限值。",
    ),
    "inputs": (
        "An .npz file with an array for each input. Empty: random ones.",
        "每个输入一个数组的 .npz 文件。留空：随机。",
    ),
    "python": (
        "A Python that has MindSpore. Empty: the one in the header.",
        "装有 MindSpore 的 Python。留空：标题栏所示。",
    ),
}


def label(name: str) -> str:
    """What stands before a field."""
    return say(*LABELS[name])


def help_of(state: FormState, name: str) -> str:
    """What is wrong with the field in focus and what to do, else what it means."""
    problem = state.problems.get(name)
    if problem is not None:
        return printable("; ".join((problem.title, *problem.advice[:1])))
    return say(*_HELP[name]) if name in _HELP else ""


def title(state: FormState) -> str:
    """What becomes what."""
    ways = {"onnx": "ONNX → MindIR", "mindir": "MindIR → ONNX"}
    return f"{say('Convert', '转换')}  {ways.get(state.kind, '')}".rstrip()


def status(state: FormState) -> Status:
    """Whether it can start, in one sentence."""
    if state.read_only:
        return Status("stopped", say("read-only: nothing is written", "只读：不会写入"), "warning", False)
    problem = next(iter(state.problems.values()), None)
    if problem is not None:
        return Status("error", printable(problem.title), "error", False)
    if not state.is_checked or state.looked is None:
        return Status("starting", say("looking at the model", "正在查看模型"), "text-muted", True)
    if state.looked.replaces:
        return Status(
            "warning", say("ready; it replaces the file that is there", "就绪；将替换已有文件"), "warning", True
        )
    return Status("ok", say("ready", "就绪"), "success", True)


def command_text(state: FormState, width: int) -> str:
    """The command that the form is equal to, in a few rows."""
    rows = wrap(printable(command(state), 20_000), max(10, width))
    return "\n".join((*rows[: MOST_ROWS - 1], f"{rows[MOST_ROWS - 1]} …") if len(rows) > MOST_ROWS else rows)
