"""A finding as text: one line for a list, all of it for a person, Markdown for a ticket."""

from __future__ import annotations

from rich.text import Text

from mswb.files.safety import printable, printable_block
from mswb.findings import Finding, language
from mswb.ui.glyphs import glyph, severity_word

_LABELS = {
    "where": ("Where", "位置"),
    "cause": ("Why", "原因"),
    "advice": ("What to do", "怎么办"),
    "evidence": ("Evidence", "证据"),
    "code": ("Code", "代码"),
}


def label(name: str) -> str:
    """The heading of a part of a finding, in the language of this process."""
    return _LABELS[name][language() == "zh"]


def summary(finding: Finding) -> str:
    """One line; what follows from another finding is set in."""
    indent = f"  {glyph('arrow')} " if finding.consequence_of is not None else ""
    return f"{indent}{severity_word(finding.severity)}  {printable(finding.title)}"


def details(finding: Finding, *, severity_style: str = "") -> Text:
    """All of a finding. ``severity_style`` is a rich style for its first word."""
    text = Text()
    text.append(severity_word(finding.severity), style=severity_style or "bold")
    text.append(f"  {printable(finding.title)}\n", style="bold")
    place = str(finding.where)
    for name, body in (
        ("where", printable(place)),
        ("cause", printable_block(finding.cause)),
        ("advice", "\n".join(f"{glyph('bullet')} {printable_block(item)}" for item in finding.advice)),
        ("evidence", printable_block(finding.evidence)),
        ("code", f"{finding.code}  (mswb explain {finding.code})"),
    ):
        if body:
            text.append(f"\n{label(name)}\n", style="bold")
            text.append(f"{body}\n")
    return text


def markdown(finding: Finding) -> str:
    """A finding as Markdown; the evidence is fenced, so that nothing in it is taken for Markdown."""
    fence = "`" * max(3, 1 + _longest_run(finding.evidence))
    parts = [f"**{finding.severity.upper()}** {printable(finding.title)} (`{finding.code}`)"]
    if str(finding.where):
        parts.append(f"{label('where')}: `{printable(str(finding.where))}`")
    if finding.cause:
        parts.append(f"{label('cause')}: {printable_block(finding.cause)}")
    if finding.advice:
        parts.append(f"{label('advice')}:\n" + "\n".join(f"- {printable(item)}" for item in finding.advice))
    if finding.evidence:
        parts.append(f"{fence}\n{printable_block(finding.evidence)}\n{fence}")
    return "\n\n".join(parts) + "\n"


def _longest_run(text: str) -> int:
    longest = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    return longest
