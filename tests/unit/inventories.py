"""Looks and inventories for tests, and where their real samples lie."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from types import ModuleType

from mswb.files.items import Guess, Item
from mswb.files.peek import of_bytes, open_peek
from mswb.flows.inventory import EVERY, Domain, scan

SAMPLES = Path(__file__).parents[1] / "fixtures" / "inventory"
DATA = SAMPLES / "data"
MODELS = SAMPLES / "models"
PROFILES = SAMPLES / "profile"


def guess_file(module: ModuleType, path: Path) -> Guess | None:
    """What a domain's sniffer says of a file."""
    with open_peek(str(path)) as peek:
        guess: Guess | None = module.sniff_file(peek)
        return guess


def guess_bytes(module: ModuleType, data: bytes, name: str = "thing") -> Guess | None:
    """What a domain's sniffer says of bytes under a name."""
    guess: Guess | None = module.sniff_file(of_bytes(name, data))
    return guess


def items_of(folder: Path, kinds: Collection[Domain] = EVERY) -> dict[str, Item]:
    """The entries of a folder, by path relative to it ("." for the folder itself)."""
    found = [item for batch in scan(folder, kinds) for item in batch.items]
    result = {str(Path(item.path).relative_to(folder.resolve())): item for item in found}
    assert len(result) == len(found), "an entry stands twice"
    return result
