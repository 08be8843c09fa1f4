"""Mounts: which one holds a path, whether it is remote, and its request sizes."""

from __future__ import annotations

import pytest

from mswb.inside.cached.filesystem import mount_of

TABLE = """22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
40 22 0:40 / /data rw,relatime shared:2 - nfs4 server:/export rw,vers=4.2,rsize=1048576,wsize=524288,hard
41 40 0:41 / /data/with\\040blank rw - fuse.sshfs host: rw
42 22 0:42 / /dev/shm rw - tmpfs tmpfs rw
garbage
"""


@pytest.mark.parametrize(
    ("path", "kind", "remote", "rsize"),
    [
        ("/home/user", "ext4", False, None),
        ("/data/train", "nfs4", True, 1048576),
        ("/database", "ext4", False, None),
        ("/data/with blank/x", "fuse.sshfs", True, None),
        ("/dev/shm/x", "tmpfs", False, None),
    ],
)
def test_the_longest_mount_point_counts(path: str, kind: str, remote: bool, rsize: int | None) -> None:
    mount = mount_of(path, TABLE)
    assert (mount.kind, mount.remote, mount.size("rsize")) == (kind, remote, rsize)


def test_write_sizes_and_an_empty_table() -> None:
    assert mount_of("/data/x", TABLE).size("wsize") == 524288
    assert mount_of("/x", "").kind == ""
    assert mount_of("/").point == "/"
