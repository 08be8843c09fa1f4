"""``mswb convert --verify``: what a verification found, for people and programs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mswb.cli import output
from mswb.files.safety import printable
from mswb.findings import Where, language, stop

if TYPE_CHECKING:
    from rich.console import Console

    from mswb.cli.convert_model import Options as Request
    from mswb.convert.conversion import Done
    from mswb.convert.onnx_conversion import Done as Written
    from mswb.convert.verify.result import Operator, Options, Verification

MOST = 10
"""Operators in the table."""
WORDS: dict[str, dict[str, str]] = {
    "en": {
        "operator": "operator",
        "node": "node",
        "local": "alone",
        "chain": "in the chain",
        "scaled": "scaled",
        "cosine": "cosine",
        "worst": "worst at",
        "verdict": "verdict",
        "failed": "WRONG",
        "inherited": "inherited",
        "passed": "fine",
        "not-compared": "not compared",
        "layers": "structure {structure}, weights {weights}, numbers {numbers}",
        "layer-passed": "fine",
        "layer-failed": "WRONG",
        "layer-not-compared": "not compared",
        "compared": "{reference} against {target}; operators: {operators}, outputs: {outputs}; {shapes}",
        "evaluator": "instead of onnxruntime: {evaluator}",
        "more": "… and {count} more: -v lists all",
        "pass": "Verification passed",
        "fail": "Verification failed: {what}",
        "incomplete": "Verification incomplete: {what}",
    },
    "zh": {
        "operator": "算子",
        "node": "节点",
        "local": "单独",
        "chain": "累积",
        "scaled": "相对阈值",
        "cosine": "余弦",
        "worst": "最差位置",
        "verdict": "结论",
        "failed": "错误",
        "inherited": "由上游引起",
        "passed": "正常",
        "not-compared": "未比较",
        "layers": "结构 {structure}，权重 {weights}，数值 {numbers}",
        "layer-passed": "正常",
        "layer-failed": "错误",
        "layer-not-compared": "未比较",
        "compared": "{reference} 与 {target} 对比；算子：{operators}，输出：{outputs}；{shapes}",
        "evaluator": "代替 onnxruntime：{evaluator}",
        "more": "… 另有 {count} 个：-v 全部列出",
        "pass": "Verification passed",
        "fail": "Verification failed: {what}",
        "incomplete": "Verification incomplete: {what}",
    },
}
"""The last line is the same in every language: scripts look for it."""


def interpreter(named: str = "") -> str:
    """The Python that has MindSpore; "" when the one that trainings run in has none.

    Raises:
        MswbError: ``interpreter-unusable``: the one that was named is none.
    """
    from mswb.env.interpreter import find_interpreter
    from mswb.settings import load_settings

    found = find_interpreter(named or None, load_settings(), os.environ)
    return found.path if found.mindspore_version is not None else ""


def check_interpreter(named: str) -> None:
    """See that a Python that is named has MindSpore, before anything is done with it.

    Raises:
        MswbError: ``interpreter-unusable``.
    """
    if named and not interpreter(named):
        values = {"path": named, "source": "--python", "reason": "it has no MindSpore"}
        raise stop("interpreter-unusable", where=Where(file=named), values=values)


def of_conversion(done: Done, options: Request) -> Verification:
    """Verify what a conversion wrote.

    Raises:
        MswbError: the inputs don't fit, or the interpreter that is named is none.
    """
    from dataclasses import replace

    from mswb.convert.verify.written import verify_made

    asked = done.request
    untouched = asked.layout == "NCHW" and not asked.overrides
    how = replace(wanted(options), frozen=asked.frozen, untouched=untouched)
    return verify_made(done.reference, asked.target, how)


def of_written(done: Written, options: Request) -> Verification:
    """Verify an ONNX file that a conversion wrote.

    Raises:
        MswbError: the inputs don't fit, or the interpreter that is named is none.
    """
    from dataclasses import replace

    from mswb.convert.verify.written import verify_written

    asked = done.request
    return verify_written(asked.target, asked.source, replace(wanted(options), frozen=asked.frozen))


def compare_files(options: Request, kind: str) -> int:
    """Verify a MindIR file against ``--reference``, or exact arithmetic without; tell of it, return the exit code.

    Args:
        kind: of the input: a file in ONNX is verified against a MindIR file.

    Raises:
        MswbError: a file can't be read.
    """
    from mswb.cli.convert_model import write_reports
    from mswb.convert.verify.alone import verify_alone
    from mswb.convert.verify.written import verify_pair

    if kind == "onnx":
        found = verify_pair(options.input_file, options.reference, wanted(options))
    elif options.reference:
        found = verify_pair(options.reference, options.input_file, wanted(options))
    else:
        found = verify_alone(options.input_file, wanted(options))
    told = {"input": options.input_file, "reference": options.reference or None, **found.as_json()}
    whole = output.report("convert", found.findings, **told)
    write_reports(whole, options)
    if options.form == "json":
        output.emit_object(whole)
    else:
        show(found, verbose=options.verbose)
    return exit_code(found)


def wanted(options: Request) -> Options:
    """What a verification is asked for.

    Raises:
        MswbError: ``interpreter-unusable``: the interpreter that is named is none.
    """
    from mswb.cli.convert_model import tell
    from mswb.convert.verify.result import Options as Wanted

    return Wanted(
        python=interpreter(options.python),
        seed=options.seed,
        inputs_file=options.inputs,
        threshold=options.threshold,
        progress=lambda step, done, total: tell(options, step, done, total),
    )


def exit_code(found: Verification) -> int:
    """0 only for a verification that passed."""
    return int(found.verdict != "passed")


def show(found: Verification, *, verbose: bool = False) -> None:
    """Tell of a verification; its last line is the verdict."""
    out, words = output.console(), WORDS[language()]
    layers = {name: words[f"layer-{verdict}"] for name, verdict in found.layers.items()}
    out.print(words["layers"].format(**layers))
    if found.engines:
        _show_engines(out, found, words)
    if verbose:
        for one in sorted(found.operators, key=lambda one: one.at):
            print(output.safe_line(verbose_line(one)))
    if found.operators:
        print()
        _show_table(found.worst_first, words, all_of_them=verbose)
    if found.findings:
        print()
        output.show_findings(found.findings, lang=language())
    style = "bold green" if found.verdict == "passed" else "bold red"
    out.print(printable(last_line(found)), style=style, soft_wrap=True)


def _show_engines(out: Console, found: Verification, words: dict[str, str]) -> None:
    shapes = "; ".join(
        ", ".join(f"{name} {shape_text(shape)}" for name, shape in one.items()) for one in found.shapes if one
    )
    text = words["compared"].format(
        reference=found.engines["reference"],
        target=found.engines["target"],
        operators=len(found.operators),
        outputs=len({one.name for one in found.outputs}),
        shapes=shapes or "-",
    )
    out.print(printable(text))
    if "evaluator" in found.engines:
        out.print(printable(words["evaluator"].format(evaluator=found.engines["evaluator"])))


def _show_table(operators: Sequence[Operator], words: dict[str, str], *, all_of_them: bool) -> None:
    shown = operators if all_of_them else operators[:MOST]
    heads = [words[name] for name in ("operator", "node", "local", "chain", "scaled", "cosine", "worst", "verdict")]
    output.show_table(heads, [_row(one, words) for one in shown], right=(2, 3, 4, 5))
    if len(shown) < len(operators):
        print(words["more"].format(count=len(operators) - len(shown)))


def _row(one: Operator, words: dict[str, str]) -> tuple[str, ...]:
    shown = one.decisive
    local, chain = one.local, one.accumulated
    return (
        one.op,
        one.node,
        number(local.max_abs_error if local else None),
        number(chain.max_abs_error if chain else None),
        number(shown.scaled_error if shown else None),
        "" if shown is None or shown.cosine is None else f"{shown.cosine:.6f}",
        "" if shown is None or shown.worst_index is None else shape_text(shown.worst_index),
        words[one.verdict],
    )


def verbose_line(one: Operator) -> str:
    """``[VERIFY] Op: NAME, input_shape: ..., output_shape: ..., max_abs_error: ...`` and what is known beyond."""
    shapes = " ".join(map(shape_text, one.input_shapes)) or "[]"
    chain = one.accumulated if one.accumulated is not None else one.local
    parts = [
        f"[VERIFY] Op: {one.op}",
        f"input_shape: {shapes}",
        f"output_shape: {shape_text(one.output_shape)}",
        f"max_abs_error: {number(chain.max_abs_error if chain else None) or '-'}",
        f"local_max_abs_error: {number(one.local.max_abs_error if one.local else None) or '-'}",
        f"node: {one.node}",
    ]
    return ", ".join(parts) + {"failed": " ← WRONG", "inherited": " ← inherited"}.get(one.verdict, "")


def last_line(found: Verification) -> str:
    """The verdict: passed, or what failed first, its error and its limit."""
    from mswb.convert.verify.conversion import detail

    words = WORDS[language()]
    if found.verdict == "passed":
        return words["pass"]
    bad, first = found.first_bad, next(iter(found.findings), None)
    output_failed = next((one for one in found.outputs if one.comparison.verdict == "failed"), None)
    if bad is not None and bad.decisive is not None:
        what = f"{bad.op} {bad.node}, {detail(bad.decisive)}"
    elif bad is not None:
        what = f"{bad.op} {bad.node}, {bad.reason}"
    elif output_failed is not None:
        what = f"output {output_failed.name}, {detail(output_failed.comparison)}"
    else:
        what = first.title if first is not None else "-"
    return words["fail" if found.verdict == "failed" else "incomplete"].format(what=what)


def shape_text(shape: Sequence[int]) -> str:
    """``[1,3,224,224]``"""
    return f"[{','.join(map(str, shape))}]"


def number(value: float | None) -> str:
    """An error as a person reads it."""
    return "" if value is None else "0" if value == 0 else f"{value:.1e}"
