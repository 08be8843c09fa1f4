"""Nothing that a terminal acts on gets through, and no write leaves half a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.files import safety
from mswb.findings import MswbError


@given(st.text())
def test_printable_is_one_line_without_controls(text: str) -> None:
    shown = safety.printable(text)
    assert not any((ord(char) < 32 and char != "\t") or 0x7F <= ord(char) <= 0x9F for char in shown)
    assert len(shown.splitlines()) <= 1


@pytest.mark.parametrize(
    "text", ["\x1b]52;c;aGk=\x07", "\x9b31m", "\u202egnp.exe", "a\rb", "a\nb", "\ufeffx", "\x00", "\u2028"]
)
def test_sequences_that_drive_a_terminal_are_escaped(text: str) -> None:
    assert not set(text) & set("\x1b\x9b\u202e\r\n\ufeff\x00\u2028\x07") & set(safety.printable(text))


def test_ordinary_text_is_untouched() -> None:
    assert safety.printable("损失 loss=0.5\t✓") == "损失 loss=0.5\t✓"


def test_a_long_line_is_cut_and_the_rest_counted() -> None:
    assert safety.printable("x" * 5000, 10) == "x" * 10 + " … +4990 characters"


def test_a_long_block_keeps_both_ends() -> None:
    rows = safety.printable_block("\n".join(str(number) for number in range(100)), lines=10).split("\n")
    assert rows[0] == "0" and rows[-1] == "99" and rows[5] == "… 90 lines …"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("训练".encode(), "训练"),
        ("训练".encode("gbk"), "训练"),
        (b"\xef\xbb\xbfhello", "hello"),
        (b"\xff\xff\xff", "\\xff\\xff\\xff"),
    ],
)
def test_decode(data: bytes, text: str) -> None:
    assert safety.decode(data) == text


@given(st.binary())
def test_decode_takes_any_bytes(data: bytes) -> None:
    assert isinstance(safety.decode(data), str)


def test_write_atomic_replaces_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    safety.write_atomic(path, "new", mode=0o640)
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["a"]


def test_a_write_that_fails_leaves_the_old_content_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_text("old")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(MswbError, match="No space left"):
        safety.write_atomic(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_missing_folder_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(MswbError) as caught:
        safety.write_atomic(tmp_path / "no" / "a", "x")
    assert caught.value.finding.code == "path-unwritable"


def test_a_pipe_is_refused_instead_of_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(MswbError, match="not a regular file"):
        safety.open_regular(tmp_path / "pipe")
