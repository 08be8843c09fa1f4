"""The known lines of a failure: each is told by its own sample, and good runs show none."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest
import re2

from mswb.findings import load_catalogue
from mswb.launch.records import level_of
from mswb.launch.signatures import MAX_VALUE, Signature, load_signatures, match_line

FIXTURES = Path(__file__).parents[2] / "fixtures" / "launch"
GOOD_RUNS = [
    *("ok", "ssl_ok", "ssl_bootstrap", "sslx_other3072", "glog0", "glog1", "glogfile", "pylog", "vlog_kernel_launch"),
    *("tail0", "bindcore", "bindnuma", "envdump", "nojoin", "sim1", "workerlogname", "norank"),
]
FILLED_BY_DIAGNOSIS = {"rank", "who", "missing"}
"""Values that a line can't tell."""
MAY_LACK = {
    "L01b": {"port"},  # Python doesn't name it
    "D01": {"path"},  # stands in the next line
}


def logs_of(case: str) -> list[Path]:
    return [path for path in (FIXTURES / case).rglob("*") if path.name == "console.txt" or path.suffix == ".log"]


def told(case: str) -> set[str]:
    """The codes of the root and victim lines of a sample run, INFO and DEBUG records left out."""
    found = set()
    for path in logs_of(case):
        for line in path.read_bytes().splitlines():
            if level_of(line) in ("INFO", "DEBUG"):
                continue
            matches = match_line(line.decode("utf-8", "replace"))
            if matches and all(match.signature.kind != "benign" for match in matches):
                found.add(matches[0].signature.code)
    return found


@pytest.mark.parametrize("signature", load_signatures(), ids=lambda signature: signature.id)
def test_a_sample_is_told_by_its_own_signature(signature: Signature) -> None:
    best = match_line(signature.sample)[0].signature
    assert best.priority >= signature.priority
    assert signature.id in {match.signature.id for match in match_line(signature.sample)}
    # A line may fit two signatures only when both say the same.
    assert best.id == signature.id or best.code == signature.code


@pytest.mark.parametrize("signature", load_signatures(), ids=lambda signature: signature.id)
def test_a_signature_is_well_formed(signature: Signature) -> None:
    assert re2.compile(signature.regex.pattern)
    assert signature.kind in ("root", "wrapper", "victim", "note", "benign")
    assert (signature.code == "") == (signature.kind == "benign")
    assert set(signature.ints) <= {name.rstrip("0123456789") for name in signature.regex.groupindex}
    assert set(signature.hint) in (set(), {"en", "zh"})
    assert "\n" not in signature.sample
    assert not signature.regex.search("")


def test_ids_are_unique_and_priorities_fall() -> None:
    signatures = load_signatures()
    assert len({signature.id for signature in signatures}) == len(signatures)
    assert [item.priority for item in signatures] == sorted((item.priority for item in signatures), reverse=True)


@pytest.mark.parametrize("signature", [s for s in load_signatures() if s.code], ids=lambda signature: signature.id)
def test_the_catalogue_has_words_and_the_sample_gives_their_values(signature: Signature) -> None:
    entry = load_catalogue()[signature.code]
    if signature.kind == "wrapper" or signature.severity is not None:
        return
    fields = {name for _, name, _, _ in string.Formatter().parse(entry.en.title) if name}
    match = signature.regex.search(signature.sample)
    assert match is not None
    missing = fields - set(signature.values(match)) - FILLED_BY_DIAGNOSIS
    assert missing <= MAY_LACK.get(signature.id, set())


@pytest.mark.parametrize("case", GOOD_RUNS)
def test_a_good_run_shows_no_failure(case: str) -> None:
    assert logs_of(case)
    assert told(case) == set()


@pytest.mark.parametrize(
    ("case", "code"),
    [
        ("port_in_use", "port-in-use"),
        ("args_addrport", "master-address-invalid"),
        ("args_port_range", "master-port-invalid"),
        ("args_local_gt_worker", "wrong-worker-count"),
        ("args_join_lower", "launcher-usage"),
        ("args_unknown", "launcher-usage"),
        ("bindbad", "bind-invalid"),
        ("missing_script", "script-missing"),
        ("sigkill_worker", "killed-by-signal"),
        ("wrong_count", "cluster-timeout"),
        ("exc_one_rank", "cluster-peer-lost"),
        ("ssl_article", "tls-certificate-unsupported"),
        ("ssl_cain", "tls-certificate-unsupported"),
        ("ssl_badcipher", "tls-cipher-unsupported"),
        ("ssl_badpw", "tls-password-wrong"),
        ("ssl_expired", "tls-certificate-expired"),
        ("ssl_missing", "tls-config-invalid"),
        ("ssl_nocfg", "tls-config-invalid"),
        ("ssl_weak", "tls-key-too-weak"),
        ("sslx_cnonly_i", "tls-key-too-weak"),
        ("sslx_exphost3072", "tls-handshake-failed"),
        ("sslx_onlyserver", "tls-handshake-failed"),
        ("ds_tfrecord_corrupt", "data-file-corrupt"),
        ("py_tf_trunc", "data-file-corrupt"),
        ("py_tf_missing", "path-not-found"),
        ("py_ds_nodir", "path-not-found"),
        ("py_ds_decode", "data-file-corrupt"),
        ("py_ds_batchshape", "dataset-exception"),
        ("py_ds_mindrecord", "dataset-exception"),
        ("ds_gen_mp", "dataset-exception"),
        ("py_ckpt_missing", "checkpoint-missing"),
        ("py_ckpt_corrupt", "data-file-corrupt"),
        ("py_ckpt_mismatch", "shape-mismatch"),
        ("shape_graph", "shape-mismatch"),
        ("py_pynative", "shape-mismatch"),
        ("pynative_async", "shape-mismatch"),
        ("py_dtype_err", "dtype-cast-failed"),
        ("py_unsupported", "dtype-cast-failed"),
        ("py_castpass", "dtype-cast-failed"),
        ("py_gather", "operator-parameter"),
        ("py_syntax_graph", "graph-pass-failed"),
        ("py_oom", "host-out-of-memory"),
        ("py_imp_err", "module-missing"),
        ("py_ascend", "device-backend-missing"),
        ("pylog_vname", "log-level-invalid"),
    ],
)
def test_a_real_failure_is_told(case: str, code: str) -> None:
    assert code in told(case)


def test_values_are_typed_and_bounded() -> None:
    (match, *_) = match_line("Failed to call socket listen, url: 127.0.0.1:28130")
    assert match.values == {"port": 28130}
    (match, *_) = match_line("WorkerJoin failed: " + "x" * 5000)
    assert len(match.values["message"]) == MAX_VALUE


def test_the_library_that_is_too_old_is_named() -> None:
    (match, *_) = match_line("libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by x.so)")
    assert (match.signature.code, match.values) == ("system-library-too-old", {"library": "GLIBCXX_3.4.30"})


def test_a_line_of_source_in_a_traceback_is_benign() -> None:
    assert match_line('    raise ValueError("The folder {} does not exist or permission denied")')[
        0
    ].signature.kind == ("benign")


def test_every_regex_is_ascii_only() -> None:
    assert all(signature.regex.flags & re.ASCII for signature in load_signatures())
