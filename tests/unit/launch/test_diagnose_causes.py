"""One process, one cause: what its log says is what the root says, whatever stands around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.unit.launch.reports import Expected, check_good, check_root, report_of
from tests.unit.launch.runs import CALL, RULE, ascend, goodbye, joined, python_record, raised, record, steps, write

PID = 7
LIBSTDCXX = (
    "ImportError: /lib/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by /opt/ms/_c_expression.so)"
)
RANK_TABLE = "The ranktable is invalid,Reason: rank_id is not continuous. Please check the configured ranktable."
BUS_ERROR = "RuntimeError: DataLoader worker (pid 123) is killed by signal: Bus error. It may be out of shared memory."
PARSE = (
    "MindSpore dataset is terminated with err msg: Exception thrown from dataset pipeline. Refer to 'Dataset Pipeline "
    "Error Message'. Invalid file, failed to parse tfrecord file: /data/a.tfrecord, the file may be damaged"
)
TASKS = "mindspore/ccsrc/minddata/dataset/util/task_manager.cc:257] InterruptMaster"
SLURM = "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=123.0. Some of your processes may have been killed."
DTYPE = "For 'MatMul', the type of 'x2' should be same as 'x1', but got 'x1' with type Tensor[Float32] and 'x2' Int32."


@dataclass(frozen=True, slots=True)
class Case:
    """The lines behind those of joining, the files beside, and the code and line of the root."""

    lines: list[str]
    code: str
    line: str | None
    beside: dict[str, str] = field(default_factory=dict)
    verdict: str = "failed"


CASES = {
    "library too old": Case(raised(LIBSTDCXX), "system-library-too-old", "GLIBCXX"),
    "open files": Case(raised("OSError: [Errno 24] Too many open files: '/data/x.bin'"), "open-file-limit", "Too many"),
    "disk full": Case(raised("OSError: [Errno 28] No space left on device"), "disk-full", "No space left"),
    "port": Case(raised("OSError: [Errno 98] Address already in use"), "port-in-use", "Address already in use"),
    "memory error": Case(raised("MemoryError"), "host-out-of-memory", "MemoryError"),
    "cuda": Case(raised("RuntimeError: CUDA error: out of memory"), "device-out-of-memory", "CUDA error"),
    "bus error with a full /dev/shm": Case(
        ["Bus error (core dumped)"], "shared-memory-too-small", "Bus error", {"rc.txt": "135"}
    ),
    "a loader's bus error": Case(raised(BUS_ERROR), "shared-memory-too-small", "Bus error"),
    "own exception class": Case(raised("mypkg.errors.BadThing: boom"), "script-exception", "BadThing: boom"),
    "card in use": Case(
        [*raised("RuntimeError: Init device failed", inside=True), *ascend("EL0005", "The device is busy.")],
        "device-busy",
        "EL0005",
    ),
    "rank table": Case(
        [*raised("RuntimeError: Init hccl graph adapter failed.", inside=True), *ascend("EI0004", RANK_TABLE)],
        "rank-table-invalid",
        "EI0004",
    ),
    "device operator": Case(
        [*raised("RuntimeError: Sync stream failed:Ascend_0", inside=True), *ascend("EZ9999", "Inner Error!")],
        "device-operator-failed",
        "EZ9999|Sync stream",
    ),
    "device memory": Case(
        raised("RuntimeError: Out of Memory!!! Request memory size: 8589934592B, Memory Statistic:", inside=True),
        "device-out-of-memory",
        "Out of Memory!!!",
    ),
    "article's pass": Case(
        ["[GRAPH_BUILD] Failed at Pass: InsertCast, Reason: Cannot cast from Float32 to Int32 for node Default/Cast"],
        "dtype-cast-failed",
        "InsertCast",
    ),
    "article's handshake": Case(
        ["[ERROR] SSL handshake failed: certificate verify failed"], "tls-handshake-failed", "handshake"
    ),
    "an error that only the compiler logs": Case(
        [record("ERROR", "ANALYZER", PID, 9, DTYPE, "mindspore/ccsrc/evaluator.cc:764] Run")],
        "dtype-cast-failed",
        "For 'MatMul', the type of 'x2'",
    ),
    "damaged data file, exit 137": Case(
        [record("ERROR", "MD", PID, 3, PARSE, TASKS), "Line of code : 134"], "data-file-corrupt", "a.tfrecord",
        {"rc.txt": "rc=137"},
    ),
    "own abort for memory, exit 137": Case(
        [python_record("CRITICAL", PID, 9, "Memory error occurred, process will exit.", "mindspore/dataset/it.py:447")],
        "host-out-of-memory",
        "Memory error occurred",
        {"rc.txt": "rc=137"},
    ),
    "kernel out of memory": Case(
        steps(1, 9),
        "host-out-of-memory",
        "step: 8",
        {"exit_code_0": "137", "dmesg.txt": f"[1.6] Out of memory: Killed process {PID} (python) total-vm:900kB"},
    ),
    "control group's limit": Case(
        steps(1, 9),
        "host-out-of-memory",
        "step: 8",
        {"exit_code_0": "137", "dmesg.txt": f"[5.6] Memory cgroup out of memory: Killed process {PID} (python)"},
    ),
    "the kernel killed another": Case(
        steps(1, 9),
        "killed-by-signal",
        "step: 8",
        {"exit_code_0": "137", "dmesg.txt": "[1.6] Out of memory: Killed process 17 (chrome) total-vm:900kB"},
    ),
    "killed without a word": Case(steps(1, 9), "killed-by-signal", "step: 8", {"rc.txt": "137"}),
    "killed in a traceback": Case([*steps(1, 9), *CALL], "killed-by-signal", None, {"rc.txt": "137"}),
    "the shell's word": Case([*steps(1, 5), "Killed"], "killed-by-signal", "^Killed$"),
    "slurm's out of memory": Case([*steps(1, 5), SLURM], "host-out-of-memory", "oom-kill", {"rc.txt": "137"}),
    "syntax error": Case(
        ['  File "/home/user/project/train.py", line 3', "    def f(:", "          ^", "SyntaxError: invalid syntax"],
        "script-exception",
        "SyntaxError",
        {"rc.txt": "1"},
    ),
    "script's own usage": Case(
        ["usage: train.py [-h] [--lr LR]", "train.py: error: argument --lr: invalid float value: 'abc'"],
        "script-exception",
        "argument --lr",
        {"rc.txt": "2"},
    ),
    "exit code only": Case(steps(1, 5), "unknown-failure", "step: 4", {"rc.txt": "3"}),
    "an unknown error record": Case(
        [record("ERROR", "KERNEL", PID, 5, "The core is out of quux."), record("ERROR", "KERNEL", PID, 6, "Bye.")],
        "unknown-failure",
        "out of quux",
        {"rc.txt": "1"},
    ),
    "loss is no number": Case(
        [*steps(1, 30), "epoch: 1 step: 30, loss is nan", "epoch: 1 step: 31, loss is nan"],
        "numeric-overflow",
        "step: 30, loss is nan",
        {"rc.txt": "0"},
        "succeeded",
    ),
}  # fmt: skip


def _written(folder: Path, case: Case) -> Path:
    write(folder, "worker_0.log", [*joined(PID, 0), *case.lines])
    for name, text in case.beside.items():
        write(folder, name, [text])
    return folder


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_cause(tmp_path: Path, case: Case) -> None:
    check_root(
        report_of(_written(tmp_path, case)),
        Expected(case.code, "worker_0.log", (0,), case.line, verdict=case.verdict),
    )


def test_a_crash_names_the_users_line(tmp_path: Path) -> None:
    fatal = [
        "Fatal Python error: Segmentation fault",
        "",
        "Thread 0x00007f1 (most recent call first):",
        '  File "/usr/lib/python3.11/threading.py", line 327 in wait',
        "",
        "Current thread 0x00007f2 (most recent call first):",
        '  File "/home/user/project/ops/custom.py", line 12 in forward',
        '  File "/home/user/project/train.py", line 30 in <module>',
    ]
    write(tmp_path, "worker_1.log", [*joined(8, 1), *fatal])
    write(tmp_path, "worker_0.log", joined(7, 0))
    write(tmp_path, "rc.txt", ["139"])
    place = {"script_file": "/home/user/project/ops/custom.py", "script_line": 12, "signal": "SIGSEGV"}
    root = Expected("killed-by-signal", "worker_1.log", (1,), "Fatal Python error", "custom.py", place)
    check_root(report_of(tmp_path), root)


def test_the_real_exception_of_a_dataset(tmp_path: Path) -> None:
    rule = "-" * 66
    inner = [
        *("", rule, "- Python Call Stack: ", rule, CALL[0], '  File "/opt/ms/site-packages/d.py", line 4, in process'),
        *("    result.reraise()", "ValueError: Traceback (most recent call last):"),
        *('  File "/home/user/project/data.py", line 77, in __getitem__', "    raise ValueError"),
        *("ValueError: bad label 9 in row 512", "", rule, "- Dataset Pipeline Error Message: ", rule),
        *("[ERROR] Execute user Python code failed, check 'Python Call Stack' above.", ""),
    ]
    outer = raised("RuntimeError: Exception thrown from user defined Python function in dataset. ")
    write(tmp_path, "worker_0.log", [*joined(PID, 0), *outer, *inner])
    place = {"script_file": "/home/user/project/data.py", "script_line": 77, "exception": "ValueError"}
    line = "^ValueError: bad label 9"
    check_root(report_of(tmp_path), Expected("dataset-exception", "worker_0.log", (0,), line, "row 512", place))


DECODE = (
    "map operation: [Decode] failed. The corresponding data file is: imgs/train/dog/5.jpg. Error raised by libjpeg: "
    "Empty input file"
)
INSIDE = ("cached/method.py", "cached/api.py", *["cached/opening.py"] * 4, "cached/pipeline.py", "cached/rows.py")


def failed_in_a_cache(message: str) -> list[str]:
    """A traceback from the user's line through mswb's cache into MindSpore."""
    own = ('  File "/home/user/train.py", line 4, in <module>', "    d = d.cache(cache_size=1024)")
    calls = [(f'  File "/opt/tools/mswb/inside/{name}", line 9, in f', "    return f()") for name in INSIDE]
    return [CALL[0], *own, *(line for call in calls for line in call), message]


def test_a_pipeline_that_names_the_file_of_the_row(tmp_path: Path) -> None:
    more = "Dump the abnormal image to [./abnormal_image.jpg]. You can check this image first."
    lines = failed_in_a_cache("RuntimeError: Exception thrown from dataset pipeline. Refer to 'Dataset Pipeline Error'")
    rule = "-" * 66
    told = ["", rule, "- Dataset Pipeline Error Message: ", rule, f"[ERROR] {DECODE} {more}", "", rule]
    write(tmp_path, "worker_0.log", [*joined(PID, 0), record("ERROR", "MD", PID, 3, DECODE, TASKS), *lines, *told])
    report = report_of(tmp_path)
    place = {"script_file": "/home/user/train.py", "script_line": 4, "operation": "Decode", "message": DECODE}
    values = {**place, "data_file": "imgs/train/dog/5.jpg", "path": "imgs/train/dog/5.jpg"}
    check_root(report, Expected("dataset-exception", "worker_0.log", (0,), r"\[Decode\] failed", "dog/5.jpg", values))
    root = report["findings"][report["root"]]
    assert DECODE in root["title"] and DECODE in "\n".join(root["evidence"].split("\n")[:3])


def test_a_python_function_in_a_map_keeps_its_own_words(tmp_path: Path) -> None:
    words = (
        "map operation: [PyFunc] failed. The corresponding data file is: /d/a b.jpg. Execute user Python code failed"
    )
    lines = raised("RuntimeError: Exception thrown from user defined Python function in dataset. ")
    write(tmp_path, "worker_0.log", [*joined(PID, 0), *lines, f"[ERROR] {words}, check 'Python Call Stack' above."])
    report = report_of(tmp_path)
    values = report["findings"][report["root"]]["values"]
    assert (values["data_file"], "operation" in values) == ("/d/a b.jpg", False)


@pytest.mark.parametrize(
    ("message", "code", "values"),
    [
        (
            "mswb.inside.cached.pipeline.CannotCache: shuffle() gives another order in each epoch: call cache() before",
            "cannot-cache",
            {"message": "shuffle() gives another order in each epoch: call cache() before"},
        ),
        (
            "mswb.inside.store.layout.InvalidCacheFile: Invalid cache file format: /c/a b/0000.shard at byte 12: torn",
            "cache-file-damaged",
            {"path": "/c/a b/0000.shard", "byte": 12, "reason": "torn"},
        ),
    ],
)
def test_errors_of_a_cache_have_words_of_their_own(
    tmp_path: Path, message: str, code: str, values: dict[str, object]
) -> None:
    write(tmp_path, "worker_0.log", [*joined(PID, 0), *failed_in_a_cache(message)])
    place = {"script_file": "/home/user/train.py", "script_line": 4, **values}
    check_root(report_of(tmp_path), Expected(code, "worker_0.log", (0,), "mswb.inside", ".", place))


HARMLESS = {
    "an exception that was caught": [
        *steps(1, 9), *raised("ConnectionResetError: [Errno 104] Connection reset by peer"), "retrying", *steps(9, 40),
    ],
    "a thread's exception": [
        *steps(1, 5), "Exception in thread Thread-3 (prefetch):", *raised("RuntimeError: broke"), *steps(5, 20),
    ],
    "errors in the prose": ["val error rate: 0.12", "Error analysis: 3 samples", "no ERROR found", *steps(1, 9)],
    "TLS at the end": [
        record("ERROR", "DISTRIBUTED", PID, 30, "Failed to call SSL_read and errno is: 0"), *steps(1, 9),
    ],
}  # fmt: skip


@pytest.mark.parametrize("lines", HARMLESS.values(), ids=HARMLESS.keys())
def test_a_harmless_line_is_no_finding(tmp_path: Path, lines: list[str]) -> None:
    write(tmp_path, "worker_0.log", [*joined(PID, 0), *lines, goodbye(PID, 90)])
    write(tmp_path, "rc.txt", ["0"])
    check_good(report_of(tmp_path))


def test_a_loss_that_broke_before_a_crash_is_not_its_cause(tmp_path: Path) -> None:
    lines = [
        *steps(1, 5),
        "epoch: 1 step: 5, loss is nan",
        record("WARNING", "ME", PID, 50, "x"),
        *raised("KeyError: 'z'"),
    ]
    write(tmp_path, "worker_0.log", [*joined(PID, 0), *lines])
    write(tmp_path, "rc.txt", ["1"])
    report = report_of(tmp_path)
    check_root(report, Expected("script-exception", "worker_0.log", (0,), "KeyError: 'z'"))
    warned = [one for one in report["findings"] if one["code"] == "numeric-overflow"]
    assert [(one["severity"], one["consequence_of"]) for one in warned] == [("warning", None)]


@pytest.mark.parametrize(("late", "warned"), [(300.0, True), (110.0, False)])
def test_steps_that_slow_down(tmp_path: Path, late: float, warned: bool) -> None:
    lines = joined(PID, 0)
    for epoch in range(60):
        each = 100.0 if epoch < 40 else late
        lines.append(f"epoch: {epoch} step: {epoch * 10}, loss is 0.5")
        lines.append(f"Train epoch time: {each * 10} ms, per step time: {each} ms")
    write(tmp_path, "worker_0.log", lines)
    write(tmp_path, "rc.txt", ["0"])
    report = report_of(tmp_path)
    assert report["verdict"] == "succeeded"
    assert [one["code"] for one in report["findings"] if one["severity"] == "warning"] == ["step-time-drift"] * warned
    assert report["root"] == (0 if warned else None)


def test_the_section_rule_is_no_failure(tmp_path: Path) -> None:
    write(tmp_path, "worker_0.log", [*joined(PID, 0), RULE, "- Notes:", RULE, "all is well", goodbye(PID, 3)])
    check_good(report_of(tmp_path))
