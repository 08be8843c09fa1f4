"""Image files by their heads and ends, without decoding them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.cache.triage.images import look

THUMBNAIL = b"\xff\xe1\0\x08\xff\xd8\xff\xd9xx"
"""A segment that holds the end marker of a picture within."""
JPEG = b"\xff\xd8" + THUMBNAIL + b"\xff\xff\xdb\0\x03q" + b"\xff\xda\0\x03s" + b"data\xff\0more\xff\xd9"
PNG = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\x0dIHDR" + bytes(17) + b"\0\0\0\0IEND\xaeB`\x82"
GIF = b"GIF89a" + bytes(7) + b"data;"
BMP = b"BM" + struct.pack("<IHHI", 30, 0, 0, 26) + bytes(16)
WEBP = b"RIFF" + struct.pack("<I", 16) + b"WEBPVP8 " + bytes(8)
WHOLE = {"JPEG": JPEG, "PNG": PNG, "GIF": GIF, "BMP": BMP, "WebP": WEBP}


@pytest.mark.parametrize("form", WHOLE)
def test_a_whole_image_and_one_that_was_cut(tmp_path: Path, form: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(WHOLE[form])
    found = look(str(path))
    assert found is not None and (found.form, found.code) == (form, "")
    for length in range(14, len(WHOLE[form]) - 1):
        path.write_bytes(WHOLE[form][:length])
        found = look(str(path))
        assert found is not None and (found.form, found.code) == (form, "image-damaged"), length


def test_what_programs_put_behind_an_image_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "x.jpg"
    for content in (JPEG + bytes(1000), PNG + b"more", GIF + bytes(3), BMP + b"x"):
        path.write_bytes(content)
        found = look(str(path))
        assert found is not None and not found.code


@pytest.mark.parametrize(
    ("content", "code", "reason"),
    [
        (b"", "image-damaged", "empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "lfs-pointer", "git-lfs"),
        (b"\n<!DOCTYPE html><html>", "image-damaged", "web page"),
        (bytes(4096), "image-damaged", "zero"),
        (b"hello", "image-damaged", "not begin"),
        (b"\xff\xd8\xff\xd9", "image-damaged", "headers"),
    ],
)
def test_other_things_under_the_name_of_an_image(tmp_path: Path, content: bytes, code: str, reason: str) -> None:
    path = tmp_path / "X.JPEG"
    path.write_bytes(content)
    found = look(str(path))
    assert found is not None and found.form == "JPEG"
    assert found.code == code and reason in found.reason
    other = tmp_path / "x.bin"
    other.write_bytes(content)
    assert look(str(other)) is None or content.startswith(b"\xff\xd8")


@given(st.sampled_from(sorted(WHOLE.values())), st.binary(max_size=60), st.integers(0, 40))
def test_no_bytes_break_it(tmp_path_factory: pytest.TempPathFactory, whole: bytes, more: bytes, place: int) -> None:
    path = tmp_path_factory.getbasetemp() / "odd.png"
    path.write_bytes(whole[:place] + more + whole[place:])
    look(str(path))
