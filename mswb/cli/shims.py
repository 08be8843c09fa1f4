"""``mswb shims install DIR``: opt-in wrappers with the article's names.

MindSpore and CANN own the names msrun and msprof, so no wheel of ours may declare them; a person who wants them puts
DIR first in PATH.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from mswb.cli import output
from mswb.files.safety import write_atomic
from mswb.findings import stop

NAMES = {"msrun": "run", "msprof": "prof"}


@click.group()
def shims() -> None:
    """Wrappers named msrun and msprof for those who want them."""


@shims.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace files of those names that are not ours.")
@output.format_option
def install(folder: Path, force: bool, form: str) -> int:
    """Write the wrappers into FOLDER (created when absent)."""
    from mswb.cli.app import COMMANDS

    folder.mkdir(parents=True, exist_ok=True)
    wanted = {name: command for name, command in NAMES.items() if command in COMMANDS}
    if not force:
        _refuse_foreign(folder, wanted)
    written = []
    for name, command in wanted.items():
        write_atomic(folder / name, wrapper(command), mode=0o755)
        written.append(str(folder / name))
    if form == "json":
        output.emit("shims", [], written=written)
    else:
        for path in written:
            print(output.safe_line(f"wrote {path}"))
        print(output.safe_line(f'to use them: export PATH="{folder.resolve()}:$PATH"'))
    return 0


MARK = "# written by mswb shims install"


def wrapper(command: str) -> str:
    """A shell script that hands everything to ``mswb COMMAND`` of this installation."""
    return f'#!/bin/sh\n{MARK}\nexec {shlex.quote(sys.executable)} -m mswb {command} "$@"\n'


def _refuse_foreign(folder: Path, names: dict[str, str]) -> None:
    for name in names:
        path = folder / name
        if path.is_symlink() or (path.exists() and MARK not in path.read_text(encoding="utf-8", errors="replace")):
            problem = f"{path} exists and is not a wrapper of ours"
            raise stop("usage", values={"problem": problem, "fix": "choose another folder, or --force to replace it"})
