"""Binding to cores and NUMA nodes: the prefix that msrun 2.10 would give, for each process."""

from __future__ import annotations

from typing import Any

import pytest

from mswb.launch.binding import UNBOUND, Binding, Kind, contract, prefix, shares

HAVE: dict[Kind, tuple[int, ...]] = {"core": (0, 1, 2, 3), "numa": (0, 1)}
BOTH = ("taskset", "numactl")
AUTO = Binding(automatic=True)
CORES = Binding(table={"device0": "0-1", "scheduler": "3"})
NODES = Binding(table={"device0": "1"})


def file(cpu: str = "none", memory: str = "none", **tables: Any) -> Binding:
    return Binding(file="/b.json", config={"bind_config": {"bind_cpu_mode": cpu, "bind_memory_mode": memory}, **tables})


PREFIXES: list[tuple[int | None, Binding, Binding, tuple[str, ...], str]] = [
    (0, UNBOUND, UNBOUND, BOTH, ""),
    (0, AUTO, UNBOUND, BOTH, "taskset -c 0-1"),
    (1, AUTO, UNBOUND, BOTH, "taskset -c 2-3"),
    (None, AUTO, UNBOUND, BOTH, ""),
    (0, AUTO, UNBOUND, (), ""),
    (0, CORES, UNBOUND, BOTH, "taskset -c 0-1"),
    (1, CORES, UNBOUND, BOTH, ""),
    (None, CORES, UNBOUND, BOTH, "taskset -c 3"),
    (0, UNBOUND, NODES, BOTH, "numactl --membind 1 --cpunodebind 1"),
    (0, CORES, NODES, BOTH, "numactl --membind 1 --physcpubind 0-1"),
    (0, CORES, NODES, ("taskset",), "taskset -c 0-1"),
    (1, UNBOUND, AUTO, BOTH, "numactl --membind 1 --cpunodebind 1"),
    (0, UNBOUND, file("cpu", bind_cpu={"device0": {"main": "0 - 1"}}), BOTH, "taskset -c 0-1"),
    (1, UNBOUND, file("cpu", bind_cpu={"device0": {"main": "0"}}), BOTH, ""),
    (0, UNBOUND, file("cpu", bind_cpu={"device0": None}), BOTH, ""),
    (0, UNBOUND, file("numa", bind_cpu={"device0": 1}), BOTH, "numactl --cpunodebind 1"),
    (0, UNBOUND, file("none", "numa", bind_memory={"device0": "0"}), BOTH, "numactl --membind 0"),
    (
        0,
        UNBOUND,
        file("cpu", "numa", bind_cpu={"device0": {"main": "2"}}, bind_memory={"device0": 1}),
        BOTH,
        "numactl --membind 1 --physcpubind 2",
    ),
    (None, UNBOUND, file("numa", bind_cpu={"scheduler": 0}), BOTH, "numactl --cpunodebind 0"),
    (0, CORES, file(), BOTH, ""),
]


@pytest.mark.parametrize(("rank", "core", "numa", "tools", "words"), PREFIXES)
def test_the_prefix_of_a_process(
    rank: int | None, core: Binding, numa: Binding, tools: tuple[str, ...], words: str
) -> None:
    assert " ".join(prefix(rank, 2, core, numa, HAVE, tools)) == words


def test_too_few_cores_bind_nobody() -> None:
    assert shares((0, 1), 3) == ["", "", ""]
    assert prefix(0, 8, AUTO, UNBOUND, HAVE, BOTH) == ()


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([3], "3"), ([0, 1, 2], "0-2"), ([5, 0, 1], "0-1,5"), ([0, 2, 4], "0,2,4")]
)
def test_id_lists_are_short(numbers: list[int], text: str) -> None:
    assert contract(numbers) == text


@pytest.mark.parametrize(("binding", "truth"), [(UNBOUND, False), (AUTO, True), (CORES, True), (file(), True)])
def test_a_binding_that_binds_is_true(binding: Binding, truth: bool) -> None:
    assert bool(binding) is truth
