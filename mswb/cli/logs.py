"""``mswb logs PATH``: all ranks in one stream, filtered."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator

import click

from mswb.cli import output, stream
from mswb.files.safety import printable
from mswb.findings import stop
from mswb.flows import logs as flow
from mswb.flows.open_path import resolve_logs
from mswb.launch.merge import MergedLine, Selection, compile_pattern
from mswb.launch.noise import is_noise
from mswb.launch.records import iso, parse_iso
from mswb.settings import load_settings

ROLES = ("worker", "scheduler", "launcher")
_AGO = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@click.command()
@click.argument("path", default="latest")
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written from now on.")
@click.option("--rank", "ranks", help="Ranks, as 0,3-5; also scheduler, launcher.")
@click.option("--level", help="This level and those above it: DEBUG, INFO, WARNING, ERROR.")
@click.option("--module", "modules", help="MindSpore modules, as DISTRIBUTED,PIPELINE.")
@click.option("--pid", "pids", help="Process ids, as 123,456.")
@click.option("--grep", help="Lines that match this RE2 expression.")
@click.option("--since", help="From this time on: 10m, 2h (ago), or 2026-11-30T04:06:28.")
@click.option("--until", help="Up to this time, in the same forms.")
@click.option("--quiet", is_flag=True, help="Without the routine lines of every good run.")
@click.option("--sections", is_flag=True, help="What was compiled and launched: GRAPH_BUILD and KERNEL_LAUNCH.")
@output.format_option
def logs(
    path: str,
    follow: bool,
    ranks: str | None,
    level: str | None,
    modules: str | None,
    pids: str | None,
    grep: str | None,
    since: str | None,
    until: str | None,
    quiet: bool,
    sections: bool,
    form: str,
) -> int:
    """Show the logs of all ranks, merged by time.

    PATH is a log folder, a log file, or the name of a run (the newest one when it is left out).
    """
    numbers, roles = _sources(ranks)
    selection = Selection(
        ranks=numbers,
        roles=roles,
        levels=_levels(level),
        modules=frozenset(modules.upper().split(",")) if modules else None,
        pids=frozenset(_integers(pids, "--pid")) if pids else None,
        pattern=compile_pattern(grep) if grep else None,
        since=_moment(since, "--since"),
        until=_moment(until, "--until"),
    )
    place = resolve_logs(path, load_settings())
    if sections:
        return _print_sections(flow.sections(place, selection), form)
    if not follow:
        if not _print(flow.read(place, selection), form, quiet) and form == "text":
            print("mswb: no line fits", file=sys.stderr)
        return 0
    with stream.interrupts() as count:
        _print(flow.follow(place, selection, lambda: bool(count.asked)), form, quiet)
    return 130


def _print(lines: Iterator[MergedLine | None], form: str, quiet: bool) -> int:
    """Print the lines and return how many there were."""
    count = 0
    for line in lines:
        if line is None or (quiet and is_noise(line.text)):
            continue
        count += 1
        if form == "json":
            record = line._asdict()
            moment = iso(line.time) if line.time is not None else None
            output.emit_object({**record, "time": moment, "text": printable(line.text)})
        else:
            name = line.role if line.rank is None else f"rank {line.rank}"
            print(f"[{name}] {printable(line.text)}", flush=True)
    return count


def _print_sections(lines: Iterator[tuple[str, int | None, str]], form: str) -> int:
    for role, rank, text in lines:
        if form == "json":
            output.emit_object({"role": role, "rank": rank, "text": printable(text)})
        else:
            print(f"[{role if rank is None else f'rank {rank}'}] {printable(text)}")
    return 0


def _sources(text: str | None) -> tuple[frozenset[int] | None, frozenset[str] | None]:
    """Ranks and roles: ``0,3-5`` are workers, a word is a role of its own."""
    if text is None:
        return None, None
    words = [part.strip().lower() for part in text.split(",")]
    roles = {word for word in words if word in ROLES}
    numbers = _integers(",".join(word for word in words if word not in ROLES), "--rank") if words != list(roles) else []
    if numbers and roles:
        raise _wrong("--rank", text, "either ranks or one of " + ", ".join(ROLES))
    return (frozenset(numbers), None) if numbers else (None, frozenset(roles))


def _levels(text: str | None) -> frozenset[str] | None:
    """A level and all above it."""
    if text is None:
        return None
    names = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
    if text.upper() not in names:
        raise _wrong("--level", text, f"one of {', '.join(names)}")
    return frozenset(names[names.index(text.upper()) :]) | {"EXCEPTION"}


def _integers(text: str, flag: str) -> list[int]:
    """``0,3-5`` as 0, 3, 4, 5."""
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,7})(?:-(\d{1,7}))?\s*", part)
        if match is None:
            raise _wrong(
                flag, text, "numbers, as 0,3-5" + (f", or one of {', '.join(ROLES)}" if flag == "--rank" else "")
            )
        first, last = int(match.group(1)), int(match.group(2) or match.group(1))
        found += range(first, min(last, first + 100_000) + 1)
    return found


def _moment(text: str | None, flag: str) -> int | None:
    """A time in a record's microseconds (local, no zone)."""
    if text is None:
        return None
    match = _AGO.fullmatch(text.strip())
    if match is not None:
        now = time.time()
        local = now + time.localtime(now).tm_gmtoff
        return int((local - float(match.group(1)) * _UNITS[match.group(2)]) * 1e6)
    try:
        return parse_iso(text)
    except ValueError:
        raise _wrong(flag, text, "10m, 2h, or 2026-11-30T04:06:28") from None


def _wrong(flag: str, text: str, wanted: str) -> Exception:
    return stop("usage", values={"problem": f"{flag} {text} cannot be used", "fix": f"give {wanted}"})
