"""``mswb convert``: its options convert a model, ``lint`` checks a MindIR file, ``inspect`` tells what a file holds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import click

from mswb.cli import output
from mswb.cli.sizes import human_bytes
from mswb.convert.facts import GraphFacts, ModelFacts, WeightFacts, value_text
from mswb.files.safety import printable
from mswb.findings import Finding, language

MOST = 10
"""Weights and user_info entries that are listed in text without --all; JSON holds all of them."""
MOST_TEXT = 200
"""Characters of one user_info entry."""

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "fine": "fine: nothing is wrong that MindSpore's loader would hide",
        "functions": "functions",
        "producer": "made by",
        "size": "size",
        "inputs": "input",
        "outputs": "output",
        "external": "weights in",
        "graph": "graph",
        "operators": "operators",
        "count": "count",
        "operator": "operator",
        "weight": "weight",
        "dtype": "type",
        "shape": "shape",
        "bytes": "bytes",
        "more": "… and {count} more: --all shows them",
        "user_info": "user info",
    },
    "zh": {
        "fine": "正常：没有 MindSpore 加载器会隐藏的问题",
        "functions": "个函数",
        "producer": "来源",
        "size": "大小",
        "inputs": "输入",
        "outputs": "输出",
        "external": "权重文件",
        "graph": "图",
        "operators": "算子",
        "count": "数量",
        "operator": "算子",
        "weight": "权重",
        "dtype": "类型",
        "shape": "形状",
        "bytes": "字节",
        "more": "… 另有 {count} 项：--all 全部显示",
        "user_info": "用户信息",
    },
}

COUNTED: dict[str, dict[str, tuple[str, str]]] = {
    "en": {
        "error": ("error", "errors"),
        "warning": ("warning", "warnings"),
        "note": ("note", "notes"),
        "nodes": ("node", "nodes"),
        "weights": ("weight", "weights"),
    },
    "zh": {
        "error": ("个错误", "个错误"),
        "warning": ("个警告", "个警告"),
        "note": ("条说明", "条说明"),
        "nodes": ("个节点", "个节点"),
        "weights": ("个权重", "个权重"),
    },
}
"""What is counted: the word for one, and for several."""


def _choice(*names: str) -> click.Choice[str]:
    return click.Choice(names, case_sensitive=False)


class Limit(click.FloatRange):
    """A number that an error may be at most."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if found != found:  # not a number
            self.fail(f"{value} is no number.", param, ctx)
        return found


class ConvertGroup(click.Group):
    """A group that is a command, too: ``--input_file`` converts, a name of a sub-command does something else."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, joined(args))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and os.path.exists(args[0]):
            raise click.UsageError(f"'{args[0]}' stands where an option belongs: --input_file {args[0]}", ctx)
        return super().resolve_command(ctx, args)


def joined(arguments: list[str]) -> list[str]:
    """The arguments with what a shell parted at the blanks of an unquoted ``name:[1, 3]`` made one again."""
    result: list[str] = []
    is_shape = False
    for one in arguments:
        if is_shape and (_is_open(result[-1]) or one.startswith(":")) and not one.startswith("--"):
            result[-1] += f" {one}"
            continue
        is_shape = one.startswith("--input_shape=") or (bool(result) and result[-1] == "--input_shape")
        result.append(one)
    return result


def _is_open(text: str) -> bool:
    """Whether a bracket is still to be closed, or a name still waits for its shape."""
    return text.count("[") > text.count("]") or text.rstrip().endswith(":")


@click.group(cls=ConvertGroup, invoke_without_command=True)
@click.option("--input_file", metavar="MODEL", help="The model to convert: ONNX to MindIR, MindIR to ONNX.")
@click.option("--output_file", default="", help="The file to write; beside the input unless given.")
@click.option("--input_format", type=_choice("NCHW", "NHWC"), default="NCHW", show_default=True,
              help="NHWC: inputs and outputs of four dimensions are transposed at the edges of the graph.")  # fmt: skip
@click.option("--output_format", type=_choice("MINDIR", "ONNX"), help="What the input is not, unless given.")
@click.option("--to_onnx", is_flag=True, help="The same as --output_format ONNX.")
@click.option("--precision_mode", type=_choice("FP32", "FP16", "MIXED", "ALL"), default="FP32", show_default=True,
              help="MIXED: float16 but where that loses much. ALL: a file in each, and their errors.")  # fmt: skip
@click.option("--input_shape", multiple=True, metavar="NAME:[SIZES]",
              help='Sizes of inputs, such as "input:[1,3,224,224]"; others stay as they are.')  # fmt: skip
@click.option("--custom_op_config", default="", metavar="JSON",
              help="""Attributes of operators or nodes: '{"BatchNorm": {"epsilon": 1e-5}}'.""")  # fmt: skip
@click.option("--freeze", multiple=True, metavar="NAME=VALUE", help="Make an input a constant: a value, or a file.npy.")
@click.option("--verify", is_flag=True, help="Run both models on new inputs, and compare every operator.")
@click.option(
    "--reference", default="", metavar="MODEL", help="With --verify: the model that the input is compared with."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the random inputs of --verify."
)
@click.option("--inputs", default="", metavar="FILE.npz", help="Inputs for --verify, an array for each by name.")
@click.option("--threshold", type=Limit(min=0), metavar="ERROR",
              help="The largest absolute error that passes, such as 1e-5, instead of limits by data type.")  # fmt: skip
@click.option("--python", default="", metavar="PATH", help="A Python that has MindSpore, for --verify.")
@click.option("--report", multiple=True, metavar="FILE", help="Also write the report: FILE.json, FILE.md or FILE.html.")
@click.option("--progress", type=int, default=-1, hidden=True, help="A descriptor that each step is told on.")
@click.option("-v", "--verbose", is_flag=True, help="List every node.")
@output.format_option
@click.pass_context
def convert(ctx: click.Context, /, input_file: str | None, **options: Any) -> int | None:
    """Convert ONNX to MindIR and MindIR to ONNX; check a MindIR model; look into both. All without MindSpore.

    \b
    mswb convert --input_file net.onnx --output_file net.mindir
    mswb convert --input_file net.mindir --to_onnx --precision_mode MIXED

    Everything that can't be converted is listed at once, with exit code 1, and no file is written.
    """
    from mswb.cli.convert_model import Options, run
    from mswb.cli.ended import cleaned_up

    if ctx.invoked_subcommand is not None:
        return None
    if input_file is None:
        if any(options[name] for name in ("output_file", "to_onnx", "input_shape", "custom_op_config", "verify")):
            raise click.UsageError("--input_file is missing", ctx)
        click.echo(ctx.get_help())
        return 0
    with cleaned_up():
        return run(Options(input_file, **options))


@convert.command()
@click.argument("file")
@output.format_option
def lint(file: str, form: str) -> int:
    """Check the MindIR model FILE for everything that MindSpore's loader hides.

    Weights that are short or missing, names that nothing defines, cycles, arguments that crash the process, operators
    that MindSpore lacks: each with node, attribute and byte. Exit code 1 when there are errors.
    """
    from mswb.convert.mindir.lint import lint as check

    result = check(file)
    if form == "json":
        facts = result.facts
        output.emit(
            "convert_lint",
            result.findings,
            path=facts.path,
            format=facts.format,
            size_bytes=facts.size_bytes,
            verdict="defects" if result.has_errors else "fine",
            graphs=len(facts.graphs),
            nodes=facts.nodes,
            weights=len(facts.weights),
            weights_bytes=facts.weights_bytes,
        )
    else:
        _show_lint(result.facts, result.findings)
    return int(result.has_errors)


def _show_lint(facts: ModelFacts, findings: Sequence[Finding]) -> None:
    out, words = output.console(), WORDS[language()]
    out.print(printable(_head(facts)), style="bold")
    if findings:
        output.show_findings(findings, lang=language())
    else:
        out.print(words["fine"], style="green")
        return
    counts = {severity: sum(one.severity == severity for one in findings) for severity in output.MARKS}
    out.print(", ".join(counted(count, severity) for severity, count in counts.items() if count))


def counted(count: int, name: str) -> str:
    """``3 nodes``, in the language of this process."""
    return f"{count:,} {COUNTED[language()][name][count != 1]}"


def _head(facts: ModelFacts) -> str:
    """A model in one line."""
    parts = [
        {"mindir": "MindIR", "onnx": "ONNX"}[facts.format],
        facts.producer,
        counted(facts.nodes, "nodes"),
        f"{counted(len(facts.weights), 'weights')} ({human_bytes(facts.weights_bytes)})",
    ]
    return f"{output.short_path(facts.path)}: " + ", ".join(part for part in parts if part)


@convert.command()
@click.argument("file")
@click.option("--all", "everything", is_flag=True, help="All weights and entries, not only the first ones.")
@output.format_option
def inspect(file: str, everything: bool, form: str) -> int:
    """Tell what the model FILE (MindIR or ONNX) holds: graphs, operators by count, weights, producer."""
    from mswb.convert.inspect import inspect as look

    facts = look(file)
    if form == "json":
        output.emit("convert_inspect", [], **report(facts))
    else:
        _show_facts(facts, everything)
    return 0


@convert.command()
@click.argument("file")
@click.option("--output_file", default="", help="The file to write; NAME_fixed.mindir beside the input unless given.")
@click.option("--dry-run", is_flag=True, help="Only show what would be changed.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the random inputs.")
@click.option("--inputs", default="", metavar="FILE.npz", help="Inputs, an array for each by name.")
@click.option("--threshold", type=Limit(min=0), metavar="ERROR", help="The largest absolute error that passes.")
@click.option("--python", default="", metavar="PATH", help="A Python that has MindSpore.")
@output.format_option
def fix(file: str, **options: Any) -> int:
    """Mend half precision in the MindIR model FILE: keep in float32 what loses too much, and what feeds it.

    Every operator is measured against exact arithmetic. The smallest set that must be float32 is shown with its errors
    before and after, and a new file is written; the model itself stays as it is.
    """
    from mswb.cli.convert_fix import Options, run
    from mswb.cli.ended import cleaned_up

    with cleaned_up():
        return run(Options(file, **options))


def report(facts: ModelFacts) -> dict[str, object]:
    """The keys of ``mswb.convert_inspect/1``; sizes in bytes."""
    return {
        **asdict(facts),
        "versions": dict(facts.versions),
        "operators": [{"op": name, "count": count} for name, count in facts.operators],
        "user_info": dict(facts.user_info),
        "nodes": facts.nodes,
        "weights_bytes": facts.weights_bytes,
        "external_files": facts.external_files,
    }


def _show_facts(facts: ModelFacts, everything: bool) -> None:
    words = WORDS[language()]
    output.console().print(printable(_head(facts)), style="bold")
    most = None if everything else MOST
    output.show_table(["", ""], [*_about(facts, words), *_graphs(facts.graphs, words, most)])
    print()
    output.show_table(
        [words["count"], words["operator"]], [(f"{count:,}", name) for name, count in facts.operators], right=(0,)
    )
    if facts.weights:
        print()
        _show_weights(facts.weights, words, most)
    if facts.user_info:
        print()
        _rest(len(facts.user_info), most, words)
        output.show_table([words["user_info"], ""], [(key, printable(value, MOST_TEXT)) for key, value in
                                                     facts.user_info[:most]])  # fmt: skip


def _about(facts: ModelFacts, words: dict[str, str]) -> Iterable[tuple[str, str]]:
    yield words["size"], f"{human_bytes(facts.size_bytes)} ({facts.size_bytes:,} B)"
    yield words["producer"], facts.producer or "-"
    yield from facts.versions
    for file in facts.external_files:
        yield words["external"], output.short_path(file)


def _graphs(graphs: Sequence[GraphFacts], words: dict[str, str], most: int | None) -> Iterable[tuple[str, str]]:
    for graph in graphs[:most]:
        yield words["graph"], f"{graph.name or '-'}: {counted(graph.nodes, 'nodes')}"
        yield from ((f"  {words['inputs']}", value_text(value)) for value in graph.inputs[:most])
        yield from ((f"  {words['outputs']}", value_text(value)) for value in graph.outputs[:most])
    if most is not None and len(graphs) > most:
        yield words["functions"], words["more"].format(count=len(graphs) - most)


def _show_weights(weights: Sequence[WeightFacts], words: dict[str, str], most: int | None) -> None:
    largest = sorted(weights, key=lambda weight: -weight.bytes)[:most]
    output.show_table(
        [words[name] for name in ("weight", "dtype", "shape", "bytes")],
        [(one.name, one.dtype, str(list(one.shape)), f"{one.bytes:,}") for one in largest],
        right=(3,),
    )
    _rest(len(weights), most, words)


def _rest(count: int, most: int | None, words: dict[str, str]) -> None:
    if most is not None and count > most:
        print(words["more"].format(count=count - most))
