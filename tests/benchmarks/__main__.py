"""Run the benchmarks and print one table; exit code 1 when a bar does not hold."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
import tempfile
from pathlib import Path

import tests.benchmarks as package
from tests.benchmarks.common import REGISTRY, Context, Row, table


def load() -> dict[str, list[str]]:
    """Import every ``bench_*.py``. Returns the names of its benchmarks by module name."""
    by_module: dict[str, list[str]] = {}
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith("bench_"):
            before = set(REGISTRY)
            importlib.import_module(f"{package.__name__}.{module.name}")
            by_module[module.name.removeprefix("bench_")] = [name for name in REGISTRY if name not in before]
    return by_module


def chosen(names: list[str], by_module: dict[str, list[str]]) -> list[str]:
    """The benchmarks asked for, by their own name or their module's; all when nothing is asked."""
    unknown = [name for name in names if name not in REGISTRY and name not in by_module]
    if unknown:
        known = ", ".join(f"{module} ({', '.join(entries)})" for module, entries in by_module.items())
        raise SystemExit(f"no benchmark {', '.join(unknown)}; there are: {known}")
    wanted = [entry for name in names for entry in by_module.get(name, [name])]
    return wanted or list(REGISTRY)


def run(names: list[str], context: Context) -> list[tuple[str, Row]]:
    """All rows of the named benchmarks, each shown as soon as it is known."""
    rows: list[tuple[str, Row]] = []
    for name in names:
        print(f"… {name}", file=sys.stderr, flush=True)
        for row in REGISTRY[name](context):
            rows.append((name, row))
            print(f"    {row.what}: {row.ours:.4g}", file=sys.stderr, flush=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="benchmarks or modules (default: all)")
    parser.add_argument("--cache", type=Path, help="keep the peers' environments here (default: made anew each time)")
    parser.add_argument("--temp", type=Path, help="work in this folder (default: the system's temporary folder)")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it runs, not what it reaches")
    options = parser.parse_args()
    names = chosen(options.names, load())
    with tempfile.TemporaryDirectory(prefix="mswb-bench-", dir=options.temp) as temp:
        cache = options.cache or Path(temp) / "cache"
        cache.mkdir(parents=True, exist_ok=True)
        rows = run(names, Context(Path(temp), cache.resolve(), options.quick))
    print("\n".join(table(rows)))
    missing = sorted({row.peer for _, row in rows if row.peer and row.peer_value is None})
    if missing:
        print(f"missing peers: {', '.join(missing)}")
    return 1 if any(row.ok is False for _, row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
