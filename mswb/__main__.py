"""The programs' entry points: ``mswb``, and the two names nobody else owns, ``mscache`` and ``msconvert``."""

from __future__ import annotations

import sys


def main() -> None:
    """``mswb ARGUMENTS``."""
    from mswb.cli.app import run

    sys.exit(run(sys.argv[1:]))


def main_cache() -> None:
    """``mscache ARGUMENTS`` is ``mswb cache ARGUMENTS``."""
    from mswb.cli.app import run

    sys.exit(run(["cache", *sys.argv[1:]]))


def main_convert() -> None:
    """``msconvert ARGUMENTS`` is ``mswb convert ARGUMENTS``."""
    from mswb.cli.app import run

    sys.exit(run(["convert", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
