"""A report as one HTML page that holds everything it needs: no script, nothing fetched, all texts escaped."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from mswb.convert.verify.report_text import (
    COLUMNS,
    MEASURES,
    Operator,
    Report,
    cells,
    facts,
    first_bad,
    histogram,
    share,
    statistics,
    verdict_word,
    word,
    worst_scaled,
)
from mswb.files.safety import printable

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 90em; padding: 0 1em; color: #1c1c1c;
  background: #fff; }
h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin-top: 2em; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1.5em; } dt { color: #595959; } dd { margin: 0; }
table { border-collapse: collapse; } th, td { padding: .15em .7em; text-align: left; white-space: nowrap; }
thead th { position: sticky; top: 0; background: #f0f0f0; border-bottom: 1px solid #999; }
tbody tr { border-bottom: 1px solid #e3e3e3; } .n { text-align: right; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; } .reason { white-space: normal; color: #595959; }
.failed td { background: #fdeee6; } .failed .v, .error b { color: #a03a00; font-weight: bold; }
.inherited .v, .warning b { color: #7a5200; } .passed .v { color: #00664a; }
.first td { border-top: 2px solid #a03a00; }
.bar { display: inline-block; width: 7em; height: .7em; background: linear-gradient(90deg, #e3e3e3 85.7%, #bbb 85.7%); }
.bar i { display: block; height: 100%; background: #0072b2; } .failed .bar i { background: #d55e00; }
.inherited .bar i { background: #e69f00; } .count { width: 14em; background: none; }
details { margin: .4em 0; } summary { cursor: pointer; } details table { margin: .5em 0 .5em 1.2em; }
@media (prefers-color-scheme: dark) { body { color: #e4e4e4; background: #161616; } thead th { background: #2a2a2a; }
  dt, .reason { color: #a8a8a8; } tbody tr { border-color: #333; } .failed td { background: #3a2014; }
  .failed .v, .error b { color: #ff9a66; } .inherited .v, .warning b { color: #e6b84d; }
  .passed .v { color: #4dc79d; } }
"""


def as_html(report: Report, lang: str = "en") -> str:
    """The page."""
    return "\n".join(_page(report, lang)) + "\n"


def _page(report: Report, lang: str) -> Iterator[str]:
    title = word("title", lang)
    name = report.get("output") or report.get("input") or ""
    yield f'<!DOCTYPE html>\n<html lang="{"zh" if lang == "zh" else "en"}">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">'
    yield f"<title>{title} {_safe(name)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<dl>"
    yield from (f"<dt>{_safe(term)}</dt><dd>{_safe(text)}</dd>" for term, text in facts(report, lang))
    yield "</dl>"
    if report["findings"]:
        yield f"<h2>{word('findings', lang)}</h2>"
        yield from (_finding(one) for one in report["findings"])
    if report["operators"]:
        yield from _operators(report, lang)
    outputs = report.get("graph_outputs") or ()
    if outputs:
        yield f"<h2>{word('outputs', lang)}</h2>\n<table>\n<tbody>"
        for one in outputs:
            error = "" if one["max_abs_error"] is None else f"{one['max_abs_error']:.1e}"
            verdict = verdict_word(one["verdict"], lang)
            yield (
                f'<tr class="{_safe(one["verdict"])}"><td>{_safe(one["name"])}</td><td class="n">{error}</td>'
                f'<td class="v">{verdict}</td></tr>'
            )
        yield "</tbody>\n</table>"
    yield f"<p>{word('made by', lang)} {_safe(report.get('tool_version', ''))}</p>\n</body>\n</html>"


def _finding(one: Any) -> str:
    advice = "".join(f"<li>{_safe(text)}</li>" for text in one["advice"])
    return (
        f'<details class="{_safe(one["severity"])}"><summary><b>{_safe(one["severity"])}</b> {_safe(one["title"])}'
        f"</summary><p>{_safe(one['cause'])}</p><ul>{advice}</ul></details>"
    )


def _operators(report: Report, lang: str) -> Iterator[str]:
    yield f'<h2>{word("operators", lang)}</h2>\n<div class="wide">\n<table>\n<thead><tr>'
    yield "".join(f"<th{_right(name)}>{word(name, lang)}</th>" for name in COLUMNS)
    yield "<th></th></tr></thead>\n<tbody>"
    first = first_bad(report)
    for one in report["operators"]:
        row = cells(one, lang)
        marks = f"{_safe(one['verdict'])}{' first' if one is first else ''}"
        texts = "".join(f"<td{_right(name)}>{_safe(row[name])}</td>" for name in COLUMNS)
        bar = f'<span class="bar"><i style="width:{share(worst_scaled(one)):.1%}"></i></span>'
        yield f'<tr class="{marks}">{texts}<td>{bar}</td></tr>'
    yield "</tbody>\n</table>\n</div>"
    yield from (_details(one, lang) for one in report["operators"] if one.get("statistics") or one.get("reason"))


def _details(one: Operator, lang: str) -> str:
    numbers = "".join(
        f'<tr><td>{name}</td><td class="n">{ours}</td><td class="n">{theirs}</td></tr>'
        for name, ours, theirs in statistics(one, lang)
    )
    heads = f'<tr><th></th><th class="n">{word("ours", lang)}</th><th class="n">{word("theirs", lang)}</th></tr>'
    counted = "".join(
        f'<tr><td class="n">{start}</td><td><span class="bar count"><i style="width:{length:.1%}"></i></span></td>'
        f'<td class="n">{count:,}</td></tr>'
        for start, count, length in histogram(one, lang)
    )
    reason = f'<p class="reason">{_safe(one["reason"])}</p>' if one.get("reason") else ""
    return (
        f'<details class="{_safe(one["verdict"])}"><summary>{_safe(one["op"])} {_safe(one["node"])} '
        f'<span class="v">{verdict_word(one["verdict"], lang)}</span></summary>{reason}'
        f"<table>{heads if numbers else ''}{numbers}</table>"
        f"<p>{word('errors', lang) if counted else ''}</p><table>{counted}</table></details>"
    )


def _right(name: str) -> str:
    return ' class="n"' if name in ("order", *MEASURES) else ' class="v"' if name == "verdict" else ""


def _safe(text: Any) -> str:
    return escape(printable(str(text)))
