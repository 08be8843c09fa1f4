"""Hostile bytes and fragile disks: escape what a terminal must not see, open without following links, write whole.

Logs, traces and models come from anywhere. Everything that is shown passes :func:`printable`; everything we write
passes :func:`write_atomic`.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from pathlib import Path

from mswb.findings import stop

# C0 but tab, DEL, C1 (an 8-bit CSI or OSC starts there), line separators, the bidi controls that reorder text, and
# characters without a width, whose count terminals disagree on and which hide text.
UNSAFE = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
MAX_SHOWN = 4000
"""Characters of one line that are shown; the rest is counted, not drawn."""


def printable(text: str, limit: int = MAX_SHOWN) -> str:
    """``text`` as one line that no terminal acts on: controls become ``\\xNN``, the tail is cut and counted."""
    cut = text[:limit]
    safe = UNSAFE.sub(_escape, cut) if not cut.isascii() or not cut.isprintable() else cut
    rest = len(text) - len(cut)
    return f"{safe} … +{rest} characters" if rest else safe


def printable_block(text: str, limit: int = MAX_SHOWN, lines: int = 60) -> str:
    """Several lines, each made printable; the middle is dropped beyond ``lines`` lines, and counted."""
    rows = text.split("\n")
    if len(rows) > lines:
        head, tail = rows[: lines // 2], rows[-(lines - lines // 2) :]
        rows = [*head, f"… {len(text.split(chr(10))) - lines} lines …", *tail]
    return "\n".join(printable(row, limit) for row in rows)


def decode(data: bytes) -> str:
    """Text of a log line: UTF-8 (a byte order mark dropped), else GBK where every byte fits, else UTF-8 with marks."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    try:
        return data.decode("gbk")
    except UnicodeDecodeError:
        return data.decode("utf-8", "backslashreplace")


def ordinary_mode() -> int:
    """The mode that a new file gets when a program just opens it: what the umask leaves of read and write for all."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        umask = next((line.split()[1] for line in file if line.startswith("Umask:")), "022")
    return 0o666 & ~int(umask, 8)


def refuse_special(path: str | os.PathLike[str]) -> None:
    """See that a file may be put at ``path``: what is there already is none, or an ordinary one.

    Raises:
        MswbError: ``path-unwritable``: it is a folder, a device, a pipe or a socket, which a rename would replace.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        what = "it is a folder" if os.path.isdir(path) else "it is a device, a pipe or a socket"
        raise stop("path-unwritable", values={"path": str(path), "reason": what})


def write_atomic(path: str | os.PathLike[str], data: bytes | str, mode: int = 0o600) -> None:
    """Replace ``path`` by ``data`` wholly or not at all: temporary file beside it, fsync, rename, fsync of the folder.

    Raises:
        MswbError: ``path-unwritable``; the old content is untouched.
    """
    target = Path(path)
    raw = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
    refuse_special(target)
    temporary: str | None = None
    try:
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        temporary = None
        _sync_folder(target.parent)
    except OSError as problem:
        raise stop("path-unwritable", values={"path": str(target), "reason": problem.strerror}) from None
    finally:
        if temporary is not None:
            try:
                os.unlink(temporary)
            except OSError:
                pass


def make_private_dir(path: str | os.PathLike[str]) -> Path:
    """Create ``path`` (0700) with its parents; an existing folder is left as it is.

    Raises:
        MswbError: ``path-unwritable``.
    """
    folder = Path(path)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise stop("path-unwritable", values={"path": str(folder), "reason": problem.strerror}) from None
    return folder


def open_regular(path: str | os.PathLike[str]) -> int:
    """A descriptor for reading a regular file; pipes and devices are refused, so an open can't hang.

    Raises:
        MswbError: ``path-missing`` or ``path-unreadable``.
    """
    name = os.fspath(path)
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise stop("path-missing", values={"path": name}) from None
    except OSError as problem:
        raise stop("path-unreadable", values={"path": name, "reason": problem.strerror}) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise stop("path-unreadable", values={"path": name, "reason": "it is not a regular file"})
    return descriptor


def _escape(match: re.Match[str]) -> str:
    point = ord(match.group())
    if point > 0xFFFF:
        return f"\\U{point:08x}"
    return f"\\x{point:02x}" if point < 256 else f"\\u{point:04x}"


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
