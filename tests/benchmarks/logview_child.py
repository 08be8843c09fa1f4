"""One log viewer in a process of its own, so that its memory is its own: ``python -m … KIND PATH…`` prints JSON.

``ours`` and ``textual`` open PATH in an app of 80x24; ``follow`` follows files that grow until LINES are there.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

PAGES = 200
ROWS = 22
WANTED = "retry(1199/1200"


def rss_bytes() -> int:
    """Resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def seconds_a_page(page: Callable[[int], object], render: Callable[[int], object]) -> float:
    """Going through pages and drawing each, per page."""
    begin = time.perf_counter()
    for number in range(PAGES):
        page(number)
        for y in range(ROWS):
            render(y)
    return (time.perf_counter() - begin) / PAGES


async def ours(path: str) -> dict[str, float]:
    """The log panel."""
    from mswb.ui.context import Options
    from mswb.ui.widgets.log.body import LogBody
    from tests.ui.logviews import LogApp, Shown, ranks

    assert LogBody
    app = LogApp(Path(path).parent, Options())
    async with app.run_test(size=(80, 24)) as pilot:
        shown = Shown(app, pilot)
        await pilot.pause()
        before, begin = rss_bytes(), time.perf_counter()
        app.panel.open(ranks([Path(path)]))
        while app.panel.body is None or not shown.view.snapshot.tail:
            await asyncio.sleep(0)
        tail = time.perf_counter() - begin
        while not shown.body.engine.snapshot.built:
            await asyncio.sleep(0.001)
        opened = time.perf_counter() - begin
        await shown.quiet()
        page = seconds_a_page(lambda number: shown.view.page(-ROWS), shown.view.render_line)
        begin = time.perf_counter()
        shown.body.set_search(WANTED)
        while shown.body.engine.snapshot.search != WANTED or not shown.body.engine.snapshot.hits_done:
            await asyncio.sleep(0.001)
        searched = time.perf_counter() - begin
        hits = shown.body.engine.snapshot.hits
        return _figures(tail, opened, page, searched, hits.count if hits is not None else 0, before)


async def textual(path: str) -> dict[str, float]:
    """Textual's own Log, which searches nothing: its lines are gone through, in small letters as ours and toolong's."""
    from textual.app import App, ComposeResult
    from textual.widgets import Log

    class LogOnly(App[None]):
        def compose(self) -> ComposeResult:
            yield Log()

    app = LogOnly()
    async with app.run_test(size=(80, 24)) as pilot:
        log = app.query_one(Log)
        await pilot.pause()
        before, begin = rss_bytes(), time.perf_counter()
        log.write(Path(path).read_text(encoding="utf-8"))
        opened = time.perf_counter() - begin
        await pilot.pause()
        page = seconds_a_page(
            lambda number: log.scroll_to(y=log.line_count - ROWS * (number + 1), animate=False, immediate=True),
            log.render_line,
        )
        begin = time.perf_counter()
        hits = sum(WANTED in line.lower() for line in log.lines)
        return _figures(opened, opened, page, time.perf_counter() - begin, hits, before)


def _figures(tail: float, opened: float, page: float, searched: float, hits: int, before: int) -> dict[str, float]:
    return {
        "tail_s": tail,
        "open_s": opened,
        "page_s": page,
        "search_s": searched,
        "hits": hits,
        "memory_bytes": rss_bytes() - before,
    }


def follow(lines: int, paths: list[str]) -> dict[str, float]:
    """The engine on files that grow; what it holds when all lines are there, beside what it held without any."""
    from mswb.launch.logview.engine import LogEngine
    from mswb.launch.logview.source import ShownLog

    engine = LogEngine(lambda: None, lambda: None, lambda call: call(), lambda problem: os._exit(3))
    before = rss_bytes()
    engine.open([ShownLog(path, "worker", rank) for rank, path in enumerate(paths)])
    early = _await_lines(engine, 0)
    print("ready", flush=True)
    late = _await_lines(engine, lines)
    return {
        "bytes_a_line": (late["rss"] - before) / lines,
        "threads": late["threads"] - early["threads"],
        "descriptors": late["descriptors"] - early["descriptors"],
        "cpu_s_a_million": time.process_time() / lines * 1e6,
    }


def _await_lines(engine: object, lines: int) -> dict[str, int]:
    while engine.snapshot.rows.total < lines:  # type: ignore[attr-defined]
        time.sleep(0.05)
    time.sleep(1.0)  # what the last piece of work took is given back
    return {
        "rss": rss_bytes(),
        "threads": threading.active_count(),
        "descriptors": len(os.listdir("/proc/self/fd")),
    }


def main(kind: str, *arguments: str) -> None:
    """Print what was measured."""
    if kind == "follow":
        figures = follow(int(arguments[0]), list(arguments[1:]))
    else:
        figures = asyncio.run({"ours": ours, "textual": textual}[kind](arguments[0]))
    print(json.dumps(figures), flush=True)
    os._exit(0)  # the engine's threads are not waited for


if __name__ == "__main__":
    main(*sys.argv[1:])
