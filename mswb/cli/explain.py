"""``mswb explain CODE``: a catalogue entry; a word finds entries in codes and texts of both languages."""

from __future__ import annotations

import re
from difflib import get_close_matches

import click

from mswb.cli import output
from mswb.files.plain import to_plain
from mswb.findings import Entry, Words, language, load_catalogue, stop


@click.command()
@click.argument("words", nargs=-1)
@output.format_option
def explain(words: tuple[str, ...], form: str) -> int:
    """Explain a finding CODE; other WORDS list the findings with all of them; without any, list all."""
    found = search(" ".join(words))
    if form == "json":
        entries = [{"code": e.code, "severity": e.severity, "en": e.en, "zh": e.zh} for e in found]
        output.emit("explain", [], entries=[to_plain(entry) for entry in entries])
        return 0
    lang = language()
    if len(found) == 1:
        _show(found[0], found[0].words(lang))
    else:
        output.show_table(
            ["code", "severity", "title"], [(e.code, e.severity, _filled(e.words(lang).title)) for e in found]
        )
    return 0


def search(text: str) -> list[Entry]:
    """The entry named ``text``, else every entry that holds all its words in code or texts; all for an empty text.

    Raises:
        MswbError: ``unknown-code`` with the nearest codes.
    """
    catalogue = load_catalogue()
    if text in catalogue:
        return [catalogue[text]]
    wanted = text.casefold().split()
    texts = ((entry, _all_words(entry).casefold()) for _, entry in sorted(catalogue.items()))
    found = [entry for entry, own in texts if all(word in own for word in wanted)]
    if not found:
        near = get_close_matches(text, list(catalogue), n=3)
        raise stop("unknown-code", values={"name": text, "nearest": f" (near: {', '.join(near)})" if near else ""})
    return found


def _all_words(entry: Entry) -> str:
    texts = (text for words in (entry.en, entry.zh) for text in (words.title, words.cause, *words.advice))
    return "\n".join((entry.code, *texts))


def _filled(text: str) -> str:
    """A template as a person reads it: ``{exit_code}`` becomes ``EXIT_CODE``."""
    return re.sub(r"\{(\w+)[^{}]*\}", lambda found: found[1].upper(), text)


def _show(entry: Entry, words: Words) -> None:
    out = output.console()
    out.print(f"{output.mark(entry.severity)} {entry.code} ({entry.severity})", style=output.MARKS[entry.severity][2])
    out.print(_filled(words.title), style="bold")
    out.print(_filled(words.cause))
    for number, advice in enumerate(words.advice, 1):
        out.print(_filled(f"{number}. {advice}"))
