"""Logs that grow while they are shown, in a real terminal of 80 x 24: key echo, bytes a second, memory, descriptors.

The folder is opened as ``mswb ui FOLDER``, and each case checks by the screen that the log view follows and that the
lines really come. A key's time ends with the first byte that only its own frame can hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.benchmarks.common import Context, Row, bench, percentile
from tests.benchmarks.session import Echo, is_following, opened, pause, total_shown, use_of, wait_following
from tests.benchmarks.training import touch, training
from tests.terminal import Terminal
from tests.waiting import wait_until

FILES = 16
LOG_KEY = "a"
"""Goes to the end of the log of a run that lives, with the focus."""


@contextmanager
def _following(
    folder: Path, speed: int, *arguments: str, files: int = FILES, size: int = 0, **terminal: object
) -> Iterator[Terminal]:
    """The workbench with the merged logs of a training that writes ``speed`` lines a second and file."""
    folder.mkdir()
    logs = folder / "ms_run_log" / "20260101_000000_1"
    touch(logs, files, size)
    with training(logs, files, speed, 600), opened(folder, str(logs), *arguments, **terminal) as one:
        wait_following(one)
        one.type(LOG_KEY)
        one.wait_for("Least level")  # the keys of the log are in the key bar: it has the focus
        yield one


def _traffic(terminal: Terminal, seconds: float) -> tuple[float, float]:
    """Bytes, and lines shown, a second."""
    bytes_before, lines_before = terminal.byte_count, total_shown(terminal.text)
    pause(seconds)
    shown = total_shown(terminal.text) - lines_before
    if not is_following(terminal.text) or shown <= 0:
        raise AssertionError(f"nothing was followed:\n{terminal.text}")
    return (terminal.byte_count - bytes_before) / seconds, shown / seconds


def _echoes(terminal: Terminal, count: int) -> list[float]:
    """Milliseconds from keys to their frames: letters typed into a prompt, and jumps to the end."""
    terminal.draws = False  # drawing the screen here would take from what is measured
    echo = Echo(terminal)
    return [1000 * seconds for seconds in (*echo.typed(count // 2), *echo.jumps(count // 2))]


@bench
def following(context: Context) -> Iterator[Row]:
    """Sixteen rank logs merged, at two rates."""
    seconds, count = (3, 20) if context.quick else (15, 200)
    for rate, limit in ((3_125, 50), (20_000, 150)):
        name = f"16 x {rate:,} lines/s"
        with _following(context.temp / f"follow {rate}", rate) as terminal:
            pause(seconds)
            sent, lines = _traffic(terminal, seconds)
            before = use_of(terminal.process.pid)
            echoes = _echoes(terminal, count)
            cores = use_of(terminal.process.pid).cpu_share(before)
        yield Row(f"{name}: key to frame p50, ms", percentile(echoes, 0.5), limit)
        yield Row(f"{name}: key to frame p99, ms", percentile(echoes, 0.99), limit)
        yield Row(f"{name}: bytes a second", sent, 40_000)
        yield Row(f"{name}: cores used", cores, 1)
        yield Row(f"{name}: lines missing of those written, share", 1 - lines / rate / FILES, 0.1)


@bench
def slow_lines(context: Context) -> Iterator[Row]:
    """``--slow-link``, and a terminal that takes few bytes: nothing piles up, keys are still answered."""
    seconds = 4 if context.quick else 20
    with _following(context.temp / "slow link", 3_125, "--slow-link") as terminal:
        pause(seconds / 2)
        yield Row("--slow-link: bytes a second", _traffic(terminal, seconds)[0], 10_000)
    with _following(context.temp / "slow terminal", 3_125, rate=8_000.0) as terminal:
        pause(seconds / 2)
        yield Row("a terminal that takes 8 kB/s: bytes a second", _traffic(terminal, seconds)[0], 8_400)
        terminal.type("g")
        before = terminal.byte_count
        wait_until(lambda: "line 1 " in terminal.text or "line 1 of" in terminal.text, 20, step=0.01)
        yield Row("the same: bytes from a key to its frame", terminal.byte_count - before, 16_000)


@bench
def endurance(context: Context) -> Iterator[Row]:
    """Ten million followed lines: memory grows by the index only, threads and descriptors not at all."""
    lines = 1_000_000 if context.quick else 10_000_000
    for files in (1, FILES):
        with _following(context.temp / f"endurance {files}", 320_000 // files, files=files) as terminal:
            terminal.wait_for(lambda text: total_shown(text) > lines // 10, 300)
            begin, used = total_shown(terminal.text), use_of(terminal.process.pid)
            terminal.wait_for(lambda text, goal=begin + lines: total_shown(text) > goal, 600)
            end, after = total_shown(terminal.text), use_of(terminal.process.pid)
            assert is_following(terminal.text)
        name = f"{files} file{'s' * (files > 1)}"
        grown = (after.anonymous_mb - used.anonymous_mb) * (1 << 20) / (end - begin)
        yield Row(f"{name}: bytes of memory a line, {end - begin:,} lines", grown, 12)
        yield Row(f"{name}: threads more", after.threads - used.threads, 1)
        yield Row(f"{name}: descriptors more", after.descriptors - used.descriptors, 1)


@bench
def thousand(context: Context) -> Iterator[Row]:
    """1,024 rank logs of a megabyte that go on growing, in the pane."""
    ranks, size = (128, 100_000) if context.quick else (1024, 1 << 20)
    folder = context.temp / "thousand"
    folder.mkdir()
    logs = folder / "msrun_log"
    touch(logs, ranks, size)
    with opened(folder, str(logs)) as terminal:
        terminal.wait_for("rank 0", 60)
        shown = use_of(terminal.process.pid)
        _settled(terminal)
        still = use_of(terminal.process.pid)
        pause(5 if context.quick else 20)
        idle = use_of(terminal.process.pid)
        yield Row(f"{ranks} logs: s from the rows to rest", still.moment - shown.moment, 120)
        yield Row(f"{ranks} logs: cores used at rest", idle.cpu_share(still), 0.05)
        yield Row(f"{ranks} logs: resident, MB", idle.resident_mb, 500)
        with training(logs, ranks, 20, 600):
            pause(5)
            before = use_of(terminal.process.pid)
            echo = Echo(terminal)
            terminal.draws = False
            moved = [1000 * echo.moved() for _ in range(20 if context.quick else 100)]
            after = use_of(terminal.process.pid)
        yield Row(f"{ranks} logs x 20 lines/s: key to frame p50, ms", percentile(moved, 0.5), 150)
        yield Row(f"{ranks} logs x 20 lines/s: key to frame p99, ms", percentile(moved, 0.99), 150)
        yield Row(f"{ranks} logs x 20 lines/s: cores used", after.cpu_share(before), 0.5)


def _settled(terminal: Terminal) -> None:
    """Wait until the logs are counted and diagnosed: the process uses next to nothing."""

    def rests() -> bool:
        before = use_of(terminal.process.pid)
        pause(2)
        return use_of(terminal.process.pid).cpu_share(before) < 0.1

    wait_until(rests, 300)


@bench
def resizing(context: Context) -> Iterator[Row]:
    """A storm of sizes while logs grow: the last one is drawn whole, soon."""
    with _following(context.temp / "resizing", 1_000) as terminal:
        for number in range(20 if context.quick else 200):
            terminal.resize(40 + number * 7 % 120, 10 + number * 3 % 40)
            pause(0.02)
        before = use_of(terminal.process.pid)
        terminal.resize(100, 30)
        terminal.wait_for(lambda text: "Quit" in text.splitlines()[-1] and is_following(text.splitlines()[-2]), 20)
        yield Row("s from the last size to its frame", use_of(terminal.process.pid).moment - before.moment, 1)
