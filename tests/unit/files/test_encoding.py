"""Sniffing and showing log bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.files.encoding import show, sniff

CHINESE = "训练失败：数据集路径不存在"


@pytest.mark.parametrize(
    ("sample", "encoding"),
    [
        (b"", "utf-8"),
        (b"plain ascii\n", "utf-8"),
        (CHINESE.encode() + b"\n", "utf-8"),
        (b"\xef\xbb\xbf" + b"bom\n", "utf-8"),
        (CHINESE.encode("gbk") + b"\n", "gbk"),
        (b"[ERROR] " + CHINESE.encode("gbk"), "gbk"),
        (b"\x80\xff\xfe garbage\n", "utf-8"),
        ((CHINESE.encode() + b"\n") * 3 + b"\xff broken\n", "utf-8"),
        (CHINESE.encode()[:-1], "utf-8"),
    ],
)
def test_sniff(sample: bytes, encoding: str) -> None:
    assert sniff(sample) == encoding


@pytest.mark.parametrize(
    ("line", "encoding", "shown"),
    [
        (b"\xef\xbb\xbffirst\n", "utf-8", "first"),
        (CHINESE.encode("gbk") + b"\n", "gbk", CHINESE),
        (b"a\xffb", "utf-8", r"a\xffb"),
        (b" 10%\r 50%\r100%\n", "utf-8", "100%"),
        (b"windows\r\n", "utf-8", "windows"),
        (b"nul\x00byte", "utf-8", r"nul\x00byte"),
        (b"\x1b]52;c;ZXZpbA==\x07", "utf-8", r"\x1b]52;c;ZXZpbA==\x07"),
        ("\x9b31m".encode(), "utf-8", r"\x9b31m"),
        (b"x" * 12, "utf-8", "xxxxxxxxxx … +2 characters"),
    ],
)
def test_show(line: bytes, encoding: str, shown: str) -> None:
    assert show(line, encoding, limit=10 if line == b"x" * 12 else 4000) == shown


@given(st.binary(max_size=200), st.sampled_from(["utf-8", "gbk"]))
def test_nothing_a_terminal_acts_on_is_shown(line: bytes, encoding: str) -> None:
    shown = show(line, encoding)
    assert not any(ord(character) < 32 and character != "\t" for character in shown)
    assert not any(0x7F <= ord(character) < 0xA0 for character in shown)
