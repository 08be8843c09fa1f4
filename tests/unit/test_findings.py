"""Findings, their catalogue, and the one clear line of an error."""

from __future__ import annotations

import json
import re
import shlex
import string
from pathlib import Path

import pytest

from mswb.findings import SEVERITIES, Language, MswbError, Where, fill_commands, language, load_catalogue, make, stop

# Codes that other programs rely on (the report contract).
LAUNCH_CODES = (
    "device-out-of-memory", "host-out-of-memory", "killed-by-signal", "port-in-use", "device-busy",
    "device-not-visible", "dataset-exception", "data-file-corrupt", "script-exception", "shape-mismatch",
    "dtype-cast-failed", "operator-parameter", "graph-pass-failed", "cluster-timeout", "collective-timeout",
    "hang", "started-without-launcher", "master-address-loopback", "wrong-worker-count", "module-missing",
    "system-library-too-old", "open-file-limit", "shared-memory-too-small", "parallel-workers-over-cpus",
    "numeric-overflow", "step-time-drift", "clock-skew", "async-error-after-success",
)  # fmt: skip


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("code", LAUNCH_CODES)
def test_every_promised_code_is_in_the_catalogue(code: str) -> None:
    assert code in load_catalogue()


def test_every_entry_speaks_both_languages_and_uses_the_same_values() -> None:
    for code, entry in load_catalogue().items():
        assert entry.severity in SEVERITIES
        for words in (entry.en, entry.zh):
            assert words.title and words.cause and words.advice, code
        assert any(ord(char) > 0x4E00 for char in entry.zh.title + entry.zh.cause), code
        assert fields(entry.en.title) == fields(entry.zh.title), code


def test_make_fills_values_and_keeps_unknown_ones_readable() -> None:
    found = make("path-missing", values={"path": "/data/x"}, where=Where(rank=3, file="w.log", line=7), lang="en")
    assert found.title == "no such file or folder: /data/x"
    assert found.consequence_of is None
    assert str(found.where) == "rank 3 w.log:7"
    assert "?" in make("path-missing", lang="en").title


def test_braces_of_a_value_are_text() -> None:
    assert make("path-missing", values={"path": "{0.__class__}"}, lang="en").title.endswith("{0.__class__}")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_value_in_a_command_is_quoted_and_one_in_words_is_not(lang: Language) -> None:
    path = "/a b/x;id.tfrecord"
    found = make("corrupted", values={"what": "TFRecord", "reason": "r", "path": path}, lang=lang)
    assert found.advice[0].startswith("mswb cache repair '/a b/x;id.tfrecord'")
    assert make("path-missing", values={"path": path}, lang=lang).title.endswith(path)
    for value in ("$(id)", "`id`", "a\nb", "it's", "{pid}", "a&&b", "x: y", "日记 1"):
        words = fill_commands("look at {path}; mswb cache clean --path {path}: takes {path}", {"path": value})
        assert words == f"look at {value}; mswb cache clean --path {shlex.quote(value)}: takes {value}"
    assert shlex.split(fill_commands("chmod 644 {path}", {"path": "-R /"})) == ["chmod", "644", "./-R /"]
    assert fill_commands("mswb explain without a word lists all{nearest}", {"nearest": " (near: a)"}).endswith(
        "all (near: a)"
    )
    assert fill_commands("mswb run --env {name}=VALUE, mswb ui {path}", {"name": "A B"}) == (
        "mswb run --env 'A B'=VALUE, mswb ui ?"
    )


def test_every_path_in_a_command_of_the_catalogue_is_quoted() -> None:
    evil = "/a b/$(id);x"
    for code, entry in load_catalogue().items():
        for words in (entry.en, entry.zh):
            for text in words.advice:
                names = sorted(fields(text) & {"path", "file", "folder", "name", "module"})
                commands = [
                    part for part in re.split("[:：;；]", text) if re.match(r".*\b(mswb|chmod|pip) [a-z0-9]", part)
                ]
                asked = [name for part in commands for name in names if re.search(rf" {{{name}}}", part)]
                filled = fill_commands(text, dict.fromkeys(names, evil))
                assert filled.count(shlex.quote(evil)) >= len(asked), code


def test_an_error_is_one_line_with_the_place_and_the_first_advice() -> None:
    error = stop("path-missing", where=Where(file="a.toml", line=2), values={"path": "x"}, lang="en")
    assert isinstance(error, MswbError)
    assert error.exit_code == 2
    assert str(error) == "a.toml:2: no such file or folder: x; check the path, or give an absolute one"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"MSWB_LANG": "zh", "LC_ALL": "C"}, "zh"),
    ],
)
def test_language(environ: dict[str, str], expected: str) -> None:
    assert language(environ) == expected


def test_an_unknown_code_is_our_defect() -> None:
    with pytest.raises(KeyError):
        make("no-such-code")


def test_catalogue_texts_can_be_written_as_json() -> None:
    assert json.dumps([entry.zh.title for entry in load_catalogue().values()])


def test_no_code_stands_in_two_files() -> None:
    import mswb.catalogue

    folder = Path(mswb.catalogue.__path__[0])
    heads = [
        line
        for file in folder.glob("*.toml")
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.startswith("[") and "." not in line
    ]
    assert len(heads) == len(set(heads))
