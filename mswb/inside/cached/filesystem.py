"""Which file system a folder lies on, and whether other hosts may write there: read from the kernel's mount table."""

from __future__ import annotations

import os
import re
from typing import Mapping, NamedTuple, Optional

MOUNTINFO = "/proc/self/mountinfo"
_REMOTE_NAMES = """9p afs beegfs ceph cifs coda drvfs fuse glusterfs gpfs lustre ncpfs nfs nfs4 orangefs pvfs2 smb3
smbfs virtiofs"""
_REMOTE = frozenset(_REMOTE_NAMES.split())


class Mount(NamedTuple):
    """A mounted file system: its type ("ext4", "nfs4", "" when unknown), mount point, and options of mount and type."""

    kind: str
    point: str
    options: Mapping[str, str]

    @property
    def remote(self) -> bool:
        """Whether other hosts may write there; a file that one of them replaces must not be mapped into memory."""
        return self.kind in _REMOTE or self.kind.startswith("fuse.")

    def size(self, name: str) -> Optional[int]:
        """``rsize`` or ``wsize``: bytes of one request to the server; None where the file system has none."""
        text = self.options.get(name, "")
        return int(text) if text.isdigit() else None


def mount_of(path: str, table: Optional[str] = None) -> Mount:
    """The mount that holds ``path``: the longest mount point above it, the last among equals (proc(5), mountinfo)."""
    if table is None:
        try:
            with open(MOUNTINFO, encoding="utf-8", errors="surrogateescape") as file:
                table = file.read()
        except OSError:
            table = ""
    real = os.path.realpath(path)
    best = Mount("", "", {})
    for line in table.splitlines():
        before, separator, after = line.partition(" - ")
        fields, own = before.split(" "), after.split(" ")
        if not separator or len(fields) < 6:
            continue
        point = _unescape(fields[4])
        above = point == "/" or real == point or real.startswith(point + "/")
        if above and len(point) >= len(best.point):
            best = Mount(own[0], point, _options(fields[5] + "," + own[-1]))
    return best


def _options(text: str) -> Mapping[str, str]:
    pairs = (item.partition("=") for item in text.split(","))
    return {name: value for name, _, value in pairs if name}


def _unescape(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), field)
