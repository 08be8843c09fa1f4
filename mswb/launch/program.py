"""What is started on every rank: a script, or ``python``, ``python3`` or ``pytest`` with arguments of their own.

Rule of msrun 2.10 (``_generate_cmd_args_list`` in _utils.py): these three words are the program itself, anything else
is a script for ``python``.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass

from mswb.launch.usage import refuse

PROGRAMS = ("python", "python3", "pytest")
_TAKES_VALUE = ("-W", "-X", "--check-hash-based-pycs")


@dataclass(frozen=True, slots=True)
class Program:
    """What follows the flags. ``words`` is exactly that; ``script`` the file's absolute path, where there is one."""

    words: tuple[str, ...]
    script: str | None

    @property
    def title(self) -> str:
        """A short name for lists."""
        return os.path.basename(self.script) if self.script else " ".join(self.words[:3])

    def command(self, python: str) -> tuple[str, ...]:
        """The command that runs it in the interpreter ``python``."""
        first, *rest = self.words
        if first == "pytest":
            return (python, "-m", "pytest", *rest)
        return (python, *rest) if first in PROGRAMS else (python, *self.words)


def read_program(words: Sequence[str], cwd: str) -> Program:
    """Find the script in what follows the flags.

    Raises:
        MswbError: ``usage`` when there is nothing, or the script is missing, a folder or not readable.
    """
    if not words or not words[0]:
        raise refuse("script-missing")
    if words[0] == "pytest":
        return Program(tuple(words), None)
    name = script_of(words[1:]) if words[0] in PROGRAMS else words[0]
    if name is None:
        return Program(tuple(words), None)
    path = os.path.join(cwd, name)
    _refuse_unreadable(name, path)
    return Program(tuple(words), os.path.normpath(path))


def script_of(arguments: Sequence[str]) -> str | None:
    """The script among the arguments of a Python interpreter; None for ``-m MODULE`` and ``-c TEXT``.

    Raises:
        MswbError: ``usage`` when there is none of them.
    """
    skip = False
    for word in arguments:
        if skip:
            skip = False
        elif word in _TAKES_VALUE:
            skip = True
        elif word == "-" or not word.startswith("-"):
            return word
        elif _names_code(word):
            return None
    raise refuse("script-missing")


def _names_code(word: str) -> bool:
    """Whether a word like ``-um`` or ``-c`` says that a module or a text is run."""
    return not word.startswith("--") and not word.startswith(_TAKES_VALUE) and ("m" in word or "c" in word)


def _refuse_unreadable(name: str, path: str) -> None:
    if not os.path.exists(path):
        near = _nearest(path)
        raise refuse("script-absent-near", value=name, near=near) if near else refuse("script-absent", value=name)
    if os.path.isdir(path):
        if not os.path.isfile(os.path.join(path, "__main__.py")):
            raise refuse("script-folder", value=name)
    elif not os.path.isfile(path):
        raise refuse("script-not-a-file", value=name)
    elif not os.access(path, os.R_OK):
        raise refuse("script-unreadable", value=name)
    elif _is_binary(path):
        raise refuse("script-binary", value=name)


def _nearest(path: str) -> str | None:
    from difflib import get_close_matches

    if os.path.isfile(f"{path}.py"):
        return f"{os.path.basename(path)}.py"
    try:
        names = [entry.name for entry in os.scandir(os.path.dirname(path) or ".") if entry.name.endswith(".py")]
    except OSError:
        return None
    return next(iter(get_close_matches(os.path.basename(path), names[:2000], 1, 0.6)), None)


def _is_binary(path: str) -> bool:
    """An executable, an image or the like; not a zip archive with code, nor compiled Python, which Python can run."""
    try:
        with open(path, "rb") as file:
            head = file.read(2048)
    except OSError:
        return False
    return b"\0" in head and not path.endswith(".pyc") and not zipfile.is_zipfile(path)
