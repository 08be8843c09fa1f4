"""``mswb convert --input_file A.mindir``: to ONNX, in one precision or in all of them, and what is told of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mswb.cli import convert_verify, output
from mswb.cli.convert_model import (
    Options,
    check_reports,
    check_target,
    show_edges,
    show_nodes,
    show_notes,
    show_refused,
    write_reports,
)
from mswb.cli.convert_verify import number, shape_text
from mswb.cli.sizes import human_bytes
from mswb.convert.facts import plain
from mswb.files.safety import printable
from mswb.findings import Finding, language

if TYPE_CHECKING:
    from onnx import NodeProto

    from mswb.convert.adjust import Overrides, Sizes
    from mswb.convert.graph import Array
    from mswb.convert.onnx_conversion import Done
    from mswb.convert.precision.errors import Errors

ALL = "ALL"
WORDS: dict[str, dict[str, str]] = {
    "en": {
        "wrote": "wrote {target} ({size}) from {source}, ONNX opset {opset}, {mode}",
        "count": "count",
        "operator": "operator",
        "became": "as ONNX operators: {calls} in all, {kinds} different",
        "halves": "{halves} of {nodes} operators with fractions compute in float16",
        "mode": "precision",
        "size": "size",
        "error": "largest error",
        "share": "in float16",
        "file": "file",
        "against": "errors of the outputs on {inputs} ({shapes}): {target} against {reference}",
        "random": "random inputs",
        "unmeasured": "the errors were not measured: {reason}",
    },
    "zh": {
        "wrote": "已写出 {target}（{size}），来自 {source}，ONNX opset {opset}，{mode}",
        "count": "数量",
        "operator": "算子",
        "became": "转换为 ONNX 算子：共 {calls} 个，{kinds} 种",
        "halves": "{nodes} 个浮点算子中有 {halves} 个以 float16 计算",
        "mode": "精度模式",
        "size": "大小",
        "error": "最大误差",
        "share": "float16 算子",
        "file": "文件",
        "against": "{inputs}（{shapes}）下的输出误差：{target} 与 {reference} 对比",
        "random": "随机输入",
        "unmeasured": "未测量误差：{reason}",
    },
}


def run(options: Options, shapes: Mapping[str, Sizes], overrides: Overrides, frozen: Mapping[str, Array]) -> int:
    """Convert, tell of it, and return the exit code: 1 when nothing was written.

    Raises:
        MswbError: wrong usage, unreadable input, or a file that can't be written.
    """
    from mswb.convert.adjust import usage
    from mswb.convert.onnx_conversion import Request, is_origin, perform_all

    targets = targets_of(options)
    for target in targets.values():
        check_target(options.input_file, target)
        if not options.output_file and is_origin(options.input_file, target):
            raise usage(f"{target} is what {options.input_file} was made from", "name the result: --output_file")
    check_reports(options, list(targets.values()))
    first = next(iter(targets.values()))
    request = Request(
        options.input_file, first, layout=options.input_format.upper(), shapes=shapes, overrides=overrides,
        frozen=frozen,
    )  # fmt: skip
    done = perform_all(request, targets)
    errors = _measured(done, options) if len(done) > 1 else None
    verified = convert_verify.of_written(done[0], options) if options.verify and done[0].ok else None
    findings = [*_findings(done), *(() if verified is None else verified.findings)]
    told = {**report(done, errors), **({} if verified is None else verified.as_json())}
    whole = output.report("convert", findings, **told)
    write_reports(whole, options)
    if options.form == "json":
        output.emit_object(whole)
    else:
        _show(done, errors, options)
        if verified is not None:
            print()
            convert_verify.show(verified, verbose=options.verbose)
    return int(not done[0].ok) if verified is None else convert_verify.exit_code(verified)


def targets_of(options: Options) -> dict[str, str]:
    """The file of each precision: the one that was named, or beside the model; FILE_fp16.onnx and so on for all."""
    from mswb.convert.onnx_conversion import SUFFIX
    from mswb.convert.precision.modes import MODES

    named = options.output_file or f"{os.path.splitext(options.input_file)[0]}{SUFFIX}"
    mode = options.precision_mode.upper()
    if mode != ALL:
        return {mode: named}
    stem = named.removesuffix(SUFFIX)
    return {one: f"{stem}_{one.lower()}{SUFFIX}" for one in MODES}


def _measured(done: Sequence[Done], options: Options) -> Errors:
    from mswb.cli.convert_verify import wanted
    from mswb.convert.precision.errors import measure

    return measure(done, wanted(options))


def _findings(done: Sequence[Done]) -> list[Finding]:
    """All findings, those that several files share once."""
    found: list[Finding] = []
    for one in done:
        found += [finding for finding in one.findings if finding not in found]
    return found


def report(done: Sequence[Done], errors: Errors | None) -> dict[str, Any]:
    """The keys of ``mswb.convert/1``; what a verification would measure is null."""
    from mswb.convert.onnx.graph import OPSET
    from mswb.convert.onnx_conversion import edges_of

    first = done[0]
    inputs, outputs = edges_of(first)
    return {
        "verdict": "converted" if first.ok else "refused",
        "engines": dict(errors.engines) if errors is not None else {},
        "input": first.request.source,
        "output": first.request.target if first.ok else None,
        "bytes_written": first.bytes_written,
        "opset": OPSET,
        "input_format": first.request.layout,
        "precision_mode": first.request.mode if errors is None else ALL,
        "precisions": [_precision(one, errors) for one in done if one.ok],
        "operator_counts": [{"op": name, "count": count} for name, count in first.operators],
        "primitives": [{"op": name, "count": count} for name, count in first.primitives],
        "operators": operators(first),
        "inputs": inputs,
        "outputs": outputs,
    }


def _precision(done: Done, errors: Errors | None) -> dict[str, Any]:
    return {
        "mode": done.request.mode,
        "output": done.request.target,
        "bytes_written": done.bytes_written,
        "max_abs_error": errors.largest.get(done.request.mode) if errors is not None else None,
        "float16_nodes": done.halves,
        "nodes": done.nodes,
    }


def operators(done: Done) -> list[dict[str, Any]]:
    """The nodes of the model that was written."""
    if done.model is None:
        return []
    from mswb.convert.onnx_conversion import types_in

    types = types_in(done)
    measures = ("max_abs_error", "local_max_abs_error", "scaled_error", "cosine", "worst_index", "nan_count")
    return [
        {
            "op": plain(node.op_type),
            "node": plain(node.name),
            "output": plain(_result(node)),
            "input_shapes": [types.get(name, ("", None))[1] for name in node.input if name],
            "output_shape": types.get(_result(node), ("", None))[1],
            "dtype": types.get(_result(node), ("", None))[0],
            **dict.fromkeys(measures),
            "verdict": "converted",
            "order": at,
        }
        for at, node in enumerate(done.model.graph.node)
    ]


def _result(node: NodeProto) -> str:
    return next(filter(None, node.output), "")


# -- text


def _show(done: Sequence[Done], errors: Errors | None, options: Options) -> None:
    from mswb.convert.onnx.graph import OPSET
    from mswb.convert.onnx_conversion import edges_of

    out, words, first = output.console(), WORDS[language()], done[0]
    if not first.ok:
        show_refused(options.input_file, first.findings)
        return
    for one in done:
        head = words["wrote"].format(
            target=output.short_path(one.request.target), size=human_bytes(one.bytes_written),
            source=output.short_path(options.input_file), opset=OPSET, mode=one.request.mode,
        )  # fmt: skip
        out.print(printable(head), style="bold green")
    show_edges(*edges_of(first))
    if errors is not None:
        print()
        _show_precisions(done, errors, options.inputs or words["random"], words)
    print()
    output.show_table(
        [words["count"], words["operator"]], [(f"{count:,}", name) for name, count in first.primitives], right=(0,)
    )
    calls = sum(count for _, count in first.operators)
    out.print(words["became"].format(calls=calls, kinds=len(first.operators)))
    if first.request.mode != "FP32":
        out.print(words["halves"].format(halves=first.halves, nodes=first.nodes))
    if options.verbose:
        print()
        show_nodes(operators(first))
    show_notes(_findings(done))


def _show_precisions(done: Sequence[Done], errors: Errors, inputs: str, words: dict[str, str]) -> None:
    rows = [
        (
            one.request.mode,
            human_bytes(one.bytes_written),
            number(errors.largest.get(one.request.mode)) or "-",
            f"{one.halves}/{one.nodes}",
            output.short_path(one.request.target),
        )
        for one in done
    ]
    output.show_table([words[name] for name in ("mode", "size", "error", "share", "file")], rows, right=(1, 2, 3))
    if errors.engines:
        shapes = ", ".join(f"{name} {shape_text(shape)}" for name, shape in errors.shapes.items()) or "-"
        text = words["against"].format(inputs=inputs, shapes=shapes, **errors.engines)
        output.console().print(printable(text))
    if errors.reason:
        output.console().print(printable(words["unmeasured"].format(reason=errors.reason)), style="yellow")
