"""The known words of data failures, the files a text names, and the verdict on slow caches."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.cache.sniff import KINDS
from mswb.cache.triage import rules, slow
from mswb.cache.triage.rules import Rule, load_rules
from mswb.findings import load_catalogue
from mswb.inside.cached.filesystem import Mount

SERVER = Path(__file__).parents[3] / "fixtures" / "cache" / "server"


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: rule.id)
def test_a_sample_is_told_by_its_rule_and_the_catalogue_has_words(rule: Rule) -> None:
    found = {hit.rule.id: hit for hit in rules.find([rule.sample])}
    assert rule.id in found
    assert rule.code in load_catalogue()
    assert rule.forms <= {*KINDS, "file-cache"}


def test_ids_are_unique() -> None:
    ids = [rule.id for rule in load_rules()]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("10a_generator_not_supported", "triage-cache-refused"),
        ("10e_random", "triage-cache-refused"),
        ("10f_after_batch", "triage-cache-refused"),
        ("15_bad_session", "triage-session"),
        ("17_destroy_midrun_client", "cache-id-lost"),
        ("18_kill9_client", "triage-server"),
    ],
)
def test_real_failures_of_cached_pipelines(name: str, code: str) -> None:
    hits = rules.find((SERVER / f"{name}.txt").read_text().splitlines())
    assert [hit.rule.code for hit in hits] == [code]


@pytest.mark.parametrize(
    ("text", "code", "path"),
    [
        (
            "[ERROR] map operation: [ParseExample] failed. The corresponding data file is: a b.tfrecord. "
            "Failed to parse example bytes: \x96 label",
            "triage-parse",
            "a b.tfrecord",
        ),
        (
            "TFReaderOp: failed to parse example in tfrecord file: /d/x.tfrecord. Perhaps the version of protobuf is "
            "not compatible.",
            "triage-parse",
            "/d/x.tfrecord",
        ),
        ("RuntimeError: The input: P/x.mindrecord.db is not exists.", "triage-index-missing", "P/x.mindrecord"),
        ("Invalid TFRecord file: zlib.tfrecord", "triage-inflate", "zlib.tfrecord"),
        (
            "ValueError: Invalid cache file format: /c/x/0000.shard at byte 12: bad magic",
            "triage-cache-format",
            "/c/x/0000.shard",
        ),
    ],
)
def test_files_are_taken_from_the_words(text: str, code: str, path: str) -> None:
    (hit,) = rules.find([text])
    assert (hit.rule.code, hit.paths[0]) == (code, path)


def test_a_rule_is_told_once_with_all_files_and_its_first_line() -> None:
    lines = ["hello", "Invalid TFRecord file: a.tfrecord", "x", "Invalid TFRecord file: b.tfrecord"]
    (hit,) = rules.find(lines, "/log")
    assert (hit.line, hit.file) == (2, "/log")
    assert hit.paths == ("a.tfrecord", "b.tfrecord")


def test_sources_of_programs_are_no_data() -> None:
    text = 'File "/home/user/train.py", line 3\nmindspore/ccsrc/minddata/x.cc(167)\n/opt/site-packages/a/b.npy'
    assert rules.paths_in(text) == ()
    assert rules.paths_in("reads '/data/a/x.npy', y.tfrecord-00001-of-00002 and z.mindrecord0!") == (
        "/data/a/x.npy",
        "y.tfrecord-00001-of-00002",
        "z.mindrecord0",
    )


def test_names_are_looked_for_in_the_folders_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x.tfrecord").touch()
    folders = [str(tmp_path), str(tmp_path / "data")]
    expected = [str(tmp_path / "data" / "x.tfrecord")]
    assert rules.resolve(["data/x.tfrecord"], folders) == expected
    assert rules.resolve(["x.tfrecord"], folders) == expected
    assert rules.resolve(["/elsewhere/x.tfrecord", "y.tfrecord"], folders) == expected
    assert rules.resolve(["/elsewhere/x.tfrecord"], []) == []


@given(st.text(max_size=300))
def test_no_text_breaks_the_search(text: str) -> None:
    rules.find(text.split("\n"))
    assert all(len(path) > 2 for path in rules.paths_in(text))


def times(mean: float, count: int = 1000) -> dict[str, float]:
    return {"mean": mean, "count": count}


@pytest.mark.parametrize(
    ("load", "source", "mount", "codes"),
    [
        (times(180.0), times(12.0), "nfs", ["cache-slower", "cache-small-requests"]),
        (times(180.0), None, "nfs", ["cache-on-slow-share", "cache-small-requests"]),
        (times(180.0), times(500.0), "nfs", ["cache-on-slow-share", "cache-small-requests"]),
        (times(2.0), times(12.0), "nfs", []),
        (times(20.0), times(12.0), "ssd", ["cache-slower"]),
        (times(12.0), times(180.0), "ssd", []),
        (times(180.0, 3), times(12.0), "nfs", []),
        (None, None, "nfs", []),
        ("damaged", {"mean": "x"}, "nfs", []),
    ],
)
def test_a_cache_is_compared_with_its_source(load: object, source: object, mount: str, codes: list[str]) -> None:
    small = {"rsize": "65536", "wsize": "65536"}
    mounts = {"nfs": Mount("nfs4", "/m", small), "ssd": Mount("ext4", "/", {})}
    found = slow.judge("/m/c", "train", {"load_ms": load, "source_ms": source}, mounts[mount])
    assert [one.code for one in found] == codes
    if "cache-small-requests" in codes:
        assert "rsize=1048576" in found[-1].advice[0]


def test_a_share_with_big_requests_needs_no_advice_on_them() -> None:
    share = Mount("nfs4", "/m", {"rsize": "1048576", "wsize": "1048576"})
    found = slow.judge("/m/c", "train", {"load_ms": times(180.0)}, share)
    assert [one.code for one in found] == ["cache-on-slow-share"]
