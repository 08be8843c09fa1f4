"""``python -m mswb.cache.compile.seal FOLDER RUN BEGUN``: seals the graphs of a run that has ended well.

Started by the run's supervisor, so it happens for a detached run too. A graph that was sealed before and that this run
has not written keeps its old seal, even if it is another by now: that is what a seal is for.
"""

from __future__ import annotations

import os
import sys
import time

from mswb.cache.compile import key as keys
from mswb.cache.compile.key import Key, Seal
from mswb.cache.compile.sniff import GRAPH_NAME, HASH_NAME
from mswb.findings import MswbError


def seal_all(folder: str, run: str, begun: float) -> int:
    """Seal what lies in ``rank_N/graph_cache`` below the folder of a key; returns how many folders were sealed.

    Args:
        begun: when the run began, in seconds since the epoch.

    Raises:
        ValueError: there is no key, or it is damaged.
    """
    key = keys.read_key(folder)
    if key is None:
        raise ValueError(f"{folder} has no {keys.KEY_FILE}")
    count = 0
    for rank in sorted(os.listdir(folder)):
        path = os.path.join(folder, rank, "graph_cache")
        if rank.startswith("rank_") and os.path.isdir(path) and not os.path.islink(path):
            count += _seal(path, key, run, begun)
    return count


def _seal(folder: str, key: Key, run: str, begun: float) -> bool:
    try:
        before = keys.read_seal(folder)
    except ValueError:
        before = None
    old = before.files if before is not None and before.key == key.key else {}
    files = {}
    for entry in sorted(os.scandir(folder), key=lambda one: one.name):
        if entry.is_file(follow_symlinks=False) and (GRAPH_NAME.match(entry.name) or HASH_NAME.match(entry.name)):
            ours = entry.stat(follow_symlinks=False).st_mtime >= begun - 1
            files[entry.name] = old[entry.name] if entry.name in old and not ours else keys.file_hash(entry.path)
    if files and files != old:
        keys.write_seal(folder, Seal(key=key.key, run=run, begun=begun, ended=time.time(), files=files))
    return bool(files)


def main(arguments: list[str]) -> int:
    """Seal; says on standard error why it can't."""
    folder, run, begun = arguments
    try:
        seal_all(folder, run, float(begun))
    except (MswbError, OSError, ValueError) as problem:
        print(f"the compile cache was not sealed: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
