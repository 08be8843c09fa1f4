"""File caches of format MSWC, seen from outside: verifying and mending them, and what is known of one.

What reads and writes samples in training is :mod:`mswb.inside.store`. Loading this package costs nothing: what needs
numpy is imported when it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mswb.cache.check import Checked, Options, Watch
    from mswb.cache.repair import Repair


def check(path: str, options: Options, watch: Watch) -> Checked:
    """Read every record of a cache; a :data:`mswb.cache.check.Checker`."""
    from mswb.cache.filecache.verify import check_cache

    return check_cache(path, options, watch)


def plan(path: str, checked: Checked, out: str | None) -> Repair:
    """How a cache is mended; a :data:`mswb.cache.repair.Repairer`."""
    from mswb.cache.filecache.mend import plan_repair

    return plan_repair(path, checked, out)


def remember(path: str, checked: Checked) -> None:
    """Keep when a cache was verified, and with what result; :func:`info` tells it."""
    from mswb.cache.filecache import verified

    verified.remember(path, checked)


def info(path: str) -> dict[str, Any]:
    """All that is known of one cache by name, with a sample of its load times taken now.

    Raises:
        OSError: the folder can't be read.
    """
    from mswb.cache.filecache.facts import gather

    return gather(path)
