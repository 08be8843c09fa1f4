"""Export the networks: ``python -m tests.networks.export FOLDER [--only NAME,NAME*] [--after NAME] [--builtin]``.

For each network FOLDER gets NAME.mindir and NAME.npz with the inputs and MindSpore's own outputs (``0.in.1`` is the
second input of the first trial; ``half`` is there when it computes in half precision), or with --builtin the NAME.onnx
of MindSpore's own exporter. progress.jsonl gets a line before and after each, so that whoever started this knows which
network ended the process.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np

from tests.networks.catalogue import NETWORKS, Given, Network

MODULES = (
    *("layers", "arithmetic", "arrays", "functional", "tensors", "control"),
    *("models", "transformers", "losses", "rare", "blocks"),
)


def chosen(words: Sequence[str], after: str = "") -> list[Network]:
    """The networks whose names are, or fit, one of the words; those behind ``after`` when it is given."""
    for module in MODULES:
        importlib.import_module(f"tests.networks.{module}")
    found = [one for one in NETWORKS.values() if not words or any(fnmatch(one.name, word) for word in words)]
    return found[[one.name for one in found].index(after) + 1 :] if after else found


def built(network: Network) -> ms.nn.Cell:
    """The network with weights that are random, and the same in every process."""
    cell = network.make()
    rng = np.random.default_rng(network.seed)
    for name, parameter in cell.parameters_and_names():
        kind = parameter.asnumpy().dtype
        if kind.kind == "f":
            parameter.set_data(ms.Tensor(_weights(name, parameter.shape, rng).astype(kind)))
    return cell


def _weights(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Numbers such as a trained network has: a variance is positive, a scale is near 1, a matrix keeps the size."""
    if "variance" in name:
        return rng.uniform(0.5, 2.0, shape)
    if "gamma" in name:
        return rng.uniform(0.6, 1.4, shape)
    if len(shape) < 2:
        return rng.normal(0.0, 0.3, shape)
    return rng.normal(0.0, 1.0 / np.sqrt(np.prod(shape[1:])), shape)


def placeholder(given: Given) -> ms.Tensor:
    """The tensor that an input is exported with."""
    kind = getattr(ms, "bool_" if given.dtype == "bool" else given.dtype)
    if any(isinstance(dim, str) for dim in given.dims):
        return ms.Tensor(shape=[None if isinstance(dim, str) else dim for dim in given.dims], dtype=kind)
    return ms.Tensor(np.ones(given.dims, given.dtype))


def flat(result: Any) -> Iterator[np.ndarray[Any, Any]]:
    """The tensors of a result, nested or not."""
    if isinstance(result, (tuple, list)):
        for one in result:
            yield from flat(one)
    else:
        yield result.asnumpy() if hasattr(result, "asnumpy") else np.asarray(result)


def ours(network: Network, folder: Path) -> None:
    """Write the MindIR file, the inputs and the outputs."""
    cell = built(network)
    rng = np.random.default_rng(network.seed + 1)
    arrays: dict[str, Any] = {"half": np.array(True)} if network.half else {}
    for trial in range(network.trials):
        given = [one.draw(rng, trial) for one in network.inputs]
        arrays.update({f"{trial}.in.{at}": array for at, array in enumerate(given)})
        found = flat(cell(*map(ms.Tensor, given)))
        arrays.update({f"{trial}.out.{at}": array for at, array in enumerate(found)})
    ms.export(cell, *map(placeholder, network.inputs), file_name=str(folder / network.name), file_format="MINDIR")
    np.savez(folder / f"{network.name}.npz", **arrays)


def theirs(network: Network, folder: Path) -> None:
    """Write the ONNX file of MindSpore's own exporter."""
    names = [f"x{at}" for at in range(len(network.inputs))]
    free = {
        name: {axis: dim for axis, dim in enumerate(one.dims) if isinstance(dim, str)}
        for name, one in zip(names, network.inputs, strict=True)
    }
    ms.onnx.export(
        built(network),
        *map(placeholder, network.inputs),
        file_name=str(folder / f"{network.name}.onnx"),
        input_names=names,
        dynamic_axes={name: axes for name, axes in free.items() if axes} or None,
    )


def main() -> int:
    """Export what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="names, or patterns with *")
    parser.add_argument("--after", default="", help="the network to go on behind")
    parser.add_argument("--builtin", action="store_true", help="by MindSpore's own ONNX exporter")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    ms.set_context(device_target="CPU")
    act = theirs if options.builtin else ours
    with open(options.folder / "progress.jsonl", "a", encoding="utf-8") as progress:
        for network in chosen([word for word in options.only.split(",") if word], options.after):
            _say(progress, {"name": network.name, "state": "started", "trials": network.trials})
            try:
                act(network, options.folder)
                _say(progress, {"name": network.name, "state": "done", "trials": network.trials})
            except Exception as problem:
                reason = f"{type(problem).__name__}: {' '.join(str(problem).split())[:300]}"
                _say(progress, {"name": network.name, "state": "failed", "reason": reason})
    return 0


def _say(progress: Any, line: dict[str, Any]) -> None:
    progress.write(json.dumps(line) + "\n")
    progress.flush()
    os.fsync(progress.fileno())


if __name__ == "__main__":
    sys.exit(main())
