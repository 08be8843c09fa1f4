"""What an inventory lists: one thing on the disk, what it was taken for, and by which signs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Guess:
    """What the content of a file, or the listing of a folder, says it is.

    ``kind`` is a word of the domain's ``KINDS``. ``status`` is a finding code for what a glance already shows
    ("truncated", "index-missing"), and "" where nothing was checked. ``reason`` names the signs that decided. ``parts``
    are further files that it says it needs, relative to its folder, as it spells them.
    """

    kind: str
    detail: str
    reason: str
    status: str = ""
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """One entry: a file, files that belong together, or a whole folder.

    ``size_bytes`` is what the files hold and ``disk_bytes`` what they occupy (holes don't). ``modified`` is the newest
    file's time in seconds since the epoch. ``files`` counts the regular files that the entry stands for, and ``parts``
    is as in :class:`Guess`.
    """

    kind: str
    path: str
    size_bytes: int
    disk_bytes: int
    modified: float
    detail: str
    status: str = ""
    reason: str = ""
    files: int = 1
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What the directory says of one regular file; sizes in bytes, ``modified`` in seconds since the epoch."""

    path: str
    name: str
    size_bytes: int
    disk_bytes: int
    modified: float

    def item(self, guess: Guess) -> Item:
        """The entry for this file alone."""
        return Item(
            guess.kind,
            self.path,
            self.size_bytes,
            self.disk_bytes,
            self.modified,
            guess.detail,
            guess.status,
            guess.reason,
            parts=guess.parts,
        )
