"""What the logs of the scenes say."""

from __future__ import annotations

from pathlib import Path

from mswb.launch.records import iso, parse_iso

START = parse_iso("2026-11-30T04:00:00")
TRACEBACK = """Traceback (most recent call last):
  File "train.py", line 31, in <module>
    main()
  File "train.py", line 24, in main
    loss = step(*batch)
  File "train.py", line 17, in step
    return table[label]
KeyError: 4
"""
_LEVELS = {3: "WARNING", 11: "WARNING", 27: "ERROR"}


def record(micros: int, text: str, *, level: str = "INFO", pid: int = 201, module: str = "ME") -> str:
    """A line as MindSpore writes it, ``micros`` behind the start."""
    day, clock = iso(START + micros).split("T")
    seconds, fraction = clock.split(".")
    time = f"{day}-{seconds}.{fraction[:3]}.{fraction[3:]}"
    return f"[{level}] {module}({pid},7f2a,python):{time} [mindspore/ccsrc/runtime/graph.cc:412] Run] {text}\n"


def rank_text(rank: int, lines: int = 40) -> str:
    """The log of a rank that trains."""
    rows = []
    for number in range(1, lines + 1):
        micros = (number * 10 + rank) * 100_000
        if number < 12:
            text = f"rank {rank}: compile action {number} of 11"
            rows.append(record(micros, text, level=_LEVELS.get(number, "INFO"), pid=200 + rank))
        elif number in _LEVELS:
            rows.append(record(micros, "launch kernel failed", level=_LEVELS[number], pid=200 + rank, module="KERNEL"))
        else:
            rows.append(f"epoch: 1 step: {number}, loss is {4 / number:.4f}\n")
    return "".join(rows)


def write_ranks(folder: Path, ranks: int) -> list[Path]:
    """The logs of some ranks; the second one fails."""
    paths = [folder / f"worker_{rank}.log" for rank in range(ranks)]
    for rank, path in enumerate(paths):
        path.write_text(rank_text(rank) + (TRACEBACK if rank == 1 else ""), encoding="utf-8")
    return paths
