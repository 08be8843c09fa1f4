"""Bounded looks into files."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

import pytest

from mswb.files.peek import HEAD, LIMIT, UNKNOWN_SIZE, Peek, compression, of_bytes, open_peek, unpacked


def _counting(data: bytes) -> tuple[Peek, list[int]]:
    read: list[int] = []

    def take(offset: int, length: int) -> bytes:
        piece = data[offset : offset + length]
        read.append(len(piece))
        return piece

    return Peek("big", len(data), take), read


def test_no_more_than_the_budget_is_read() -> None:
    peek, read = _counting(bytes(10 * LIMIT))
    for offset in range(0, 10 * LIMIT, 1000):
        peek.at(offset, 1000)
    peek.start()
    peek.tail(5000)
    assert sum(read) == LIMIT
    assert peek.at(5 * LIMIT, 10) == b""


def test_the_head_is_read_once() -> None:
    peek, read = _counting(b"0123456789" * 1000)
    assert peek.at(5, 10) == b"5678901234" and peek.at(0, HEAD) == peek.head
    assert read == [HEAD]


def test_start_and_tail() -> None:
    data = bytes(range(256)) * 400
    assert of_bytes("x", data).start() == data[: LIMIT // 2]
    assert of_bytes("x", data).tail(10) == data[-10:]
    assert of_bytes("x", b"short").start() == b"short"
    assert of_bytes("x", b"short").tail(100) == b"short"
    assert of_bytes("x", b"short").at(5, 1) == b"" and of_bytes("x", b"short").at(-1, 3) == b""


def test_links_pipes_and_folders_are_not_opened(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", ".", "absent"):
        with pytest.raises(OSError), open_peek(str(tmp_path / name)):
            pass


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_inside_of_compressed_files(pack: object) -> None:
    assert callable(pack)
    data = b"hello " * 100_000
    packed = pack(data)
    peek = of_bytes("a.txt.gz", packed)
    inner = unpacked(peek)
    assert inner is not None and inner.size == UNKNOWN_SIZE and inner.name == "a.txt"
    assert inner.start() == data[: LIMIT // 2]
    assert inner.at(1 << 40, 10) == b""
    assert inner.tail(10) == b""


def test_a_bomb_inflates_no_further() -> None:
    inner = unpacked(of_bytes("bomb.gz", gzip.compress(bytes(50 << 20))))
    assert inner is not None and len(inner.start()) == LIMIT // 2


@pytest.mark.parametrize("data", [b"", b"\x1f\x8b", b"\x1f\x8b\x08garbage", b"x\x9cgarbage that is no zlib", b"plain"])
def test_what_is_not_compressed(data: bytes) -> None:
    assert unpacked(of_bytes("x", data)) is None


def test_texts() -> None:
    assert of_bytes("x", "text\twith\nlines 中文".encode()).is_text and of_bytes("x", b"").is_text
    assert not of_bytes("x", b"\x0a\x01").is_text


def test_compression_names() -> None:
    assert compression(of_bytes("x", gzip.compress(b"1"))) == "gzip"
    assert compression(of_bytes("x", zlib.compress(b"1"))) == "zlib"
    assert compression(of_bytes("x", b"text")) == ""
