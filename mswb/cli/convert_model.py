"""``mswb convert --input_file A.onnx``: the conversion itself, and what is told of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mswb.cli import output
from mswb.cli.sizes import human_bytes
from mswb.convert.facts import ValueFacts, plain, value_text
from mswb.files.safety import printable
from mswb.findings import Finding, language

if TYPE_CHECKING:
    from mswb.convert.conversion import Done

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "wrote": "wrote {target} ({size}) from {source}, opset {opset}",
        "refused": "{source} can't be converted; nothing was written",
        "input": "input",
        "output": "output",
        "count": "count",
        "operator": "operator",
        "became": "as MindSpore operators: {calls} in all, {kinds} different",
        "node": "node",
        "result": "result",
    },
    "zh": {
        "wrote": "已写出 {target}（{size}），来自 {source}，opset {opset}",
        "refused": "无法转换 {source}；未写出任何文件",
        "input": "输入",
        "output": "输出",
        "count": "数量",
        "operator": "算子",
        "became": "转换为 MindSpore 算子：共 {calls} 次调用，{kinds} 种",
        "node": "节点",
        "result": "结果",
    },
}


TITLES = {"onnx": "ONNX", "mindir": "MindIR"}


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command as they were given; ``output_file`` is "" when it was not."""

    input_file: str
    output_file: str = ""
    input_format: str = "NCHW"
    output_format: str | None = None
    to_onnx: bool = False
    precision_mode: str = "FP32"
    input_shape: tuple[str, ...] = ()
    custom_op_config: str = ""
    freeze: tuple[str, ...] = ()
    verify: bool = False
    reference: str = ""
    seed: int = 0
    inputs: str = ""
    threshold: float | None = None
    python: str = ""
    report: tuple[str, ...] = ()
    progress: int = -1
    verbose: bool = False
    form: str = "text"


def run(options: Options) -> int:
    """Convert, and tell of it.

    Raises:
        MswbError: wrong usage or unreadable input.
    """
    from mswb.cli import convert_verify
    from mswb.convert import adjust, conversion

    kind = conversion.kind_of(options.input_file)
    direction = _direction(options, kind)
    convert_verify.check_interpreter(options.python)
    tell(options, "convert")
    if not direction:
        check_reports(options, [options.reference])
        return convert_verify.compare_files(options, kind)
    overrides = adjust.parse_overrides(options.custom_op_config) if options.custom_op_config else {}
    shapes, frozen = adjust.parse_shapes(options.input_shape), adjust.parse_frozen(options.freeze)
    if direction == "onnx":
        from mswb.cli import convert_onnx

        return convert_onnx.run(options, shapes, overrides, frozen)
    mode = options.precision_mode.upper()
    if mode == "ALL":
        raise adjust.usage("--precision_mode ALL is for MindIR to ONNX", "choose FP32, FP16 or MIXED")
    target = options.output_file or conversion.beside(options.input_file)
    check_target(options.input_file, target)
    check_reports(options, [target])
    layout = options.input_format.upper()
    request = conversion.Request(options.input_file, target, layout, shapes, overrides, frozen, mode)
    return finish(conversion.perform(request), options)


def _direction(options: Options, kind: str) -> str:
    """What is to be written, "onnx" or "mindir"; "" when a file, or two of them, are only to be verified.

    Raises:
        MswbError: ``usage``: the input is of that kind already.
    """
    from mswb.convert.adjust import usage

    name, form = options.output_file.lower(), (options.output_format or "").upper()
    asked = {
        "onnx": options.to_onnx or form == "ONNX" or name.endswith(".onnx"),
        "mindir": form == "MINDIR" or name.endswith(".mindir"),
    }
    if options.to_onnx and asked["mindir"]:
        raise usage("--to_onnx and an output in MindIR exclude each other", "leave one of them away")
    if options.verify and not options.output_file and not asked["onnx"] and (kind == "mindir" or options.reference):
        return ""
    other = {"onnx": "mindir", "mindir": "onnx"}[kind]
    if asked[kind] and not asked[other]:
        title = TITLES[kind]
        raise usage(f"{options.input_file} is {title} already", f"name an output in {TITLES[other]}, or none")
    return other


def check_target(source: str, target: str) -> None:
    """See that the result does not take the place of the input.

    Raises:
        MswbError: ``usage``.
    """
    from mswb.convert.adjust import usage

    if os.path.exists(target) and os.path.samefile(source, target):
        raise usage("the output would overwrite the input", "give another --output_file")


def finish(done: Done, options: Options) -> int:
    """Tell how a conversion went, and return the exit code: 1 when nothing was written."""
    from mswb.cli import convert_verify

    verified = convert_verify.of_conversion(done, options) if options.verify and done.ok else None
    measured = {} if verified is None else verified.as_json()
    findings = (*done.findings, *(() if verified is None else verified.findings))
    whole = output.report("convert", findings, **{**report(done), **measured})
    write_reports(whole, options)
    if options.form == "json":
        output.emit_object(whole)
    else:
        _show(done, options)
        if verified is not None:
            print()
            convert_verify.show(verified, verbose=options.verbose)
    return int(not done.ok) if verified is None else convert_verify.exit_code(verified)


def check_reports(options: Options, others: Sequence[str]) -> None:
    """See that the reports can be written and take the place of no other file, before anything is done.

    Args:
        others: what is read or written besides the input.

    Raises:
        MswbError: ``report-form``, ``path-unwritable`` or ``usage``.
    """
    from mswb.convert.adjust import usage
    from mswb.convert.verify.report import check

    taken = {os.path.realpath(path) for path in (options.input_file, *filter(None, others))}
    for path in options.report:
        check(path)
        if os.path.realpath(path) in taken:
            raise usage(f"the report {path} would overwrite another file of this command", "give it another name")
        taken.add(os.path.realpath(path))


def write_reports(whole: dict[str, Any], options: Options) -> None:
    """Write the report in each form that is wanted."""
    from mswb.convert.verify.report import write

    for path in options.report:
        write(whole, path, language())


def tell(options: Options, step: str, done: float = 0, total: float = 1) -> None:
    """Tell whoever started this command how far it is, one JSON object a line."""
    if options.progress >= 0:
        import json

        try:
            os.write(options.progress, json.dumps({"step": step, "done": done, "total": total}).encode() + b"\n")
        except BrokenPipeError:
            raise KeyboardInterrupt from None  # whoever waited for it has gone


def report(done: Done) -> dict[str, Any]:
    """The keys of ``mswb.convert/1``; what a verification would measure is null."""
    from mswb.convert.conversion import edges_of

    inputs, outputs = edges_of(done)
    return {
        "verdict": "converted" if done.ok else "refused",
        "engines": {},
        "input": done.request.source,
        "output": done.request.target if done.ok else None,
        "bytes_written": done.bytes_written,
        "opset": done.converted.source.opset,
        "input_format": done.request.layout,
        "precision_mode": done.request.mode,
        "operator_counts": [{"op": name, "count": count} for name, count in done.operators],
        "primitives": [{"op": name, "count": count} for name, count in done.primitives],
        "operators": _operators(done) if done.ok else [],
        "inputs": inputs,
        "outputs": outputs,
    }


def _operators(done: Done) -> list[dict[str, Any]]:
    types = done.converted.source.types
    unmeasured = dict.fromkeys(("max_abs_error", "local_max_abs_error", "scaled_error", "cosine", "worst_index"))
    return [
        {
            "op": plain(node.op_type),
            "node": plain(node.name),
            "output": plain(next(filter(None, node.output), "")),
            "input_shapes": [types.get(name, ("", None))[1] for name in node.input if name],
            "output_shape": types.get(next(filter(None, node.output), ""), ("", None))[1],
            "dtype": types.get(next(filter(None, node.output), ""), ("", None))[0],
            **unmeasured,
            "nan_count": None,
            "verdict": "converted",
            "order": at,
        }
        for at, node in enumerate(done.converted.source.proto.graph.node)
    ]


def _show(done: Done, options: Options) -> None:
    from mswb.convert.conversion import edges_of

    out, words = output.console(), WORDS[language()]
    source = output.short_path(done.request.source)
    if not done.ok:
        show_refused(done.request.source, done.findings)
        return
    head = words["wrote"].format(
        target=output.short_path(done.request.target),
        size=human_bytes(done.bytes_written),
        source=source,
        opset=done.converted.source.opset,
    )
    out.print(printable(head), style="bold green")
    show_edges(*edges_of(done))
    print()
    output.show_table(
        [words["count"], words["operator"]], [(f"{count:,}", name) for name, count in done.operators], right=(0,)
    )
    calls = sum(count for _, count in done.primitives)
    out.print(words["became"].format(calls=calls, kinds=len(done.primitives)))
    if options.verbose:
        print()
        show_nodes(_operators(done))
    show_notes(done.findings)


def show_refused(source: str, findings: Sequence[Finding]) -> None:
    """All that blocks a conversion."""
    text = WORDS[language()]["refused"].format(source=output.short_path(source))
    output.console().print(printable(text), style="bold red")
    output.show_findings([_with_nodes(one) for one in findings if one.severity == "error"], lang=language())
    show_notes([one for one in findings if one.severity != "error"])


def _with_nodes(finding: Finding) -> Finding:
    """The finding with the names of its nodes as evidence, when it has several."""
    from dataclasses import replace

    nodes = finding.values.get("nodes", ())
    return replace(finding, evidence="\n".join(nodes)) if len(nodes) > 1 else finding


def show_edges(inputs: Sequence[ValueFacts], outputs: Sequence[ValueFacts]) -> None:
    """Inputs and outputs with their types."""
    words = WORDS[language()]
    named = [*((words["input"], value) for value in inputs), *((words["output"], value) for value in outputs)]
    output.show_table(["", ""], [(word, value_text(value)) for word, value in named])


def show_nodes(operators: Sequence[Mapping[str, Any]]) -> None:
    """Every node of a report, with its result."""
    words = WORDS[language()]
    rows = [
        (one["op"], one["node"], value_text(ValueFacts(one["output"], one["dtype"], _open(one["output_shape"]))))
        for one in operators
    ]
    output.show_table([words["operator"], words["node"], words["result"]], rows)


def _open(shape: tuple[int | None, ...] | None) -> tuple[int | str, ...] | None:
    return None if shape is None else tuple("?" if size is None else size for size in shape)


def show_notes(findings: Sequence[Finding]) -> None:
    """Notes in a line each, then warnings with what to do."""
    warnings = [one for one in findings if one.severity != "note"]
    out = output.console()
    for one in findings:
        if one.severity == "note":
            out.print(printable(f"{output.mark('note')} {one.title}"), style=output.MARKS["note"][2])
    output.show_findings(warnings, lang=language())
