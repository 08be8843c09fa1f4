"""From a command line to a :class:`LaunchRequest`: every wrong combination is one clear error before anything starts.

Real msrun finds most of them only after an import of seconds, or after the scheduler was started, or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from mswb.env.host import available_cpus, available_numa_nodes
from mswb.findings import Finding, make
from mswb.launch.addresses import Master, msrun_takes_it_for_local, read_port, resolve, split_host_port
from mswb.launch.binding import UNBOUND, Binding, read_binding
from mswb.launch.flags import FLAGS, cut, spelling
from mswb.launch.program import Program, read_program
from mswb.launch.usage import refuse

_T = TypeVar("_T")
DEFAULT_WORKERS = 8
DEFAULT_PORT = 8118
DEFAULT_TIME_OUT_S = 600
MAX_SIMULATED = 128
"""More simulated workers than this on one node become one, as in msrun."""
_OF_THE_CLUSTER = ("MS_ROLE", "MS_SCHED_HOST", "MS_SCHED_PORT", "MS_WORKER_NUM", "MS_NODE_ID", "MS_TOPO_TIMEOUT")
_OF_THE_PROCESS = ("RANK_ID", "RANK_SIZE", "DEVICE_ID", "MSWB_RUN_ID", "MSWB_RANK", "MSWB_EVENTS")
PER_PROCESS = frozenset(_OF_THE_CLUSTER + _OF_THE_PROCESS)
"""Variables that differ between processes or belong to flags; the launcher sets them itself."""


@dataclass(frozen=True, slots=True)
class Tls:
    """Paths of PEM files as they were given, made absolute; ``strict_host`` is the name that peers must prove."""

    ca: str
    cert: str
    key: str
    strict_host: str | None = None


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """A launch that was understood. Ranks count from 0; ``master_port`` is TCP; ``cluster_time_out`` is in seconds.

    sim_level: 0..3 in a dry run (by flag or MS_SIMULATION_LEVEL), else None. sim_rank_id: the one rank to simulate.
    tail: ranks whose log is shown while the run goes on, None = all. log_level: 0 DEBUG .. 4 CRITICAL, None = as it is.
    detach: return after the start (``--detach`` or ``--join False``). notes: what was decided for the user.
    """

    cwd: str
    program: Program
    master: Master
    master_port: int = DEFAULT_PORT
    worker_num: int = DEFAULT_WORKERS
    local_worker_num: int = DEFAULT_WORKERS
    node_rank: int = -1
    log_dir: str | None = None
    cluster_time_out: int = DEFAULT_TIME_OUT_S
    bind_core: Binding = UNBOUND
    bind_numa: Binding = UNBOUND
    sim_level: int | None = None
    sim_rank_id: int | None = None
    rank_table_file: str | None = None
    worker_log_name: str = ""
    tail: tuple[int, ...] | None = None
    log_level: int | None = None
    trace_kernels: bool = False
    tls: Tls | None = None
    backend: Literal["msrun", "direct"] = "msrun"
    python: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    no_env: frozenset[str] = frozenset()
    detach: bool = False
    skip_check: bool = False
    form: Literal["text", "json"] = "text"
    verbose: bool = False
    help: bool = False
    notes: tuple[Finding, ...] = ()

    @property
    def script(self) -> str | None:
        """The absolute path of the script, or None for ``python -m`` and the like."""
        return self.program.script

    @property
    def is_simulation(self) -> bool:
        """A dry run: no scheduler, no devices."""
        return self.sim_level is not None

    @property
    def is_single_node(self) -> bool:
        return self.local_worker_num == self.worker_num

    @property
    def is_master(self) -> bool:
        """Whether this node runs the scheduler."""
        return self.master.is_local and not self.is_simulation

    @property
    def first_rank(self) -> int | None:
        """The first rank of this node; None when MindSpore assigns the ranks itself (several nodes, no node rank)."""
        if self.is_single_node:
            return 0
        return None if self.node_rank < 0 else self.node_rank * self.local_worker_num

    @property
    def log_numbers(self) -> tuple[int, ...]:
        """The numbers in the names of this node's worker logs: ranks, or local indices when the ranks are not known."""
        first = self.first_rank or 0
        return tuple(range(first, first + self.local_worker_num))


def parse_flags(argv: Sequence[str], environ: Mapping[str, str], cwd: str) -> LaunchRequest:
    """Understand ``mswb run``'s arguments.

    Raises:
        MswbError: ``usage`` (exit code 2) with one sentence on what is wrong and one on what to do.
    """
    line = cut(argv)
    flags = _Given(line.values)
    if flags.get("help", False):
        here = Master("127.0.0.1", "127.0.0.1", True)
        return LaunchRequest(cwd, Program((), None), here, help=True, form=_form(flags))
    program = read_program(line.rest, cwd)
    master, port, notes = _master(flags)
    sim_level, sim_rank = _simulation(flags, environ)
    workers, local, more = _worker_numbers(flags, master, sim_level is not None)
    if sim_level is not None:
        local, sim_rank = _simulated(workers, local, sim_rank)
    notes += more + _misplaced(flags, program)
    node_rank, more = _node_rank(flags, workers, local)
    notes += more
    _refuse_blind_master(flags, master, sim_level is not None)
    request = LaunchRequest(
        cwd=cwd,
        program=program,
        master=master,
        master_port=port,
        worker_num=workers,
        local_worker_num=local,
        node_rank=node_rank,
        log_dir=_log_dir(flags, cwd),
        cluster_time_out=flags.get("cluster_time_out", DEFAULT_TIME_OUT_S),
        bind_core=read_binding("core", flags.get("bind_core", "false"), available_cpus(), cwd),
        bind_numa=read_binding("numa", flags.get("bind_numa", "false"), available_numa_nodes(), cwd),
        sim_level=sim_level,
        sim_rank_id=sim_rank,
        rank_table_file=_existing_file(flags, "rank_table_file", cwd),
        worker_log_name=_log_name(flags),
        tail=None,
        log_level=flags.get("log_level", None),
        trace_kernels=flags.get("trace_kernels", False),
        tls=_tls(flags, cwd),
        backend=flags.get("backend", "msrun"),
        python=flags.get("python", None),
        env=_assignments(flags, sim_level is not None),
        no_env=frozenset(flags.get("no_env", [])),
        detach=flags.get("detach", False) or not flags.get("join", True),
        skip_check=flags.get("skip_check", False),
        form=_form(flags),
        verbose=flags.get("verbose", False),
        notes=tuple(notes),
    )
    return _with_tail(request, flags)


class _Given:
    """The values that were given, by flag."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def get(self, name: str, default: _T) -> _T:
        """The value, or ``default`` when the flag was not given. The flag's own reader made it of that type."""
        assert name in FLAGS
        value: _T = self._values.get(name, default)
        return value


def _form(flags: _Given) -> Literal["text", "json"]:
    return "json" if flags.get("format", "text") == "json" else "text"


def _master(flags: _Given) -> tuple[Master, int, list[Finding]]:
    host, port = split_host_port(flags.get("master_addr", "127.0.0.1"))
    given = flags.get("master_port", port)
    chosen = DEFAULT_PORT if given is None else read_port("master_port", str(given))
    notes = []
    if port is not None and port != chosen:
        notes.append(make("master-port-twice", values={"port": chosen, "other": port}))
    return resolve(host), chosen, notes


def _simulation(flags: _Given, environ: Mapping[str, str]) -> tuple[int | None, int | None]:
    """The level and the one rank of a dry run; msrun takes both from the environment too, the flags win."""
    level, rank = flags.get("sim_level", None), flags.get("sim_rank_id", -1)
    from_environ = environ.get("MS_SIMULATION_LEVEL", "").strip()
    if level is None and not from_environ:
        if rank != -1:
            raise refuse("sim-rank-alone")
        return None, None
    if level is None:
        level = int(from_environ) if from_environ in ("0", "1", "2", "3") else -1
    if level not in (0, 1, 2, 3):
        raise refuse("sim-level", value=from_environ if "sim_level" not in flags else level)
    if rank == -1 and environ.get("RANK_ID", "").isdecimal():
        rank = int(environ["RANK_ID"])
    return level, None if rank == -1 else rank


def _simulated(workers: int, local: int, rank: int | None) -> tuple[int, int | None]:
    """How many workers a dry run starts, and which rank when it is one."""
    if rank is not None and not 0 <= rank < workers:
        raise refuse("sim-rank", value=rank, last=workers - 1)
    if rank is None and local > MAX_SIMULATED:
        rank = 0
    return (local if rank is None else 1), rank


def _worker_numbers(flags: _Given, master: Master, simulated: bool) -> tuple[int, int, list[Finding]]:
    workers, local = flags.get("worker_num", DEFAULT_WORKERS), flags.get("local_worker_num", DEFAULT_WORKERS)
    if workers <= 0:
        raise refuse("worker-num", value=workers)
    if local <= 0:
        raise refuse("local-worker-num", value=local)
    notes: list[Finding] = []
    if "local_worker_num" not in flags and _matches_all(workers, master, simulated):
        notes += [_matched("local_worker_num", workers)] if local != workers else []
        local = workers
    elif "worker_num" not in flags and "local_worker_num" in flags and (master.is_loopback or local > workers):
        notes += [_matched("worker_num", local)] if local != workers else []
        workers = local
    if local > workers:
        raise refuse("local-over-total", local=local, total=workers)
    return workers, local, notes


def _matches_all(workers: int, master: Master, simulated: bool) -> bool:
    """Whether all workers must be meant for this node: nobody else can reach a loopback master."""
    return workers < DEFAULT_WORKERS or (master.is_loopback and not simulated)


def _matched(flag: str, value: int) -> Finding:
    return make("worker-number-matched", values={"flag": flag, "value": value})


def _node_rank(flags: _Given, workers: int, local: int) -> tuple[int, list[Finding]]:
    rank = flags.get("node_rank", -1)
    if rank < -1:
        raise refuse("node-rank", value=rank)
    if local == workers:
        ignored = rank > 0
        return rank, [make("node-rank-ignored", values={"node_rank": rank})] if ignored else []
    if (rank + 1) * local > workers:
        raise refuse("node-rank-over", value=rank, first=rank * local, last=(rank + 1) * local - 1, total=workers)
    return rank, []


def _refuse_blind_master(flags: _Given, master: Master, simulated: bool) -> None:
    by_msrun = flags.get("backend", "msrun") == "msrun" and not simulated
    if by_msrun and master.is_local and not msrun_takes_it_for_local(master):
        raise refuse("address-blind", value=master.host, ip=master.ip)


def _misplaced(flags: _Given, program: Program) -> list[Finding]:
    """A flag of ours behind the script goes to the script; that is right for some scripts, and for most a mistake."""
    behind = [name for word in program.words[1:] if (name := spelling(word)) and FLAGS[name].source == "msrun"]
    first = next((name for name in behind if name not in flags), None)
    return [make("flag-after-script", values={"flag": first})] if first else []


def _log_dir(flags: _Given, cwd: str) -> str | None:
    text = flags.get("log_dir", "")
    if not text:
        return None
    path = os.path.normpath(os.path.join(cwd, os.path.expanduser(text)))
    if os.path.exists(path) and not os.path.isdir(path):
        raise refuse("log-dir-file", value=text)
    parent = path
    while not os.path.exists(parent):
        parent = os.path.dirname(parent)
    if not os.path.isdir(parent) or not os.access(parent, os.W_OK | os.X_OK):
        raise refuse("log-dir-unwritable", value=text, parent=parent)
    return path


def _log_name(flags: _Given) -> str:
    name = flags.get("worker_log_name", "")
    if "/" in name or name in (".", ".."):
        raise refuse("log-name", value=name)
    return name


def _existing_file(flags: _Given, flag: str, cwd: str) -> str | None:
    text = flags.get(flag, "")
    if not text:
        return None
    path = os.path.join(cwd, os.path.expanduser(text))
    if not os.path.isfile(path):
        raise refuse("file-absent", flag=flag, value=text)
    if not os.access(path, os.R_OK):
        raise refuse("file-unreadable", flag=flag, path=text, reason="permission denied")
    return os.path.normpath(path)


def _assignments(flags: _Given, simulated: bool) -> dict[str, str]:
    pairs: list[tuple[str, str]] = flags.get("env", [])
    taken = next((name for name, _ in pairs if name in PER_PROCESS), None)
    if taken is not None:
        raise refuse("variable-taken", value=taken)
    both = next((name for name, _ in pairs if name in flags.get("no_env", [])), None)
    if both is not None:
        raise refuse("variable-both", value=both)
    return dict(pairs)


def _tls(flags: _Given, cwd: str) -> Tls | None:
    """The TLS files, checked to exist."""
    paths = ("ssl_ca_path", "ssl_cert_path", "ssl_key_path")
    if not flags.get("enable_ssl", False):
        alone = next((name for name in (*paths, "ssl_strict_host") if name in flags), None)
        if alone is not None:
            raise refuse("ssl-without-enable", flag=alone)
        return None
    missing = next((name for name in paths if name not in flags), None)
    if missing is not None:
        raise refuse("ssl-path-missing", flag=missing)
    ca, cert, key = (_existing_file(flags, name, cwd) or "" for name in paths)
    return Tls(ca, cert, key, flags.get("ssl_strict_host", None))


def _with_tail(request: LaunchRequest, flags: _Given) -> LaunchRequest:
    text = flags.get("tail_worker_log", "-1").strip()
    if text == "-1":
        return request
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdecimal() for word in words):
        raise refuse("tail-not-numbers", value=text)
    ranks = tuple(sorted({int(word) for word in words}))
    known = (request.sim_rank_id,) if request.sim_rank_id is not None else request.log_numbers
    absent = next((rank for rank in ranks if rank not in known), None)
    if absent is not None:
        raise refuse("tail-absent", value=absent, first=known[0], last=known[-1])
    return replace(request, tail=ranks)
