"""The captures of real runs under tests/fixtures, for every test of the log readers."""

from __future__ import annotations

from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
LAUNCH = FIXTURES / "launch"
TRACEBACKS = FIXTURES / "tracebacks"


def log_files() -> list[Path]:
    """Every console and rank log of the captures."""
    return sorted([*LAUNCH.glob("*/console.txt"), *LAUNCH.glob("*/msrun_log/*.log")])


def rank_log(case: str, name: str = "worker_0.log") -> Path:
    return LAUNCH / case / "msrun_log" / name
