"""Sniffers take any bytes: they never fail, and damage never makes them call a thing by another domain's name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.cache import sniff as cache
from mswb.convert import sniff as convert
from mswb.files.peek import of_bytes
from mswb.profile.readers import detect as profile
from tests.unit.inventories import DATA, MODELS, SAMPLES

MODULES = (cache, profile, convert)
NAMES = st.sampled_from(
    ["x", "a.tfrecord", "b.mindrecord", "c.npy", "d.ckpt", "e.onnx", "f.json", "g.csv", "h.db", "i.gz"]
)
FILES = (
    *(path for path in DATA.rglob("*") if path.is_file()),
    *MODELS.iterdir(),
    *(SAMPLES / "compile").iterdir(),
    *(SAMPLES / "minddata").iterdir(),
    *(path for path in (SAMPLES / "profile").rglob("*") if path.suffix in (".json", ".csv", ".txt")),
)
SAMPLES_READ = {path: path.read_bytes() for path in FILES}


def _check(name: str, data: bytes) -> None:
    for module in MODULES:
        guess = module.sniff_file(of_bytes(name, data))
        assert guess is None or (guess.kind in module.KINDS and isinstance(guess.detail, str) and guess.reason)


@settings(deadline=None)
@given(NAMES, st.binary(max_size=400))
def test_any_bytes(name: str, data: bytes) -> None:
    _check(name, data)


PREFIXES = st.one_of(
    st.sampled_from(
        [b"\x0a", b"\x08\x07", b"[", b"{", b"\x93NUMPY\x01\0v\0{", b"PK\x03\x04", b"\x1f\x8b\x08", b"x\x9c"]
    ),
    st.sampled_from([b"SQLite format 3\0", b"IMOD", b"\x10\0\0\0MSL2", b'\x10\0\0\0\0\0\0\0{"', b"\xd8\x5e\x3a\x7f"]),
    st.sampled_from([b"\x80\x04", b"==1== NVPROF", b"PAR1", b"ARROW1\0\0"]),
)


@settings(deadline=None)
@given(NAMES, PREFIXES, st.binary(max_size=400))
def test_any_bytes_after_a_magic(name: str, prefix: bytes, data: bytes) -> None:
    _check(name, prefix + data)


@st.composite
def _damaged(draw: Callable[..., object]) -> tuple[str, bytes]:
    path = draw(st.sampled_from(FILES))
    assert isinstance(path, Path)
    data = bytearray(SAMPLES_READ[path])
    for _ in range(draw(st.integers(0, 4))):  # type: ignore[call-overload]
        if data:
            place = draw(st.one_of(st.integers(0, min(len(data), 200) - 1), st.integers(0, len(data) - 1)))
            data[place] = draw(st.integers(0, 255))  # type: ignore[index, assignment]
    cut = draw(st.one_of(st.none(), st.integers(0, len(data))))
    return path.name, bytes(data[:cut])  # type: ignore[misc]


@settings(max_examples=300, deadline=None)
@given(_damaged())
def test_damaged_samples(sample: tuple[str, bytes]) -> None:
    _check(*sample)


def test_each_sample_belongs_to_one_domain() -> None:
    """By content alone: the suffix is taken away. Tables in text are the only ones that both may name."""
    expected = {"data": "cache", "models": "", "compile": "", "minddata": "profile", "profile": "profile"}
    for path, data in SAMPLES_READ.items():
        domain = expected[path.relative_to(SAMPLES).parts[0]]
        names = {
            name
            for name, module in (("cache", cache), ("profile", profile), ("convert", convert))
            if (guess := module.sniff_file(of_bytes("thing", data))) is not None and guess.kind != "csv"
        }
        assert len(names) <= 1, (path, names)
        if domain and names:
            assert names == {domain}, path
