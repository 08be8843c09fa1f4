"""Calls the program ``dataset-cache`` of the user's MindSpore, without Python and without importing MindSpore.

MindSpore's own command imports all of MindSpore for each call (seconds) and makes two programs executable in place,
which fails in an installation that is not the user's. The program itself answers in 0.2 s; where it may not be started
as it lies, a private copy is.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mswb.cache.server import answers
from mswb.env.interpreter import Interpreter
from mswb.files.safety import make_private_dir, printable, write_atomic
from mswb.findings import MswbError, stop
from mswb.settings import Settings

CLIENT = "dataset-cache"
SERVER = "dataset-cache-server"
PORT = 50052
"""The port of a server that was told none."""
TIMEOUT_S = 20.0
START_TIMEOUT_S = 90.0
_MAX_TEXT = 1 << 20


@dataclass(frozen=True, slots=True)
class Admin:
    """The program and the environment that it needs."""

    program: str
    environ: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """What one call gave: the exit code and all that was printed."""

    code: int
    text: str


@dataclass(frozen=True, slots=True)
class Start:
    """How a server is to be started. ``workers`` None: it chooses; ``spill`` None: rows that don't fit are dropped."""

    port: int = PORT
    host: str = "127.0.0.1"
    workers: int | None = None
    spill: str | None = None
    log_level: int | None = None

    def words(self) -> list[str]:
        """The options for the program."""
        pairs = (("-w", self.workers), ("-s", self.spill), ("-l", self.log_level))
        more = [word for name, value in pairs if value is not None for word in (name, str(value))]
        return ["--start", "-h", self.host, "-p", str(self.port), *more]


def find(interpreter: Interpreter, settings: Settings, environ: Mapping[str, str] | None = None) -> Admin:
    """The program of an interpreter's MindSpore.

    Raises:
        MswbError: ``cache-server-unsupported``: there is no MindSpore, or it came without the server.
    """
    package = interpreter.mindspore_path
    folder = os.path.join(package, "utils", "bin") if package else ""
    programs = [os.path.join(folder, name) for name in (CLIENT, SERVER)]
    if package is None or not all(map(os.path.isfile, programs)):
        values = {"python": interpreter.path, "version": interpreter.mindspore_version or "no MindSpore"}
        raise stop("cache-server-unsupported", values=values)
    if not all(os.access(program, os.X_OK) for program in programs):
        programs = _copies(programs, settings)
    return Admin(programs[0], _environment(package, interpreter.prefix, os.environ if environ is None else environ))


def call(admin: Admin, *words: str, timeout_s: float = TIMEOUT_S) -> Answer:
    """Run the program to its end.

    Raises:
        MswbError: ``cache-server-refused``: it can't be started, or does not end.
    """
    command = [admin.program, *words]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(admin.environ),
            cwd="/",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise refused(words, f"no answer within {timeout_s:.0f} s") from None
    except OSError as problem:
        raise refused(words, problem.strerror or str(problem)) from None
    return Answer(done.returncode, done.stdout[:_MAX_TEXT].decode("utf-8", "backslashreplace"))


def refused(words: tuple[str, ...], reason: str) -> MswbError:
    """The error of a call that failed for no reason that has a code of its own."""
    return stop(
        "cache-server-refused", values={"command": " ".join([CLIENT, *words]), "reason": printable(reason, 600)}
    )


def list_sessions(admin: Admin, port: int) -> tuple[answers.Cached, ...] | None:
    """The sessions of a server with the caches in each; None when no server answers.

    Raises:
        MswbError: ``cache-server-refused``.
    """
    words = ("--list_sessions", "-p", str(port))
    answer = call(admin, *words)
    if answer.code == 0:
        return answers.sessions(answer.text)
    if answers.failure(answer.text) == "unreachable":
        return None
    raise refused(words, answers.reason(answer.text))


def _environment(package: str, prefix: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The libraries lie beside the extension modules, in ``lib``, and in that of the Python (libpython)."""
    folders = [package, os.path.join(package, "lib"), *_python_libraries(prefix)]
    known = [part for part in environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if part]
    # A level for logs of trainings would put log lines between the answers; a server gets its own by -l.
    kept = {name: value for name, value in environ.items() if name != "GLOG_v"}
    preload = os.path.join(package, "lib", "libnnacl.so")
    more = {"LD_PRELOAD": preload} if os.path.isfile(preload) else {}
    return {**kept, "LD_LIBRARY_PATH": os.pathsep.join(dict.fromkeys([*folders, *known])), **more}


def _python_libraries(prefix: str) -> list[str]:
    """``lib`` of the interpreter, and of the one that a virtual environment was made from."""
    folders = [os.path.join(prefix, "lib")]
    try:
        lines = Path(prefix, "pyvenv.cfg").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return folders
    home = next((line.partition("=")[2].strip() for line in lines if line.partition("=")[0].strip() == "home"), "")
    base = os.path.dirname(os.path.realpath(home)) if home else ""
    return [*folders, os.path.join(base, "lib")] if base else folders


def _copies(programs: list[str], settings: Settings) -> list[str]:
    """Private executable copies, made once for each build of the programs."""
    stamp = "\0".join(f"{program}:{about.st_size}:{about.st_mtime_ns}" for program, about in _stats(programs))
    folder = make_private_dir(settings.state_dir / "dataset-cache" / hashlib.sha256(stamp.encode()).hexdigest()[:16])
    for program in programs:
        target = folder / os.path.basename(program)
        if not os.access(target, os.X_OK):
            write_atomic(target, Path(program).read_bytes(), mode=0o700)
    return [str(folder / os.path.basename(program)) for program in programs]


def _stats(programs: list[str]) -> list[tuple[str, os.stat_result]]:
    return [(program, os.stat(program)) for program in programs]
