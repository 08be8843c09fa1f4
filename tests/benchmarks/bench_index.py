"""A 1 GB log: its tail, its index with levels, searching it.

Peers: toolong (its own environment, since it needs an old Textual), lnav and grep from PATH. The log is read once
before anything is timed, so all work on a warm cache; ours and a peer's runs take turns.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from mswb.files.logindex import LogIndex
from mswb.files.patterns import compile_pattern
from mswb.files.search import matching_lines
from mswb.files.tail import last_lines
from tests.benchmarks.common import Context, Row, bench, best_of, in_turn, seconds

# Rare and plain, rare, several words, one in thirteen lines, most lines.
PATTERNS = (
    "ERROR",
    r"retry\(1[0-9]+9/1200",
    "CRITICAL|Traceback|Segmentation fault",
    r"loss is [0-9]\.[0-9]*7$",
    "WARNING.*destination",
)
_TOOLONG = """
import sys, time
from threading import Event
from toolong.log_file import LogFile
file = LogFile(sys.argv[1])
file.open(Event())
begin = time.perf_counter()
for _ in file.scan_line_breaks():
    pass
print(time.perf_counter() - begin)
"""


def write_log(path: Path, size: int) -> None:
    """About ``size`` bytes of lines like a MindSpore training's: records of all levels, prints, tracebacks."""
    lines = "\n".join(_line(random.Random(number), number) for number in range(40_000)) + "\n"
    block = lines.encode()
    with path.open("wb") as file:
        for _ in range(size // len(block) + 1):
            file.write(block)


def _line(dice: random.Random, number: int) -> str:
    time = (
        f"2026-11-30-04:{number // 1200 % 60:02d}:{number // 20 % 60:02d}.{number % 1000:03d}.{number * 7 % 1000:03d}"
    )
    head = f"(5455,7f75e768ee40,python):{time} [mindspore/ccsrc"
    kinds: list[tuple[float, Callable[[], str]]] = [
        (0.60, lambda: f"[WARNING] DISTRIBUTED{head}/cluster/rpc/tcp/tcp_comm.cc:485] Connect] Connection {number} "
         f"source: 127.0.0.1:{dice.randint(30000, 60000)}, destination: 127.0.0.1:28118"),
        (0.20, lambda: f"[INFO] PIPELINE{head}/pipeline/jit/ps/action.cc:1234] Status record: start opt_{number % 99}"),
        (0.02, lambda: f"[ERROR] DEVICE{head}/device/x.cc:99] Run] failed, retry({dice.randint(1, 1200)}/1200)."),
        (0.05, lambda: f"[V12902] KERNEL{head}/runtime/a.cc:1] Run] Begin launch kernel: MatMul-op{number}"),
        (0.08, lambda: f"epoch: {number // 1000} step: {number % 1000}, loss is {dice.random() * 9:.6f}"),
        (0.05, lambda: f'  File "/home/user/train_{number % 7}.py", line {number % 900}, in construct'),
    ]  # fmt: skip
    [kind] = dice.choices([make for _, make in kinds], [share for share, _ in kinds])
    return kind()


def _log(context: Context) -> Path:
    path = context.temp / "training.log"
    if not path.exists():
        write_log(path, (20 if context.quick else 1000) * 1_000_000)
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass
    return path


def toolong_python(context: Context) -> Path | None:
    """The interpreter of an environment that holds toolong, made when it isn't there yet."""
    python = context.cache / "toolong" / "bin" / "python"
    if not python.exists():
        made = subprocess.run([sys.executable, "-m", "venv", context.cache / "toolong"], capture_output=True)
        install = [python, "-m", "pip", "install", "-q", "toolong==1.5.0", "textual==0.58.1"]
        if made.returncode or subprocess.run(install, capture_output=True).returncode:
            shutil.rmtree(context.cache / "toolong", ignore_errors=True)
            return None
    return python


def _index(path: Path) -> LogIndex:
    index = LogIndex(path)
    index.extend()
    return index


@bench
def tail(context: Context) -> Iterator[Row]:
    """The last 100 lines, before any index."""
    path = _log(context)
    yield Row("last 100 lines, s", best_of(3, lambda: last_lines(path, 100)), 0.1)


@bench
def index(context: Context) -> Iterator[Row]:
    """Every line start and level."""
    path = _log(context)
    lnav, toolong = shutil.which("lnav"), toolong_python(context)
    toolong_runs: list[float] = []
    open_in_lnav = [lnav or "", "-n", "-c", ":goto 100%", "-c", ":quit", str(path)]
    environment = dict(os.environ, HOME=str(context.temp))

    def run_toolong() -> None:
        if toolong:
            shown = subprocess.run([toolong, "-c", _TOOLONG, path], check=True, capture_output=True, text=True)
            toolong_runs.append(float(shown.stdout))

    def run_lnav() -> None:
        if lnav:
            subprocess.run(open_in_lnav, check=True, env=environment, stdin=subprocess.DEVNULL, capture_output=True)

    ours, _, lnav_time = in_turn(3, [lambda: _index(path).close(), run_toolong, run_lnav])
    yield Row("index with levels, s", ours, 0.9, "toolong, lines only", min(toolong_runs, default=None), relative=True)
    yield Row("index with levels, s", ours, 0.8, "lnav, opening", lnav_time if lnav else None, relative=True)
    made = _index(path)
    yield Row("index memory, bytes a line", made.memory_bytes / made.line_count, 12)
    made.close()


@bench
def search(context: Context) -> Iterator[Row]:
    """Five patterns over an indexed log, matching line numbers kept; ``grep -cE`` counts only."""
    path = _log(context)
    made = _index(path)
    grep = shutil.which("grep")
    ratios: list[float] = []
    for text in PATTERNS:
        pattern = compile_pattern(text)
        count = len(matching_lines(made, pattern))
        if grep:
            shown = subprocess.run([grep, "-cE", text, path], capture_output=True, text=True)
            if int(shown.stdout) != count:
                raise AssertionError(f"{text}: grep counts {shown.stdout}, we count {count}")
        command = [grep or "true", "-cE", text, str(path)]
        ours, theirs = in_turn(
            3, [lambda p=pattern: matching_lines(made, p), lambda c=command: subprocess.run(c, capture_output=True)]
        )
        yield Row(f"search {text}, s", ours, 10, "grep -cE", theirs if grep else None, relative=True)
        ratios.append(ours / theirs)
    made.close()
    if grep:
        yield Row("search, median of the ratios", statistics.median(ratios), 1.5)
    yield Row("a pattern that makes others hang, s", _explosive(path), 60)


def _explosive(path: Path) -> float:
    """``(a|a?)+…`` over the log's first 4 MB: linear in RE2, exponential in a backtracking engine."""
    part = path.with_suffix(".part")
    with path.open("rb") as file:
        part.write_bytes(file.read(4_000_000) + b"a" * 5000 + b"!\n")
    small = _index(part)
    took = seconds(lambda: matching_lines(small, compile_pattern(r"(?:(?:a|a?)+)+$|(x+x+)+y")))
    small.close()
    return took
