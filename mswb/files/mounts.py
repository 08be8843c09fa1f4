"""Which kind of file system a path lies on, from the kernel's own mount table."""

from __future__ import annotations

import os
import re
from pathlib import Path

MOUNTINFO = "/proc/self/mountinfo"

# Types on which other hosts may write: inotify doesn't report their changes. All of fuse.* are taken for such;
# fuseblk (NTFS) is a local disk, and overlay is as local as what lies under it, mostly a local disk.
_REMOTE = frozenset({"afs", "cifs", "coda", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"})
_CLUSTER = frozenset({"beegfs", "ceph", "glusterfs", "gpfs", "lustre", "orangefs", "pvfs2"})
_SHARED_WITH_HOST = frozenset({"9p", "drvfs", "fuse", "prl_fs", "vboxsf", "virtiofs"})


def is_network(kind: str) -> bool:
    """Whether a file system of this type may be written by other hosts."""
    return kind in _REMOTE | _CLUSTER | _SHARED_WITH_HOST or kind.startswith("fuse.")


def filesystem_type(path: str | os.PathLike[str], mountinfo: str = MOUNTINFO) -> str:
    """The type ("ext4", "nfs4", …) of the file system that holds ``path``; "" when it can't be told."""
    try:
        table = Path(mountinfo).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
    return type_in_table(table, os.path.realpath(path))


def mount_points(mountinfo: str = MOUNTINFO) -> tuple[str, ...]:
    """Every place where a file system is mounted; none when the table can't be read."""
    try:
        table = Path(mountinfo).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ()
    return tuple(_unescape(fields[4]) for fields in map(str.split, table.splitlines()) if len(fields) > 4)


def type_in_table(table: str, real_path: str) -> str:
    """The type of the longest mount point above ``real_path``; among equal ones the last, which hides the others."""
    best, kind = -1, ""
    for line in table.splitlines():
        before, separator, after = line.partition(" - ")
        fields = before.split(" ")
        if not separator or len(fields) < 5:
            continue
        point = _unescape(fields[4])
        if len(point) >= best and _is_above(point, real_path):
            best, kind = len(point), after.split(" ")[0]
    return kind


def _is_above(point: str, path: str) -> bool:
    return point == "/" or path == point or path.startswith(point + "/")


def _unescape(field: str) -> str:
    r"""The kernel writes blanks, tabs, newlines and backslashes as ``\040`` and so on (proc_pid_mountinfo(5))."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), field)
