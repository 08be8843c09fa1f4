"""How many of the exported networks use each primitive: ``python -m tests.networks.primitives FOLDER``."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mswb.convert.mindir.reader import read_file
from mswb.convert.mindir.schema import FUNCTION, REF


@dataclass
class Use:
    """The use of one primitive.

    Attributes:
        networks: the networks that use it.
        functional: whether its arguments are inputs of the node (prim_type 2) and not attributes.
        attributes: the names of its attributes, where it has them.
    """

    networks: set[str] = field(default_factory=set)
    functional: bool = False
    attributes: set[str] = field(default_factory=set)


def used(folder: Path, networks: Sequence[str]) -> dict[str, Use]:
    """The primitives of networks in a folder."""
    uses: dict[str, Use] = defaultdict(Use)
    for network in networks:
        path = folder / f"{network}.mindir"
        model = read_file(str(path))
        known = {one.name: one for one in model.primitives}
        graphs = [one for one in (model.graph, *model.functions) if one is not None]
        called = {node.op_type.removeprefix(REF) for graph in graphs for node in graph.node if node.op_type}
        for primitive in (known[name] for name in called & known.keys()):
            use = uses[primitive.op_type or ""]
            use.networks.add(network)
            use.functional = primitive.prim_type == FUNCTION
            use.attributes |= set() if use.functional else {one.name or "" for one in primitive.attribute}
    return uses


def lines(uses: dict[str, Use]) -> list[str]:
    """A table: the primitives by the networks that use them."""
    rows = sorted(uses.items(), key=lambda item: (-len(item[1].networks), item[0]))
    return [
        f"{len(use.networks):4} {name:28} {'inputs' if use.functional else 'attributes'} "
        f"{' '.join(sorted(use.attributes)):40} {' '.join(sorted(use.networks)[:4])}".rstrip()
        for name, use in rows
    ]


if __name__ == "__main__":
    _folder = Path(sys.argv[1])
    print("\n".join(lines(used(_folder, sorted(one.stem for one in _folder.glob("*.mindir"))))))
