"""Conversions in the Convert pane, and their form, from states as literals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mswb.convert.verify.sides import Call, Sides
from mswb.findings import Finding, Where, make
from mswb.flows.convert_job import Step, finding_of
from mswb.ui.panes.convert.mend import MendScreen
from mswb.ui.panes.convert.state import ConvertState, Work
from mswb.ui.screens.convert_form.screen import ConvertForm
from mswb.ui.screens.convert_form.state import FormState, Looked
from tests.ui.scenes.inventory import MODELS, looked
from tests.ui.scenes.stage import PROJECT, Scene, Stage
from tests.unit.convert.reports import failed, operator, passed

VALUES = {"input_file": "models/net.onnx", "verify": "true", "input_shape": "x:[?,3,224,224]"}
ONNX = Looked(VALUES, "onnx", "models/net.mindir", "x:[?,3,224,224]")
MINDIR = {**VALUES, "input_file": "models/net.mindir", "precision_mode": "MIXED"}
ATTRIBUTES = make(
    "usage", values={"problem": "--custom_op_config is not JSON: Expecting value", "fix": "write {...}"}, lang="en"
)
SOFTMAX = Sides(
    Call("Softmax", "softmax", ("scores",), (("axis", "-1"),)),
    (
        Call("ReduceMax", "softmax/ReduceMax", ("mix/MatMul",), (("axis", "(1)"), ("keep_dims", "True"))),
        Call("Sub", "softmax/Sub", ("mix/MatMul", "softmax/ReduceMax")),
        Call("Exp", "softmax/Exp", ("softmax/Sub",)),
        Call("ReduceSum", "softmax/ReduceSum", ("softmax/Exp",), (("axis", "(1)"), ("keep_dims", "True"))),
        Call("Div", "softmax/Div", ("softmax/Exp", "softmax/ReduceSum")),
    ),
)
CONV = Sides(
    Call("Conv", "conv1", ("x", "w1"), (("pads", "[3, 3, 3, 3]"),), (("group", "1"), ("auto_pad", "NOTSET"))),
    (Call("Conv2D", "conv1/Conv2D", ("x",), (("[1]", "float32 [64, 3, 7, 7]"), ("pad_mode", "pad"))),),
)


def blocked(op: str, reason: str, nodes: tuple[str, ...]) -> Finding:
    """An operator that can't be converted."""
    values = {"name": nodes[0], "op": op, "reason": reason, "nearest": "write it in another way", "near": "",
              "count": len(nodes), "more": "", "nodes": list(nodes)}  # fmt: skip
    code = "unsupported-form" if reason else "unsupported-op"
    return make(code, where=Where(node=nodes[0], file=f"{PROJECT}/models/net.onnx"), values=values, lang="en")


REFUSED = (
    blocked("odd.ReluGemm", "", ("fused_1", "fused_2", "fused_3")),
    blocked("Unique", "the number of its results is only known when it runs", ("classes/unique",)),
    blocked("StringNormalizer", "", ("tokens",)),
)
DIED = make("conversion-died", evidence="", values={"how": "signal 9", "command": "mswb convert"}, lang="en")


def work(number: int = 1, **facts: Any) -> Work:
    """A conversion of the first model."""
    words = ("--input_file", "models/net.onnx", "--verify")
    return Work(number, f"{PROJECT}/models/net.onnx", str(PROJECT), VALUES, words, **facts)


def done(report: dict[str, Any], *findings: Finding) -> Work:
    """A conversion that has ended with this report."""
    told = tuple(map(finding_of, report["findings"])) or findings
    return work(status="done", report=report, findings=told)


def shown(one: Work, **facts: Any) -> ConvertState:
    """It is looked at."""
    sides = {(1, "softmax_out"): SOFTMAX, (1, "conv1_out"): CONV}
    return ConvertState((one,), one.number, numbers=one.number, sides=sides, **facts)


def results(state: ConvertState, *keys: str, **named: Any) -> Scene:
    """The pane with these conversions, and keys pressed in it."""

    async def play(stage: Stage) -> None:
        stage.pane.show(looked(MODELS))
        stage.pane.show_works(state)
        await stage.settled()
        (stage.pane.result.front if state.shown is not None else stage.pane.table).focus()
        await stage.press(*keys)

    return Scene(play, pane="convert", **named)


def form(state: FormState, *keys: str, **named: Any) -> Scene:
    """The form with this state; it asks neither disk nor host."""

    async def play(stage: Stage) -> None:
        screen = ConvertForm(stage.app.context, state)
        screen.ask = lambda name, work, done: None  # type: ignore[method-assign]
        await stage.app.push_screen(screen)
        await stage.settled()
        await stage.press(*keys)

    return Scene(play, **named)


def mend(*keys: str, **named: Any) -> Scene:
    """What would mend half precision, over the list."""

    async def play(stage: Stage) -> None:
        await stage.app.push_screen(MendScreen(MENDING, "models/net_fixed.mindir"))
        await stage.settled()
        await stage.press(*keys)

    return Scene(play, **named)


MENDING = {
    "changes": [
        {"op": "Cast", "node": "Cast-op0", "output": "a", "before": operator(16, "Cast", "Cast-op0"),
         "after": operator(17, "Cast", "Cast-op0", local_max_abs_error=1e-8, local_scaled_error=1e-4)},
        {"op": "Softmax", "node": "attention/Softmax-op0", "output": "b",
         "before": operator(18, "Softmax", "Softmax-op0", "failed"), "after": operator(19, "Softmax", "Softmax-op0")},
        {"op": "Cast", "node": "Cast-op1", "output": "c", "before": operator(20, "Cast", "Cast-op1"), "after": None},
    ],
    "casts": 1,
    "casts_removed": 2,
    "float32_outputs": ["probabilities"],
}  # fmt: skip
REPORT, WRONG = passed(), failed()
NOTHING = {
    **passed(),
    "operators": [],
    "verdict": "refused",
    "layers": {},
    "engines": {},
    "shapes": [],
    "primitives": [],
    "output": None,
}
UNVERIFIED = {
    **passed(), "verdict": "converted", "layers": {}, "engines": {}, "shapes": [],
    "operators": [
        {**one, "verdict": "converted", "max_abs_error": None, "local_max_abs_error": None, "scaled_error": None,
         "local_scaled_error": None, "cosine": None, "errors_by_decade": [], "local_errors_by_decade": [],
         "statistics": None, "reference_statistics": None, "worst_index": None, "close_share": None}
        for one in passed()["operators"]
    ],
}  # fmt: skip
ALL = {
    **UNVERIFIED,
    "precisions": [
        {"mode": "FP32", "output": "a", "bytes_written": 281_000, "max_abs_error": 1e-7},
        {"mode": "FP16", "output": "b", "bytes_written": 141_000, "max_abs_error": 2.5e-3},
        {"mode": "MIXED", "output": "c", "bytes_written": 152_000, "max_abs_error": 3e-5},
    ],
}
READY = FormState(VALUES, ONNX)
OTHERS = (
    replace(done(WRONG), number=1),
    replace(work(2, step=Step("operators", 12, 30)), source=f"{PROJECT}/models/net.mindir"),
)
SCENES = {
    "form": form(READY),
    "form_replaces": form(replace(READY, looked=replace(ONNX, replaces=True))),
    "form_looking": form(FormState({"input_file": "models/net.onnx", "verify": "true"})),
    "form_mindir": form(FormState(MINDIR, Looked(MINDIR, "mindir", "models/net_mindir.onnx", VALUES["input_shape"]))),
    "form_wrong": form(
        FormState(
            {**VALUES, "custom_op_config": "{"},
            replace(ONNX, values={**VALUES, "custom_op_config": "{"}, problems={"custom_op_config": ATTRIBUTES}),
        ),
        *("tab",) * 3,
    ),
    "form_all": form(FormState({**MINDIR, "precision_mode": "ALL"}, Looked({}, "mindir", "models/net.onnx"))),
    "form_unverified": form(replace(READY, values={**VALUES, "verify": ""}), "tab", "tab"),
    "form_read_only": form(replace(READY, read_only=True), options={"read_only": True}),
    "form_chinese": form(READY, config='lang = "zh"\n'),
    "running": results(shown(work(step=Step("operators", 12, 30)))),
    "passed": results(shown(done(REPORT))),
    "failed": results(shown(done(WRONG))),
    "failed_details": results(shown(done(WRONG)), "enter"),
    "failed_details_end": results(shown(done(WRONG)), "d", "G"),
    "failed_sorted": results(shown(done(WRONG)), "greater_than_sign", "s"),
    "failed_filtered": results(shown(done(WRONG)), "slash", *"conv1", "enter"),
    "failed_chinese": results(shown(done(WRONG)), config='lang = "zh"\n'),
    "failed_ascii": results(shown(done(WRONG)), options={"ascii": True}),
    "converted": results(shown(done(UNVERIFIED))),
    "precisions": results(shown(done(ALL))),
    "refused": results(shown(done(NOTHING, *REFUSED))),
    "refused_details": results(shown(done(NOTHING, *REFUSED)), "enter"),
    "refused_chinese": results(shown(done(NOTHING, *REFUSED)), config='lang = "zh"\n'),
    "mend": mend(),
    "mend_chinese": mend(config='lang = "zh"\n'),
    "died": results(shown(work(status="failed", findings=(DIED,)))),
    "cancelled": results(shown(work(status="cancelled"))),
    "listed": results(ConvertState(OTHERS, None, numbers=2)),
    "listed_running": results(ConvertState(OTHERS, None, numbers=2), "j"),
}
"""Every state of a conversion and of its form."""
