"""What is said of a conversion: its title, its layers and engines, and all that is known of one operator. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from textual.content import Content

from mswb.convert.verify.report_text import error_text, histogram, shape_text, statistics
from mswb.files.safety import printable
from mswb.findings import Finding, language
from mswb.ui.glyphs import bar, glyph
from mswb.ui.panes.convert.state import Work
from mswb.ui.panes.convert.words import word
from mswb.ui.widgets.lines import Line, wrap
from mswb.ui.widgets.table.units import bytes_text, seconds_text

if TYPE_CHECKING:
    from mswb.convert.verify.sides import Call

SIGNS: Mapping[str, tuple[str, str]] = {
    "running": ("starting", "accent"),
    "passed": ("ok", "success"),
    "converted": ("ok", "success"),
    "failed": ("error", "error"),
    "refused": ("error", "error"),
    "nothing-compared": ("warning", "warning"),
    "cancelled": ("stopped", "warning"),
}
"""The sign and the theme variable of a verdict or status."""
_LAYERS = {"structure": "structure", "weights": "weights-layer", "numbers": "numbers"}
_COLOURS = {"failed": "error", "inherited": "warning", "passed": "success"}
_KNOWN = ("passed", "failed", "inherited", "not-compared", "converted")
BAR = 16


def verdict_text(work: Work) -> tuple[str, str, str]:
    """Sign, sentence and theme variable of what came of it."""
    verdict = work.verdict
    sign, colour = SIGNS.get(verdict, ("note", "text-muted"))
    if work.status == "failed":
        return "error", printable(work.findings[0].title) if work.findings else word("died"), "error"
    if verdict == "running":
        return sign, _step(work), colour
    text = word(verdict)
    bad = next((one for one in work.operators if one["verdict"] in ("failed", "inherited")), None)
    if bad is not None:
        named = (one.title for one in work.findings if one.severity == "error" and one.where.node == bad["node"])
        text = printable(next(named, f"{text} {glyph('dot')} {bad['op']} {bad['node']}"))
    elif verdict == "failed" and work.blocked:
        text = f"{text}: {printable(work.blocked[0].title)}"
    elif verdict == "nothing-compared" and work.findings:
        told = (one.title for one in work.findings if one.code == "numbers-not-compared")
        text = f"{text}: {printable(next(told, work.findings[0].title))}"
    elif verdict == "refused" and work.blocked:
        unread = work.report is not None and not work.report.get("operator_counts")
        text = printable(work.blocked[0].title) if unread and len(work.blocked) == 1 else text
    return sign, text, colour


def _step(work: Work) -> str:
    if work.step is None:
        return word("running")
    name, done, total = work.step
    text = word(f"step-{name}")
    return f"{text} {bar(done / total, 8)} {done:.0f}/{total:.0f}" if total > 1 else text


def title(work: Work, elapsed_s: float | None = None) -> Content:
    """The models, and what came of it."""
    sign, text, colour = verdict_text(work)
    name = printable(os.path.basename(work.source))
    told = work.report or {}
    target = told.get("output") if not told.get("reference") else None
    names = f" {name} {glyph('arrow')} {printable(os.path.basename(target))}" if target else f" {name}"
    since = f"  {seconds_text(elapsed_s)}" if elapsed_s is not None and work.status == "running" else ""
    return Content.assemble((f"{names}  ", "bold"), (f"{glyph(sign)} {text}", f"$text-{colour}"), since)


def status(work: Work) -> Content:
    """The layers and the engines."""
    told = work.report or {}
    parts: list[tuple[str, str]] = [(" ", "")]
    for name, verdict in (told.get("layers") or {}).items():
        sign, colour = SIGNS.get(verdict, ("note", "text-muted"))
        if verdict == "not-compared":
            sign, colour = "note", "muted"
        shown = word(_LAYERS[name]) if name in _LAYERS else printable(name)
        parts.append((f"{glyph(sign)} {shown}  ", f"$text-{colour.removeprefix('text-')}"))
    engines = told.get("engines") or {}
    if engines:
        text = f" {word('against')} ".join(printable(str(engines[key])) for key in ("reference", "target") if
                                           key in engines)  # fmt: skip
        parts.append((text, ""))
        if "evaluator" in engines:
            parts.append((f"; {word('instead')}: {printable(str(engines['evaluator']))}", "$text-warning"))
        shapes = (f"{printable(name)} {shape_text(shape)}" for one in told.get("shapes") or () for name, shape in
                  one.items())  # fmt: skip
        parts.append((f"  {', '.join(dict.fromkeys(shapes))}", "$text-muted"))
    elif told.get("output") and told.get("primitives"):
        counts = "operator_counts" if str(told["output"]).lower().endswith(".onnx") else "primitives"
        calls = sum(one["count"] for one in told[counts])
        parts.append((f"{glyph('arrow')} {calls:,} {word('call' if calls == 1 else 'calls')}", "$text-muted"))
    several = told.get("precisions") or ()
    for one in several if len(several) > 1 else ():
        error = "" if one.get("max_abs_error") is None else f" {error_text(one['max_abs_error'])}"
        parts.append((f"  {printable(one['mode'])} {bytes_text(one['bytes_written'])}{error}", ""))
    return Content.assemble(*parts)


def operator_lines(work: Work, one: Mapping[str, Any], sides: Any, width: int) -> list[Line]:
    """All that is known of an operator; ``sides`` are Sides, a finding that says why not, or None: not yet."""
    lines = list(_head(one, width))
    lines += _sides(sides, width)
    lines += _tensors(one)
    lines += _errors(one, width)
    advice = [text for found in work.findings if found.where.node == one["node"] for text in found.advice]
    lines += _paragraphs(word("advice"), dict.fromkeys(advice), width)
    return lines


def finding_lines(finding: Finding, width: int) -> list[Line]:
    """All that is known of what stands in the way."""
    lines = [Line(row, "error", bold=True) for row in wrap(printable(finding.title), width)]
    lines += [Line(row) for row in wrap(printable(finding.cause), width)]
    lines += _paragraphs(word("advice"), finding.advice, width)
    nodes = finding.values.get("nodes") or ()
    if isinstance(nodes, (list, tuple)) and nodes:
        lines += [Line(""), _heading(word("nodes named")), *(Line(f"  {printable(str(name))}") for name in nodes)]
    return lines


def _head(one: Mapping[str, Any], width: int) -> Iterator[Line]:
    verdict = one["verdict"]
    yield from (Line(row, bold=True) for row in wrap(f"{printable(one['op'])} {printable(one['node'])}", width))
    colour = _COLOURS.get(verdict, "text-muted")
    reason = f": {printable(str(one['reason']))}" if one.get("reason") else ""
    shown = word(f"verdict-{verdict}") if verdict in _KNOWN else printable(verdict)
    yield from (Line(row, colour) for row in wrap(f"{shown}{reason}", width))
    inputs = " ".join(map(shape_text, one["input_shapes"]))
    result = f"{shape_text(one['output_shape'])} {printable(one['dtype'] or '')}"
    yield from (Line(row) for row in wrap(f"{inputs} {glyph('arrow')} {result}", width))
    for name, error, scaled, cosine in (
        ("alone", "local_max_abs_error", "local_scaled_error", "local_cosine"),
        ("chain", "max_abs_error", "scaled_error", "cosine"),
    ):
        if one.get(error) is not None:
            text = f"{word(name)} {error_text(one[error])}  {word('scaled')} {error_text(one.get(scaled))}"
            text += "" if one.get(cosine) is None else f"  {word('cosine')} {one[cosine]:.6f}"
            yield from (Line(row) for row in wrap(text, width))
    more = []
    if one.get("worst_index"):
        more.append(f"{word('worst')} {shape_text(one['worst_index'])}")
    if one.get("close_share") is not None:
        more.append(f"{word('close')} {one['close_share']:.1%}")
    if one.get("nan_count"):
        more.append(f"{word('nan')} {one['nan_count']:,}")
    yield from (Line(row, "text-muted") for row in (wrap("  ".join(more), width) if more else ()))


def _sides(sides: Any, width: int) -> Iterator[Line]:
    if sides is None:
        yield from (Line(""), Line(f"{word('looking')} {glyph('ellipsis')}", "text-muted"))
    elif isinstance(sides, Finding):
        yield Line("")
        yield from (Line(row, "warning") for row in wrap(printable(sides.title), width))
    else:
        if sides.onnx is not None:
            yield from (Line(""), _heading(word("onnx side")))
            yield from _call(sides.onnx, width)
        if sides.mindir:
            yield from (Line(""), _heading(word("mindir side")))
            for call in sides.mindir:
                yield from _call(call, width)
            if sides.more:
                yield Line(f"+ {sides.more:,}", "text-muted")


def _call(call: Call, width: int) -> Iterator[Line]:
    given = "  ".join(f"{printable(name)}={printable(text)}" for name, text in call.attributes)
    yield from (Line(row) for row in wrap(f"{printable(call.op)}  {given}".rstrip(), width, ""))
    if call.inputs:
        yield from (Line(row, "text-muted") for row in wrap(
            f"{word('inputs')} {', '.join(map(printable, call.inputs))}", width, "  "))  # fmt: skip
    if call.defaults:
        rest = "  ".join(f"{printable(name)}={printable(text)}" for name, text in call.defaults)
        yield from (Line(row, "text-muted") for row in wrap(f"{word('default')} {rest}", width, "  "))


def _tensors(one: Mapping[str, Any]) -> Iterator[Line]:
    rows = list(statistics(one, language()))
    if not rows:
        return
    from rich.cells import set_cell_size

    yield from (Line(""), _heading(word("tensors")))
    yield Line(f"{'':12}{_right(word('ours'), 13)}{_right(word('theirs'), 13)}", "text-muted")
    yield from (Line(f"{set_cell_size(name, 12)}{ours:>13}{theirs:>13}") for name, ours, theirs in rows)


def _right(text: str, width: int) -> str:
    from rich.cells import cell_len

    return " " * max(1, width - cell_len(text)) + text


def _errors(one: Mapping[str, Any], width: int) -> Iterator[Line]:
    for name, local in (("errors", False), ("local errors", True)):
        rows = histogram(one, language(), local=local)
        if not rows:
            continue
        yield from (Line(""), _heading(word(name)))
        room = max(6, min(BAR, width - 24))
        for start, count, share in rows:
            drawn = bar(share, room).replace(glyph("empty"), " ")
            yield Line(f"{_right(start, 9)} {drawn if drawn.strip() else glyph('dot') + drawn[1:]} {count:,}")


def _paragraphs(heading: str, texts: Sequence[str] | Mapping[str, None], width: int) -> Iterator[Line]:
    if texts:
        yield from (Line(""), _heading(heading))
        for text in texts:
            first, *rest = wrap(printable(text), max(8, width - 2))
            yield Line(f"{glyph('bullet')} {first}")
            yield from (Line(f"  {row}") for row in rest)


def _heading(text: str) -> Line:
    return Line(text, "accent", bold=True)
