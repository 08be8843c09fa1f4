"""What is wrong with a command line, in words: one ``usage`` error for each wrong combination.

The sentences stand in ``usage.toml`` beside this module, in English and Chinese, each as [what is wrong, what to do].
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Any

from mswb.files.safety import printable
from mswb.findings import MswbError, language, parse_toml, stop


def refuse(key: str, /, **values: Any) -> MswbError:
    """The error (code ``usage``, exit code 2) for the sentence ``key``, with ``values`` filled into it."""
    problem, fix = _sentences()[key][language()]
    words = {name: _short(value) for name, value in values.items()}
    filled = {"problem": problem.format(**words), "fix": fix.format(**words)}
    return stop("usage", values={**filled, "mistake": key, **values})


def _short(value: Any) -> str:
    """A value as one line that no terminal acts on; what a person typed may be long or hostile."""
    return printable(str(value).replace("\n", " "), 200)


@lru_cache(maxsize=1)
def _sentences() -> dict[str, dict[str, list[str]]]:
    return parse_toml(resources.files("mswb.launch").joinpath("usage.toml").read_text(encoding="utf-8"))
