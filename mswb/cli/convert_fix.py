"""``mswb convert fix``: half precision that loses too much, mended in a new file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mswb.cli import output
from mswb.cli.convert_verify import check_interpreter, interpreter, number
from mswb.cli.sizes import human_bytes
from mswb.files.safety import printable
from mswb.findings import Where, language, make

if TYPE_CHECKING:
    from mswb.convert.precision.fix import Change, Proposal
    from mswb.convert.verify.result import Operator
    from mswb.findings import Finding

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "fine": "nothing to mend: every operator is near enough",
        "operator": "operator",
        "node": "node",
        "before": "error now",
        "after": "after",
        "limit": "times its limit now",
        "then": "after",
        "wrote": "wrote {target} ({size}): {count} operators in float32, {casts} casts added, {removed} fell away",
        "would": "would write {target}: {count} operators in float32, {casts} casts added, {removed} fall away",
        "outputs": "float32 now: output {names}",
        "unsolved": "not mended: what is left is no matter of half precision; nothing was written",
        "engine": "measured with {engine} against exact arithmetic",
    },
    "zh": {
        "fine": "无需修复：每个算子都足够精确",
        "operator": "算子",
        "node": "节点",
        "before": "当前误差",
        "after": "修复后",
        "limit": "当前为限值的倍数",
        "then": "修复后",
        "wrote": "已写出 {target}（{size}）：{count} 个算子改为 float32，新增 {casts} 个 Cast，去掉 {removed} 个",
        "would": "将写出 {target}：{count} 个算子改为 float32，新增 {casts} 个 Cast，去掉 {removed} 个",
        "outputs": "现为 float32 的输出：{names}",
        "unsolved": "未能修复：剩余误差与半精度无关；未写出任何文件",
        "engine": "以 {engine} 与精确算术对比测量",
    },
}


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command; ``output_file`` is "" when it was not given."""

    file: str
    output_file: str = ""
    dry_run: bool = False
    seed: int = 0
    inputs: str = ""
    threshold: float | None = None
    python: str = ""
    form: str = "text"


def run(options: Options) -> int:
    """Propose, show, and write; 1 when it can't be mended.

    Raises:
        MswbError: wrong usage, or a file that can't be read or measured.
    """
    from mswb.convert import adjust
    from mswb.convert.precision import fix
    from mswb.convert.verify.result import Options as Wanted

    target = options.output_file or beside(options.file)
    if os.path.exists(target) and os.path.samefile(options.file, target):
        raise adjust.usage("the output would overwrite the input", "give another --output_file")
    check_interpreter(options.python)
    wanted = Wanted(
        python=interpreter(options.python), seed=options.seed, inputs_file=options.inputs, threshold=options.threshold
    )
    proposal = fix.propose(options.file, wanted)
    writes = bool(proposal.changes) and proposal.solved and not options.dry_run
    size = fix.save(proposal, target) if writes else 0
    found = findings_of(proposal)
    if options.form == "json":
        output.emit("convert_fix", found, **report(proposal, target if writes else None, size))
    else:
        _show(proposal, found, target, size, options)
    return int(not proposal.solved)


def beside(path: str) -> str:
    """``net_fixed.mindir`` for ``net.mindir``."""
    base, suffix = os.path.splitext(path)
    return f"{base}_fixed{suffix or '.mindir'}"


def findings_of(proposal: Proposal) -> list[Finding]:
    """What stays wrong."""
    from mswb.convert.verify.conversion import operator_finding

    if proposal.solved:
        return []
    found = [operator_finding(proposal.path, one) for one in proposal.remaining]
    return found or [make("fix-not-found", where=Where(file=proposal.path))]


def report(proposal: Proposal, target: str | None, size: int) -> dict[str, Any]:
    """The keys of ``mswb.convert_fix/1``."""
    verdict = "not-fixed" if not proposal.solved else "fixed" if proposal.changes else "fine"
    return {
        "verdict": verdict,
        "input": proposal.path,
        "output": target,
        "size_bytes": size,
        "engines": {"reference": "exact arithmetic", "target": proposal.engine},
        "changes": [_change(one) for one in proposal.changes],
        "casts": proposal.casts,
        "casts_removed": proposal.removed,
        "float32_outputs": list(proposal.outputs),
    }


def _change(one: Change) -> dict[str, Any]:
    return {
        "op": one.op,
        "node": one.node,
        "output": one.output,
        "before": one.before.as_json(),
        "after": None if one.after is None else one.after.as_json(),
    }


def _show(proposal: Proposal, found: list[Finding], target: str, size: int, options: Options) -> None:
    out, words = output.console(), WORDS[language()]
    out.print(printable(words["engine"].format(engine=proposal.engine)))
    if proposal.changes:
        heads = [words[name] for name in ("operator", "node", "before", "after", "limit", "then")]
        output.show_table(heads, [_row(one) for one in proposal.changes], right=(2, 3, 4, 5))
    if found:
        output.show_findings(found, lang=language())
    if not proposal.solved:
        out.print(words["unsolved"], style="bold red")
        return
    if not proposal.changes:
        out.print(words["fine"], style="green")
        return
    if proposal.outputs:
        out.print(printable(words["outputs"].format(names=", ".join(proposal.outputs))))
    told = words["would" if options.dry_run else "wrote"].format(
        target=output.short_path(target),
        size=human_bytes(size),
        count=len(proposal.changes),
        casts=proposal.casts,
        removed=proposal.removed,
    )
    out.print(printable(told), style="bold")


def _row(one: Change) -> tuple[str, ...]:
    return one.op, one.node, _error(one.before), _error(one.after), _times(one.before), _times(one.after)


def _error(one: Operator | None) -> str:
    shown = None if one is None else one.local or one.accumulated
    return "" if shown is None else number(shown.max_abs_error)


def _times(one: Operator | None) -> str:
    return "" if one is None else f"{one.worst:.3g}"
