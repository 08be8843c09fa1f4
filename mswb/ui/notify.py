"""Telling a person who looks elsewhere that a run has ended: OSC 9, and a command of theirs.

The command is ``command`` in ``[notify]`` of the configuration file, run by the shell with the JSON report on its
standard input and MSWB_RUN, MSWB_VERDICT and MSWB_TITLE in its environment::

    [notify]
    command = "mail -s \"$MSWB_TITLE\" me@example.org"
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from typing import Any

from mswb.files.safety import printable
from mswb.findings import stop

TIMEOUT_S = 60.0
_MAX_TITLE = 200


def title_of(run_id: str, verdict: str, root: str | None) -> str:
    """One sentence about the end of a run."""
    return printable(f"mswb: run {run_id} {verdict}" + (f": {root}" if root else ""))[:_MAX_TITLE]


def osc9(text: str) -> str:
    """The sequence that has a terminal show a notification; terminals that don't know it ignore it."""
    return f"\x1b]9;{printable(text)[:_MAX_TITLE]}\x07"


def command_of(table: Mapping[str, Any]) -> str | None:
    """The user's command from ``[notify]``, if there is one."""
    command = table.get("command")
    return command if isinstance(command, str) and command.strip() else None


def run_command(command: str, report: Mapping[str, Any], environ: Mapping[str, str], title: str) -> None:
    """Run the user's command with the report on standard input.

    Raises:
        MswbError: ``notify-failed``: it could not be started, took over a minute, or ended badly.
    """
    env = {**environ, "MSWB_TITLE": title, "MSWB_RUN": str(report.get("run")), "MSWB_VERDICT": str(report["verdict"])}
    data = json.dumps(report, ensure_ascii=False, default=str).encode("utf-8", "replace")
    try:
        outcome = subprocess.run(
            ["/bin/sh", "-c", command],
            input=data,
            capture_output=True,
            env=env,
            timeout=TIMEOUT_S,
            start_new_session=True,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise _failed(command, str(problem)) from None
    if outcome.returncode != 0:
        last = outcome.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise _failed(command, f"it ended with exit code {outcome.returncode}" + "".join(f": {line}" for line in last))


def _failed(command: str, reason: str) -> Exception:
    return stop("notify-failed", values={"command": printable(command)[:200], "reason": printable(reason)})
