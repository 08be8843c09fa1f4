"""What the program ``dataset-cache`` prints, as data. Pure functions on its text, for MindSpore 2.10 and alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_DAEMON = re.compile(r"created as process id (\d+) and listening on port (\d+)")
_FAILURES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("unreachable", re.compile(r"Network error|GRPC Code 14|is not reachable or has been shutdown already")),
    ("running", re.compile(r"Duplicate key|already up and running")),
    ("spill", re.compile(r"Spilling directory is not writable")),
    ("session-unknown", re.compile(r"Session id \d+ not found|session was not found")),
    ("cache-unknown", re.compile(r"Cache id \d+ not found")),
    ("no-spill-support", re.compile(r"not set up with spill support")),
    ("memory", re.compile(r"Out of memory|not enough (?:free )?memory", re.IGNORECASE)),
    ("port", re.compile(r"Port must be in range")),
)
_NOISE = re.compile(r"^(?:Line of code|File) *:|^\s*$|^\$ |^\[exit code")
_PREFIX = re.compile(r"^Exception thrown from dataset pipeline\. Refer to 'Dataset Pipeline Error Message'\. ")
_ERRNO = re.compile(r"Unable to create directory (\S+)\. Errno = (\d+)")
_CACHE_ID = re.compile(r"Cache id (\d+) not found")


@dataclass(frozen=True, slots=True)
class Cached:
    """One cache of a session as ``--list_sessions`` shows it.

    Attributes:
        session: the session's number (32 bit).
        cache: the cache's number (32 bit), None for a session that nobody has used.
        in_memory, on_disk: rows that are cached; 0 where the table says ``n/a``.
        row_bytes: the average size of a row; None where nothing is cached.
        numa_hits: rows that lay on the memory node of their reader.
    """

    session: int
    cache: int | None
    in_memory: int = 0
    on_disk: int = 0
    row_bytes: int | None = None
    numa_hits: int | None = None

    @property
    def rows(self) -> int:
        """All rows that are cached."""
        return self.in_memory + self.on_disk

    @property
    def size_bytes(self) -> int:
        """What the rows take together, by their average."""
        return self.rows * (self.row_bytes or 0)


@dataclass(frozen=True, slots=True)
class Info:
    """The table of ``--server_info``; ``spill`` is None for a server without a spill folder."""

    host: str | None = None
    port: int | None = None
    workers: int | None = None
    log_level: int | None = None
    spill: str | None = None
    sessions: tuple[int, ...] = ()


def started(text: str) -> tuple[int, int] | None:
    """Pid and port of the server that ``--start`` made."""
    found = _DAEMON.search(text)
    return (int(found.group(1)), int(found.group(2))) if found else None


def created(text: str) -> int | None:
    """The session that ``--generate_session`` made: the last number, since the port comes first."""
    line = next((line for line in text.splitlines() if line.startswith("Session created")), "")
    numbers = re.findall(r"\d+", line)
    return int(numbers[-1]) if len(numbers) >= 2 else None


def sessions(text: str) -> tuple[Cached, ...]:
    """The rows of ``--list_sessions``; none for "No active sessions."."""
    rows = (line.split() for line in text.splitlines())
    return tuple(_row(words) for words in rows if len(words) == 6 and words[0].isdigit() and all(map(_is_cell, words)))


def info(text: str) -> Info:
    """The table of ``--server_info``. Sessions are named once, though the program repeats one for each cache in it."""
    table, _, below = text.partition("Active sessions:")
    lines = dict(_pair(line) for line in table.splitlines())
    found = [int(word) for line in below.splitlines() for word in line.split() if line[:1].isdigit() and word.isdigit()]
    spill = lines.get("spill dir")
    return Info(
        lines.get("hostname"),
        _number(lines.get("port")),
        _number(lines.get("number of workers")),
        _number(lines.get("log level")),
        None if spill in (None, "", "None") else spill,
        tuple(dict.fromkeys(found)),
    )


def failure(text: str) -> str:
    """Which known failure a text tells: ``unreachable``, ``running``, ``spill`` …, or "" for another one."""
    return next((name for name, pattern in _FAILURES if pattern.search(text)), "")


def reason(text: str) -> str:
    """The sentence that says what failed, without places in MindSpore's own sources."""
    lines = [_PREFIX.sub("", line).strip() for line in text.splitlines() if not _NOISE.match(line)]
    return " ".join(dict.fromkeys(lines)) or "it said nothing"


def spill_problem(text: str) -> tuple[str, int] | None:
    """The folder and the errno of a spill folder that the server could not make."""
    found = _ERRNO.search(text)
    return (found.group(1), int(found.group(2))) if found else None


def lost_cache(text: str) -> tuple[int, int] | None:
    """Session and cache of "Cache id N not found": N holds the session in its upper 32 bits, the cache in its lower."""
    found = _CACHE_ID.search(text)
    return split_id(int(found.group(1))) if found else None


def split_id(number: int) -> tuple[int, int]:
    """A cache's full id as session and cache."""
    return number >> 32 & 0xFFFFFFFF, number & 0xFFFFFFFF


def _row(words: Sequence[str]) -> Cached:
    session, cache, memory, disk, size, numa = (_number(word) for word in words)
    assert session is not None  # the caller has looked
    return Cached(session, cache, memory or 0, disk or 0, size, numa)


def _is_cell(word: str) -> bool:
    return word == "n/a" or _number(word) is not None


def _number(word: str | None) -> int | None:
    return int(word) if word and word.isascii() and word.isdigit() and len(word) < 20 else None


def _pair(line: str) -> tuple[str, str]:
    """A row of the table: two columns, at least two blanks apart."""
    name, _, value = line.partition("  ")
    return name.strip(), value.strip()
