"""``mswb cache triage``: from what an error says to the guilty file and record."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from mswb.cache.entries import to_row
from mswb.cli import output
from mswb.findings import language
from mswb.settings import load_settings

if TYPE_CHECKING:
    from mswb.cache.triage.rules import Hit
    from mswb.flows.cache_evidence import Evidence
    from mswb.flows.cache_triage import Triage

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "guilty": "to blame: {path}",
        "run": "run {run}, started in {folder}",
        "clean": "nothing to blame was found",
        "checked": "{count} verified, {bad} not in order",
    },
    "zh": {
        "guilty": "问题所在：{path}",
        "run": "运行 {run}，启动于 {folder}",
        "clean": "没有发现问题所在",
        "checked": "已校验 {count} 个，其中 {bad} 个有问题",
    },
}


@click.command()
@click.argument("words", nargs=-1, metavar="[RUN | LOG | FOLDER | TEXT | -]")
@click.option("--data", multiple=True, help="Data file or folder to verify, when no text names it; may be repeated.")
@output.format_option
def triage(words: tuple[str, ...], data: tuple[str, ...], form: str) -> int:
    """Find the data file or cache that an error is about, and the record in it.

    Takes the name of a run (by default the newest of this folder, else the newest of all), a log or log folder, the
    text of an error, or '-' for standard input. Files are found by the text, the script and the folder of the run, and
    are verified. Exit code 1 when something is to blame.
    """
    from mswb.cli.cache_verify import progress
    from mswb.flows.cache_evidence import gather
    from mswb.flows.cache_triage import triage as find_guilty

    evidence = gather(words, data, load_settings(), sys.stdin.buffer.read)
    with progress(form) as told:
        found = find_guilty(evidence, os.environ, told)
    if form == "json":
        rows = [to_row(entry) for entry in found.entries]
        symptoms = [_hit_row(one) for one in found.hits]
        named = evidence.run or None
        output.emit("cache_triage", found.findings, root=found.root, symptoms=symptoms, entries=rows, run=named)
    else:
        _show(found, evidence)
    return int(any(finding.severity == "error" for finding in found.findings))


def _hit_row(hit: Hit) -> dict[str, Any]:
    return {
        "rule": hit.rule.id,
        "code": hit.rule.code,
        "text": hit.text,
        "file": hit.file,
        "line": hit.line,
        "paths": list(hit.paths),
    }


def _show(found: Triage, evidence: Evidence) -> None:
    words = WORDS[language()]
    out = output.console()
    if evidence.run:
        folder = output.short_path(evidence.started_in)
        out.print(output.safe_line(words["run"].format(run=evidence.run, folder=folder)), soft_wrap=True)
    bad = [entry for entry in found.entries if entry.status != "ok"]
    blamed = [entry.path for entry in bad] or found.blamed
    if blamed:
        line = words["guilty"].format(path=output.short_path(blamed[0]))
        out.print(output.safe_line(line), style="bold red", soft_wrap=True)
    elif found.root is None:
        out.print(words["clean"], style="green")
    if found.entries:
        out.print(words["checked"].format(count=len(found.entries), bad=len(bad)))
    output.show_findings(found.findings, found.root, lang=language())
