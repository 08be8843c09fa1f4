"""The log view on a million lines, and on ten million that are followed.

Peers: Textual's own Log, and toolong's reader (its own environment). Each runs in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks import writer
from tests.benchmarks.bench_index import toolong_python, write_log
from tests.benchmarks.common import Context, Row, bench

LINES = 1_000_000
FOLLOWED = 10_000_000
FILES = 16
RATE = 20_000
_TOOLONG = """
import json, sys, time
from pathlib import Path
from threading import Event
from toolong.log_file import LogFile
rss = lambda: int(Path("/proc/self/statm").read_text().split()[1]) * 4096
before, begin = rss(), time.perf_counter()
file = LogFile(sys.argv[1])
file.open(Event())
breaks = []
for _, found in file.scan_line_breaks():
    breaks.extend(found)
breaks.sort()
opened = time.perf_counter() - begin
spans = list(zip(breaks, breaks[1:]))
begin = time.perf_counter()
for page in range(200):
    for start, end in spans[-22 * (page + 1):][:22]:
        file.get_line(start, end)
page = (time.perf_counter() - begin) / 200
begin = time.perf_counter()
hits = sum(sys.argv[2] in file.get_line(start, end).lower() for start, end in spans)
print(json.dumps({"open_s": opened, "page_s": page, "search_s": time.perf_counter() - begin, "hits": hits,
                  "memory_bytes": rss() - before}))
"""


def child(*arguments: str) -> dict[str, float]:
    """What a viewer in a process of its own has measured."""
    command = [sys.executable, "-m", "tests.benchmarks.logview_child", *arguments]
    return _last_line(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _last_line(output: str) -> dict[str, float]:
    figures: dict[str, float] = json.loads(output.splitlines()[-1])
    return figures


def _best(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: min(run[name] for run in runs) for name in runs[0]}


@bench
def logview(context: Context) -> Iterator[Row]:
    """A log of a million lines: the end, all of it, a page, a search, memory."""
    from tests.benchmarks.logview_child import WANTED

    path = context.temp / "million.log"
    write_log(path, 170 * (LINES // 50 if context.quick else LINES))
    python = toolong_python(context)
    runs: dict[str, list[dict[str, float]]] = {"ours": [], "textual": [], "toolong": []}
    runs["textual"].append(child("textual", str(path)))  # it takes most of a minute
    for _ in range(1 if context.quick else 3):
        runs["ours"].append(child("ours", str(path)))
        if python:
            command = [str(python), "-c", _TOOLONG, str(path), WANTED]
            runs["toolong"].append(
                _last_line(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            )
    mine = _best(runs["ours"])
    yield Row("the last page is shown, s", mine["tail_s"], 0.5)
    for name, peer in (("textual", "textual Log"), ("toolong", "toolong, reader only")):
        theirs = _best(runs[name]) if runs[name] else {}
        for what, key in (("open", "open_s"), ("search", "search_s"), ("memory", "memory_bytes")):
            yield Row(f"{what}, {'MB' if key == 'memory_bytes' else 's'}", *_shown(mine, theirs, key, peer))
        if name == "textual":
            yield Row("a page, ms", mine["page_s"] * 1e3, 1.0, peer, theirs["page_s"] * 1e3, relative=True)


def _shown(
    mine: dict[str, float], theirs: dict[str, float], key: str, peer: str
) -> tuple[float, float, str, float | None, bool]:
    scale = 1e-6 if key == "memory_bytes" else 1.0
    other = theirs.get(key)
    return mine[key] * scale, 1.0, peer, None if other is None else other * scale, True


@bench
def logview_follow(context: Context) -> Iterator[Row]:
    """Sixteen files that grow to ten million lines: what the view holds of them."""
    folder = context.temp / "followed"
    folder.mkdir()
    paths = [str(folder / f"worker_{number}.log") for number in range(FILES)]
    for path in paths:
        Path(path).touch()
    lines = FOLLOWED // 50 if context.quick else FOLLOWED
    command = [sys.executable, "-m", "tests.benchmarks.logview_child", "follow", str(lines), *paths]
    viewer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert viewer.stdout is not None
    viewer.stdout.readline()
    each = -(-lines // FILES)
    writers = [
        subprocess.Popen([sys.executable, writer.__file__, path, str(RATE), str(each / RATE)],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        for path in paths
    ]  # fmt: skip
    figures = _last_line(viewer.communicate()[0])
    for one in writers:
        one.wait()
    yield Row("memory, bytes a line", figures["bytes_a_line"], 12)
    yield Row("threads that came", figures["threads"], 0)
    yield Row("descriptors that came", figures["descriptors"], 0)
    yield Row("CPU of a million lines, s", figures["cpu_s_a_million"], 5)
