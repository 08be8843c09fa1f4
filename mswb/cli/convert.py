"""``mswb convert``: ``lint`` checks a MindIR file, ``inspect`` tells what a MindIR or ONNX file holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict

import click

from mswb import __version__
from mswb.cli import output
from mswb.cli.doctor import human_bytes
from mswb.convert.facts import GraphFacts, ModelFacts, WeightFacts, value_text
from mswb.files.safety import printable
from mswb.findings import Finding, language, stop

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


class ConvertGroup(click.Group):
    """A group that answers the options of the conversion itself with one clear sentence."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0].startswith("-") and args[0] not in ctx.help_option_names:
            raise stop("convert-later", values={"version": __version__})
        return super().parse_args(ctx, args)


@click.group(cls=ConvertGroup, invoke_without_command=True)
@click.pass_context
def convert(ctx: click.Context) -> None:
    """Check a MindIR model, and look into MindIR and ONNX models, without MindSpore."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


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
