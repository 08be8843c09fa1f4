"""Networks that real MindSpore exports, converted to ONNX: onnxruntime's outputs against MindSpore's own.

``python -m tests.benchmarks.networks [--only NAME,NAME*] [--list] [--primitives] [--folder FOLDER]``: our count, and
that of MindSpore's own ONNX exporter on the same networks; with --list every network that is not right, with
--primitives how many networks use each primitive. A folder keeps what MindSpore exported, and is taken as it is the
next time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import onnx

from mswb.convert import to_onnx
from mswb.findings import MswbError
from tests.networks import primitives
from tests.networks.exported import Exported, differs, export, trials

STATES = ("right", "loose", "wrong", "invalid", "refused", "error", "crash")
_OF_EXPORT = {"failed": "refused", "crashed": "crash"}


@dataclass(frozen=True)
class Outcome:
    """How one network went.

    Attributes:
        state: right; loose (onnxruntime gives the right values, the checker rejects the file); wrong (other values);
            invalid (onnxruntime rejects the file); refused (with the reason); error (the conversion raised); crash (the
            process died).
    """

    network: str
    state: str
    detail: str = ""


def ours(folder: Path, name: str) -> Outcome:
    """Convert a network's MindIR file, check the ONNX file and run it."""
    made = folder / f"{name}.ours.onnx"
    try:
        done = to_onnx.convert(str(folder / f"{name}.mindir"))
        if done.proto is None:
            return Outcome(name, "refused", "; ".join(sorted({one.title for one in done.findings})))
        onnx.save(done.proto, str(made))
    except MswbError as problem:
        return Outcome(name, "refused", str(problem))
    except Exception as problem:
        return Outcome(name, "error", f"{type(problem).__name__}: {' '.join(str(problem).split())[:300]}")
    return judged(folder, name, made)


def judged(folder: Path, name: str, made: Path) -> Outcome:
    """How an ONNX file of a network is."""
    try:
        problem = differs(str(made), trials(folder, name))
    except Exception as rejected:
        return Outcome(name, "invalid", " ".join(str(rejected).split())[:300])
    if problem:
        return Outcome(name, "wrong", problem)
    try:
        onnx.checker.check_model(str(made), full_check=True)
    except Exception as rejected:
        return Outcome(name, "loose", " ".join(str(rejected).split())[:300])
    return Outcome(name, "right")


def theirs(folder: Path, one: Exported) -> Outcome:
    """How the ONNX file of MindSpore's own exporter is."""
    if one.state != "done":
        return Outcome(one.name, _OF_EXPORT[one.state], one.reason)
    return judged(folder.parent, one.name, folder / f"{one.name}.onnx")


def counted(title: str, outcomes: Sequence[Outcome]) -> str:
    """One line of counts."""
    counts = Counter(one.state for one in outcomes)
    return f"{title}: {len(outcomes)} networks: " + ", ".join(f"{state} {counts[state]}" for state in STATES)


def listed(title: str, outcomes: Sequence[Outcome]) -> list[str]:
    """Every network that is not right."""
    return [
        f"{title}: {one.state:8} {one.network:28} {one.detail}"
        for one in sorted(outcomes, key=lambda one: (STATES.index(one.state), one.network))
        if one.state != "right"
    ]


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="names of networks, or patterns with *")
    parser.add_argument("--list", action="store_true", help="every network that is not right")
    parser.add_argument("--primitives", action="store_true", help="how many networks use each primitive")
    parser.add_argument("--folder", type=Path, help="keep the exported networks here, or take those that are")
    parser.add_argument("--no-builtin", action="store_true", help="without MindSpore's own exporter")
    options = parser.parse_args()
    only = [word for word in options.only.split(",") if word]
    with tempfile.TemporaryDirectory() as temporary:
        return _report(options, options.folder or Path(temporary), only)


def _report(options: argparse.Namespace, folder: Path, only: Sequence[str]) -> int:
    names = _names(folder, only)
    if options.primitives:
        print("\n".join(primitives.lines(primitives.used(folder, names))))
    mine = [ours(folder, name) for name in names]
    others = [] if options.no_builtin else [theirs(folder / "builtin", one) for one in _builtin(folder, names)]
    parts = [("mswb", mine)] + ([("mindspore.onnx.export", others)] if others else [])
    for title, outcomes in parts if options.list else ():
        print("\n".join(listed(title, outcomes)))
    for title, outcomes in parts:
        print(counted(title, outcomes))
    return int(any(one.state not in ("right", "refused") for one in mine))


def _names(folder: Path, only: Sequence[str]) -> list[str]:
    """The networks that real MindSpore runs and exports; what it can't is said and does not count."""
    held = sorted(path.stem for path in folder.glob("*.npz"))
    if not held:
        for one in export(folder, only):
            if one.state != "done":
                print(f"MindSpore: {one.state} {one.name}: {one.reason}")
        held = sorted(path.stem for path in folder.glob("*.npz"))
    return [name for name in held if not only or any(fnmatch(name, word) for word in only)]


def _builtin(folder: Path, names: Sequence[str]) -> list[Exported]:
    return export(folder / "builtin", names, builtin=True)


if __name__ == "__main__":
    sys.exit(main())
