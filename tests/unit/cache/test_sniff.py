"""What files are to the Cache pane: the real samples, and every kind of damage that a glance can see."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from mswb.cache import sniff
from mswb.cache.data.tfrecord.sniff import masked_crc
from mswb.files.items import Guess
from tests.unit.inventories import DATA, MODELS, SAMPLES, guess_bytes, guess_file

GOOD = (DATA / "good.tfrecord").read_bytes()
RECORD = 169
MINDRECORD = (DATA / "mindrecord" / "good" / "good.mindrecord").read_bytes()
INDEX = (DATA / "mindrecord" / "good" / "good.mindrecord.db").read_bytes()


def flipped(data: bytes, offset: int, bit: int = 0) -> bytes:
    """The data with one bit the other way."""
    return data[:offset] + bytes([data[offset] ^ 1 << bit]) + data[offset + 1 :]


def verdict(guess: Guess | None) -> tuple[str, str]:
    assert guess is not None
    assert guess.kind in sniff.KINDS and guess.detail and guess.reason
    return guess.kind, guess.status


def test_crc_of_a_known_value() -> None:
    """RFC 3720, B.4: 32 bytes of zeros have the CRC-32C 8a9136aa; unmasked by the inverse of the rule."""
    masked = masked_crc(bytes(32)) - 0xA282EAD8 & 0xFFFFFFFF
    assert (masked << 15 | masked >> 17) & 0xFFFFFFFF == 0x8A9136AA


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("good.tfrecord", ""),
        ("good.tfrecord.gz", "compressed"),
        ("zlib.tfrecord", "compressed"),
        ("garbage.tfrecord", "not-a-record-file"),
        ("crlf_ftp_ascii.tfrecord", "corrupted"),
        ("zero_filled_tail.tfrecord", "corrupted"),
    ],
)
def test_tfrecord_samples(name: str, status: str) -> None:
    assert verdict(guess_file(sniff, DATA / name)) == ("tfrecord", status)


@pytest.mark.parametrize(
    ("data", "status", "words"),
    [
        (GOOD[: 30 * RECORD], "", "30 records"),  # a cut between records can't be seen
        (GOOD[: 30 * RECORD + 5], "truncated", "record 30 at byte 5070 is cut inside its length"),
        (GOOD[: 30 * RECORD + 52], "truncated", "record 30 at byte 5070 passes the end"),
        (flipped(GOOD, 10 * RECORD), "corrupted", "record 10 at byte 1690"),
        (flipped(GOOD, 10 * RECORD + 5), "corrupted", "record 10 at byte 1690"),
        (flipped(GOOD, 10 * RECORD + 8), "corrupted", "record 10 at byte 1690"),
        (flipped(GOOD, 8), "corrupted", "first frame"),
        (flipped(GOOD, 10 * RECORD + 72), "", "about 50 records"),  # inside the data: verify finds it
        (b"", "empty", "0 bytes"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 2\n", "lfs-pointer", "git lfs pull"),
        (b"\0" * 5000, "not-a-record-file", "not one"),
    ],
)
def test_tfrecord_damage(data: bytes, status: str, words: str) -> None:
    guess = guess_bytes(sniff, data, "train-0.tfrecord")
    assert verdict(guess) == ("tfrecord", status)
    assert guess is not None and words in guess.detail


def test_the_name_of_a_tfrecord_does_not_matter() -> None:
    for name in ("part-00000", "data.bin", "x.onnx", "x.mindrecord"):
        assert verdict(guess_bytes(sniff, GOOD, name)) == ("tfrecord", "")


def test_summaries_are_no_data_set() -> None:
    event = b"\x09" + bytes(8) + b"\x1a\x0dbrain.Event:2"
    length = struct.pack("<Q", len(event))
    frame = length + struct.pack("<I", masked_crc(length)) + event + struct.pack("<I", masked_crc(event))
    assert verdict(guess_bytes(sniff, frame, "events.out.tfevents.1")) == ("event-file", "")


@pytest.mark.parametrize(
    ("data", "name", "status"),
    [
        (MINDRECORD, "good.mindrecord", ""),
        (MINDRECORD, "other.mindrecord", "renamed"),
        (flipped(MINDRECORD, 0), "good.mindrecord", "corrupted"),
        (flipped(MINDRECORD, 5, 4), "good.mindrecord", "corrupted"),
        (flipped(MINDRECORD, 48), "good.mindrecord", "corrupted"),
        (MINDRECORD[:400], "good.mindrecord", "truncated"),
        (MINDRECORD[:-1000], "good.mindrecord", "truncated"),
        (MINDRECORD.replace(b'"version":"3.0"', b'"version":"9.0"'), "good.mindrecord", "version-mismatch"),
        (gzip.compress(MINDRECORD), "good.mindrecord", "compressed"),
        (bytes(20000), "good.mindrecord", "interrupted"),
        (b"", "good.mindrecord", "empty"),
        (b"hello", "good.mindrecord", "not-a-record-file"),
        (b"\x01\x02" * 100 + b"ENCRYPT", "good.mindrecord", "encrypted"),
    ],
    ids=range(13),  # what gzip packs has the time in it, and the names of tests must be the same in every process
)
def test_mindrecord(data: bytes, name: str, status: str) -> None:
    assert verdict(guess_bytes(sniff, data, name)) == ("mindrecord", status)


def test_mindrecord_says_what_is_in_it() -> None:
    guess = guess_bytes(sniff, MINDRECORD, "good.mindrecord")
    assert guess is not None and guess.detail == "60 rows, columns data, file_name, label"


def test_mindrecord_by_any_name() -> None:
    assert verdict(guess_bytes(sniff, MINDRECORD, "good.bin")) == ("mindrecord", "renamed")


def test_mindrecord_index() -> None:
    assert verdict(guess_bytes(sniff, INDEX, "x")) == ("mindrecord-index", "")
    assert verdict(guess_bytes(sniff, INDEX[:6000], "x")) == ("mindrecord-index", "index-damaged")
    assert guess_bytes(sniff, b"SQLite format 3\0" + bytes(5000), "x.db") is None


@pytest.mark.parametrize(
    ("name", "kind", "status", "words"),
    [
        ("net.ckpt", "checkpoint", "", "2 parameters, first weight"),
        ("crc.ckpt", "checkpoint", "", "2 parameters, first weight"),
        ("enc.ckpt", "checkpoint", "encrypted", "AES-GCM"),
        ("net.safetensors", "safetensors", "", "2 tensors (F32)"),
    ],
)
def test_weights(name: str, kind: str, status: str, words: str) -> None:
    guess = guess_file(sniff, MODELS / name)
    assert verdict(guess) == (kind, status)
    assert guess is not None and words in guess.detail


def test_damaged_weights() -> None:
    checkpoint = (MODELS / "net.ckpt").read_bytes()
    assert verdict(guess_bytes(sniff, checkpoint[:-1], "a")) == ("checkpoint", "truncated")
    tensors = (MODELS / "net.safetensors").read_bytes()
    assert verdict(guess_bytes(sniff, tensors[:-1], "a")) == ("safetensors", "truncated")
    assert verdict(guess_bytes(sniff, tensors.replace(b'"ms"}', b'"ms",'), "a")) == ("safetensors", "corrupted")
    assert verdict(guess_bytes(sniff, b"random", "a.ckpt")) == ("checkpoint", "not-recognised")


@pytest.mark.parametrize("name", ["net.mindir", "net.onnx", "enc_AES-GCM.mindir", "enc_AES-CBC.mindir"])
def test_models_are_no_caches(name: str) -> None:
    assert guess_file(sniff, MODELS / name) is None


def _npy(array: object, pickled: bool = False) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=pickled)  # type: ignore[arg-type]
    return file.getvalue()


def test_arrays() -> None:
    data = _npy(np.zeros((3, 4), np.float32))
    guess = guess_bytes(sniff, data)
    assert guess is not None and (guess.kind, guess.status, guess.detail) == ("npy", "", "<f4 (3, 4)")
    assert verdict(guess_bytes(sniff, data[:-1])) == ("npy", "truncated")
    objects = guess_bytes(sniff, _npy(np.array([{}], dtype=object), pickled=True))
    assert objects is not None and "never opened" in objects.detail
    structured = guess_bytes(sniff, _npy(np.zeros(3, dtype=[("a", "i4")])))
    assert structured is not None and structured.detail == "a structured array"
    assert verdict(guess_bytes(sniff, _npy(np.array("text")))) == ("npy", "")


def test_archives() -> None:
    file = io.BytesIO()
    np.savez(file, first=np.zeros(3))
    assert verdict(guess_bytes(sniff, file.getvalue())) == ("npz", "")
    assert verdict(guess_bytes(sniff, file.getvalue()[:-30])) == ("npz", "truncated")
    torch = io.BytesIO()
    with zipfile.ZipFile(torch, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02.")
    assert verdict(guess_bytes(sniff, torch.getvalue(), "net.pth")) == ("torch", "")
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("readme.txt", b"hello")
    assert guess_bytes(sniff, other.getvalue()) is None


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (b"ARROW1\0\0" + bytes(100) + b"ARROW1", "a", ("arrow", "")),
        (b"ARROW1\0\0" + bytes(100), "a", ("arrow", "truncated")),
        (b"PAR1" + bytes(100) + b"PAR1", "a", ("parquet", "")),
        (b"PAR1" + bytes(100), "a", ("parquet", "truncated")),
        (b"\x89HDF\r\n\x1a\n" + bytes(100), "a", ("hdf5", "")),
        (bytes(16) + b"\xde\xc0\xef\xbe" + bytes(8192), "data.mdb", ("lmdb", "")),
        (b"\x80\x04\x95abc.", "samples.pkl", ("pickle", "")),
        (b"a,b\n1,2\n3,4\n", "t.csv", ("csv", "")),
        (b'{"session_and_graph_id_0": {}}', "fusion_result.json", ("fusion-result", "")),
    ],
)
def test_other_kinds(data: bytes, name: str, expected: tuple[str, str]) -> None:
    assert verdict(guess_bytes(sniff, data, name)) == expected


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"hello world", "notes.txt"),
        (b"a,b\n1,2,3\n", "uneven.csv"),
        (b'{"a": 1}', "config.json"),
        (b"\x7fELF" + bytes(500), "program"),
        (struct.pack("<Q", 20) + b'{"key": "value"}....', "frame.bin"),
        (b"\x80\x04\x95abc.", "no-suffix"),
        (json.dumps({"header_size": 1}).encode(), "x.json"),
    ],
)
def test_what_is_none_of_ours(data: bytes, name: str) -> None:
    assert guess_bytes(sniff, data, name) is None


def test_compile_cache_files() -> None:
    folder = SAMPLES / "compile"
    graph = guess_file(sniff, folder / "compile_cache_0.mindir")
    assert graph is not None and graph.detail == "written by MindSpore 2.10.0"
    assert verdict(guess_file(sniff, folder / "compile_dependency.hash")) == ("compile-hash", "")
    assert verdict(guess_bytes(sniff, b"", "compile_cache_1.mindir")) == ("compile-graph", "corrupted")
    assert verdict(guess_bytes(sniff, b"garbage", "compile_dependency.hash")) == ("compile-hash", "corrupted")
    assert verdict(
        guess_bytes(sniff, (folder / "compile_cache_0.mindir").read_bytes(), "MS_WORKERcompile_cache_0.mindir")
    ) == ("compile-graph", "")


@pytest.mark.parametrize(
    ("path", "names", "kind"),
    [
        ("/w/rank_0/graph_cache", ["compile_cache_0.mindir", "compile_dependency.hash"], "compile-cache"),
        ("/w/kernel_meta", ["te_add_1.o", "te_add_1.json"], "kernel-cache"),
        ("/w/kernel_meta", [], "kernel-cache"),
        ("/w/kernel_meta_123", ["a.info"], "kernel-cache"),
        ("/w/akg_kernel_meta", ["Fused_Add.json"], "kernel-cache"),
        ("/w/somas_meta", ["somas_graph_1.json"], "memory-plan"),
        ("/w/rank_3/om", ["analyze_fail.ir"], "dump"),
        ("/w/rank_3/rdr", ["SESSION.graph_build.16.ir"], "dump"),
        ("/w/kernel_meta", ["buildPidInfo.json", "kernel_meta_temp_1497106747455375917"], "kernel-cache"),
        ("/h/kernel_cache", ["Ascend910B"], "kernel-cache"),
        ("/w/graph_kernel_dump", ["a.txt"], "dump"),
        ("/w/.decrypt_mindrecord", ["a.mindrecord"], "plain-copy"),
        ("/s/abcdefghijklmnopqrstuvwxyz0123456789", ["IMG00000.LB", "IMG00001.LB"], "cache-spill"),
        ("/w/.mindnlp", ["models"], "download"),
    ],
)
def test_folders(path: str, names: list[str], kind: str) -> None:
    guess = sniff.sniff_folder(path, names)
    assert guess is not None and guess.kind == kind and kind in sniff.KINDS


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/w/graph_cache", ["notes.txt"]),
        ("/w/kernel_meta", ["readme.md"]),
        ("/w/om", ["a.om"]),
        ("/w/kernel_meta_learning", ["thesis.tex", "config.json"]),
        ("/w/kernel_meta", ["config.json"]),
        ("/w/kernel_cache", ["main.c"]),
        ("/w/somas_meta", ["a.py"]),
        ("/w/graph_cache", ["my_backinfo.json", "thesis.tex"]),
        ("/w/graph_kernel_dump", ["a.py"]),
        ("/flir/rank_0/ir", ["0001.png"]),
        ("/w/.decrypt_mindrecord", ["diary.txt"]),
        ("/w/data", ["IMG00000.LB"]),
        ("/w/src", ["train.py"]),
    ],
)
def test_folders_of_others(path: str, names: list[str]) -> None:
    assert sniff.sniff_folder(path, names) is None


def test_every_kind_that_is_guessed_has_words(tmp_path: Path) -> None:
    assert all(words and kind == kind.lower() for kind, words in sniff.KINDS.items())
