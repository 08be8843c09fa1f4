"""Every capture of a real run gets the verdict, the root and the place that its README tells."""

from __future__ import annotations

import pytest

from tests.unit.launch.reports import Expected, check_good, check_root, report_of
from tests.unit.launch.samples import LAUNCH

GOOD = (
    "ok",
    "envdump",
    "bindcore",
    "bindnuma",
    "glog0",
    "glog1",
    "glogfile",
    "ssl_ok",
    "ssl_bootstrap",
    "sslx_other3072",
    "sim1",
    "tail0",
    "workerlogname",
    "plain_no_init",
    "norank",
    "pylog",
)
UNTOLD = ("nojoin", "vlog_kernel_launch")
"""No exit code is the job's own (msrun left at once; none was saved), and nothing went wrong."""
WORKER_0, WORKER_1, SCHEDULER, CONSOLE = "worker_0.log", "worker_1.log", "scheduler.log", "console.txt"
NOBODY = (None,)
REFUSED = Expected("tls-handshake-failed", ".log", (None, 0), "certificate verify failed|bad certificate")


def _console(code: str, line: str | None, evidence: str | None = None, **values: object) -> Expected:
    return Expected(code, CONSOLE, NOBODY, line, evidence, values)


def _rank(code: str, rank: int, line: str | None, evidence: str | None = None, **values: object) -> Expected:
    return Expected(code, f"worker_{rank}.log", (rank,), line, evidence, values)


FAILED = {
    "args_addrport": _console("master-address-invalid", "DNS resolution has failed"),
    "args_bad_host": _console("master-address-invalid", "DNS resolution has failed"),
    "args_join_lower": _console("launcher-usage", "argument --join: invalid"),
    "args_local_gt_worker": _console("wrong-worker-count", "exceeded local worker number: 2"),
    "args_no_script": _console("launcher-usage", "arguments are required: task_script"),
    "args_port_range": Expected("master-port-invalid", WORKER_0, (0,), "70000 is invalid"),
    "args_tail_bad": _console("launcher-usage", "invalid literal for int", "tail_worker_log"),
    "args_unknown": _console("launcher-usage", "unrecognized arguments: --log_level=DEBUG"),
    "args_worker0": _console("wrong-worker-count", "worker_num must be greater than 0"),
    "bindbad": _console("bind-invalid", "CORE id 2 in '--bind_core'"),
    "ds_gen_mp": _console(
        "dataset-exception", "^KeyError: 'sample 17", exception="KeyError", script_file="/home/user/project/ds_gen.py",
        script_line=7,
    ),
    "ds_gen_thread": _console("dataset-exception", "^KeyError: 'sample 17", "raise KeyError", script_line=7),
    "ds_tfrecord_corrupt": _rank("data-file-corrupt", 0, r"Invalid file|bad\.tfrecord|Syntax error", r"bad\.tfrecord"),
    "exc_one_rank": _rank(
        "script-exception", 1, "^KeyError: 1$", "in load_part", exception="KeyError", function="load_part",
        script_file="/home/user/project/fail_rank1.py", script_line=10,
    ),
    "hang_sigINT": _rank("hang", 1, "TcpConnection is constructed"),
    "hang_sigTERM": _rank("hang", 1, "rank id: 1"),
    "missing_script": Expected("script-missing", ".log", (None, 0, 1), "can't open file"),
    "port_in_use": Expected("port-in-use", SCHEDULER, NOBODY, "28130"),
    "py_asc2": _console("device-backend-missing", "Unsupported device target Ascend", "libge_runner.so"),
    "py_ascend": _console("device-backend-missing", "Unsupported device target Ascend", "libge_runner.so"),
    "py_attr": _console("script-exception", "^AttributeError", "self.nothere", script_line=48),
    "py_castpass": _console("dtype-cast-failed", "Data type conversion is not supported", "ops.assign", script_line=41),
    "py_ckpt_corrupt": _console("data-file-corrupt", "Failed to read the checkpoint file", r"bad\.ckpt"),
    "py_ckpt_mismatch": _console("shape-mismatch", "should have the same shape|Failed to combine"),
    "py_ckpt_missing": _console("checkpoint-missing", r"none\.ckpt does not exist"),
    "py_ds_batchshape": _console("dataset-exception", "Cannot batch tensors", "<3>.*<4>"),
    "py_ds_decode": _console("data-file-corrupt", r"a\.jpg decode failed"),
    "py_ds_mindrecord": _console("dataset-exception", r"x\.mindrecord\.db is not exists"),
    "py_ds_nodir": _console("path-not-found", "data/absent does not exist"),
    "py_dtype_err": _console("dtype-cast-failed", "the type of 'x2' should be same", script_line=10),
    "py_gather": _console("operator-parameter", "the axis must be in", script_line=24),
    "py_imp_err": _console("module-missing", "No module named 'no_such_pkg_xyz'", module="no_such_pkg_xyz"),
    "py_oom": _console("host-out-of-memory", "Allocate memory failed"),
    "py_pynative": _console("async-error-after-success", "WorkerJoin failed: For 'Add'"),
    "py_segv": _console("killed-by-signal", None, exit_code=-11, signal="SIGSEGV"),
    "py_syntax_graph": _console("graph-pass-failed", "Unsupported statement 'Try'", script_line=7),
    "py_tf_missing": _console("path-not-found", r"nope\.tfrecord"),
    "py_tf_trunc": _console("data-file-corrupt", r"Invalid file|bad\.tfrecord|Syntax error", r"bad\.tfrecord"),
    "py_unsupported": _console("dtype-cast-failed", r"but got Tensor\[Complex64\]", script_line=12),
    "pylog_v5": _console("log-level-invalid", "But got 5"),
    "pylog_vname": _console("log-level-invalid", "But got DEBUG"),
    "pynative_async": _rank("async-error-after-success", 0, "WorkerJoin failed: For 'Add'", "need to broadcast"),
    "shape_graph": _rank("shape-mismatch", 0, "For 'MatMulExt' op", "got 16 and 10", script_line=12),
    "sigkill_worker": _rank("killed-by-signal", 1, "^rank id: 1$", exit_code=-9, signal="SIGKILL"),
    "ssl_article": _rank("tls-certificate-unsupported", 0, r"The pointer\[akeyid\] is null"),
    "ssl_badcipher": _rank("tls-cipher-unsupported", 0, "RC4-MD5|The cipher is wrong"),
    "ssl_badpw": _rank("tls-password-wrong", 0, "The client password is invalid"),
    "ssl_cain": Expected("tls-certificate-unsupported", ".log", (0, 1), "ca_stack should be empty"),
    "ssl_cn_other": _rank("cluster-timeout", 0, "Failed to init|Building networking"),  # its level hides the handshake
    "ssl_expired": _rank("tls-certificate-expired", 0, "sooner than now|Verify Cert Time failed"),
    "ssl_missing": _rank("tls-config-invalid", 0, "client_cert_path's value is not exist"),
    "ssl_nocfg": _rank("tls-config-invalid", 0, "The config file is empty"),
    "ssl_weak": _rank("tls-key-too-weak", 0, "SSL use certificate chain file failed"),
    "sslx_cnonly_i": Expected("tls-key-too-weak", SCHEDULER, NOBODY, "ee key too small"),
    "sslx_exphost3072": REFUSED,
    "sslx_onlyserver": REFUSED,
    "wrong_count": Expected(
        "wrong-worker-count", SCHEDULER, NOBODY, "registered node number: 2, expected node number: 3", "MS_SCHED",
        {"registered": 2, "expected": 3},
    ),
}  # fmt: skip


def test_the_table_has_every_capture() -> None:
    captured = {folder.name for folder in LAUNCH.iterdir() if (folder / "console.txt").exists()}
    assert captured == {*GOOD, *UNTOLD, *FAILED}


@pytest.mark.parametrize("case", GOOD)
def test_a_good_run(case: str) -> None:
    check_good(report_of(LAUNCH / case))


@pytest.mark.parametrize("case", UNTOLD)
def test_a_run_without_an_exit_code(case: str) -> None:
    report = report_of(LAUNCH / case)
    assert report["verdict"] in ("succeeded", "unknown")
    check_good(report, report["verdict"])


@pytest.mark.parametrize("case", FAILED)
def test_a_failed_run(case: str) -> None:
    check_root(report_of(LAUNCH / case), FAILED[case])


@pytest.mark.parametrize(("case", "code"), [("exc_one_rank", 1), ("sigkill_worker", -9)])
def test_the_states_of_the_ranks(case: str, code: int) -> None:
    """msrun killed rank 0 as soon as it saw rank 1 fail."""
    ranks = {rank["rank"]: rank for rank in report_of(LAUNCH / case)["ranks"] if rank["role"] == "worker"}
    assert ranks[0]["state"] == "killed"
    assert (ranks[1]["exit_code"], ranks[1]["state"]) == (code, "killed" if code < 0 else "failed")


@pytest.mark.parametrize("case", [case for case, expected in FAILED.items() if expected.ranks != NOBODY])
def test_rank_files_are_enough(case: str) -> None:
    """Without the console there is no exit code, but what the ranks wrote says the same."""
    if FAILED[case].code in ("killed-by-signal", "hang"):
        assert report_of(LAUNCH / case / "msrun_log")["verdict"] in ("failed", "unknown")
    else:
        check_root(report_of(LAUNCH / case / "msrun_log"), FAILED[case])
