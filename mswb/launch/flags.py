"""The flags of ``mswb run``: those of real msrun 2.10, those of the article, and ours; and how to cut a command line.

Real msrun's are read off ``mindspore/parallel/cluster/run.py`` of 2.10 (types and defaults; its ``--join`` knows only
``True`` and ``False``, ours any case). All flags stand before the script; what follows it is the script's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mswb.launch.usage import refuse

Source = Literal["msrun", "article", "mswb"]
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
"""The words of GLOG_v, in the order of its numbers."""
_OTHER_LEVELS = {"WARN": "WARNING", "FATAL": "CRITICAL", "TRACE": "DEBUG", "VERBOSE": "DEBUG"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag. ``read`` turns its text into a value or raises ``usage``; a ``switch`` takes no value of its own."""

    name: str
    read: Callable[[str, str], Any]
    metavar: str
    source: Source
    help: str
    switch: bool = False
    many: bool = False

    @property
    def usage(self) -> str:
        """``--name METAVAR``, as a help text shows it."""
        return f"--{self.name} {self.metavar}".rstrip()


@dataclass(frozen=True, slots=True)
class Cut:
    """A command line, cut: the values by flag (a list where a flag may repeat), and the script with its arguments."""

    values: Mapping[str, Any]
    rest: tuple[str, ...]


def cut(argv: Sequence[str]) -> Cut:
    """Read the flags in front of the script.

    ``--flag value`` and ``--flag=value`` are the same, ``-`` and ``_`` in a name too; ``--`` ends the flags. Of a flag
    given twice the last one counts, as in msrun.

    Raises:
        MswbError: ``usage`` for an unknown flag, a missing value, or a value of the wrong kind.
    """
    values: dict[str, Any] = {}
    pairs, program = split_flags(argv)
    for flag, text in pairs:
        value = flag.read(flag.name, text)
        values[flag.name] = [*values.get(flag.name, []), value] if flag.many else value
    return Cut(values, program)


def split_flags(argv: Sequence[str]) -> tuple[list[tuple[Flag, str]], tuple[str, ...]]:
    """The flags in front of the script, each with its text as it stands (``true`` for a bare switch); and the rest.

    Raises:
        MswbError: ``usage`` for an unknown flag or a missing value.
    """
    pairs: list[tuple[Flag, str]] = []
    index = 0
    while index < len(argv) and argv[index].startswith("-") and argv[index] not in ("-", "--"):
        flag, text = _flag_of(argv[index])
        if text is None and not flag.switch:
            index += 1
            text = _value_at(argv, index, flag)
        pairs.append((flag, "true" if text is None else text))
        index += 1
    return pairs, tuple(argv[index + 1 :] if index < len(argv) and argv[index] == "--" else argv[index:])


def spelling(token: str) -> str | None:
    """The name of the flag that a token like ``--worker-num=2`` gives, or None when it is none of ours."""
    name = token.partition("=")[0].removeprefix("--").replace("-", "_")
    return name if token.startswith("--") and name in FLAGS else None


def _flag_of(token: str) -> tuple[Flag, str | None]:
    name, equals, text = token.partition("=")
    canonical = SHORT.get(name) or spelling(name)
    if canonical is None:
        raise _unknown(name)
    return FLAGS[canonical], text if equals else None


def _value_at(argv: Sequence[str], index: int, flag: Flag) -> str:
    if index >= len(argv):
        raise refuse("value-missing", flag=flag.name, metavar=flag.metavar)
    if spelling(argv[index]):
        raise refuse("value-is-a-flag", flag=flag.name, metavar=flag.metavar, value=argv[index])
    return argv[index]


def _unknown(name: str) -> Exception:
    from difflib import get_close_matches

    word = name.lstrip("-").replace("-", "_")
    near = (
        get_close_matches(word, FLAGS, 1, 0.6) or [one for one in FLAGS if len(word) > 2 and one.startswith(word)][:1]
    )
    return refuse("flag-unknown-near", flag=name, near=near[0]) if near else refuse("flag-unknown", flag=name)


def _integer(name: str, text: str) -> int:
    # int() also takes 1_000 and digits of other scripts, as msrun does; only plain ones are meant here.
    if not re.fullmatch(r"\s*[+-]?[0-9]{1,12}\s*", text):
        raise refuse("not-a-number", flag=name, value=text)
    return int(text)


def _text(name: str, text: str) -> str:
    if "\0" in text:
        raise refuse("nul-byte", flag=name)
    return text


def _filled(name: str, text: str) -> str:
    if not text.strip():
        raise refuse("value-empty", flag=name)
    return _text(name, text)


def _truth(name: str, text: str) -> bool:
    words = {"true": True, "false": False}
    if text.strip().lower() not in words:
        raise refuse("not-true-or-false", flag=name, value=text)
    return words[text.strip().lower()]


def _level(name: str, text: str) -> int:
    word = text.strip().upper()
    if word in LEVELS:
        return LEVELS.index(word)
    if word in ("0", "1", "2", "3", "4"):
        return int(word)
    from difflib import get_close_matches

    near = get_close_matches(_OTHER_LEVELS.get(word, word), LEVELS, 1, 0.6)
    raise refuse("log-level-near" if near else "log-level", value=text, near=(near or [""])[0])


def _one_of(*words: str) -> Callable[[str, str], str]:
    def read(name: str, text: str) -> str:
        if text.strip().lower() not in words:
            raise refuse("not-one-of", flag=name, value=text, choices=", ".join(words))
        return text.strip().lower()

    return read


def _variable(name: str, text: str) -> str:
    if not _NAME.fullmatch(text):
        raise refuse("variable-name", flag=name, value=text)
    return text


def _assignment(name: str, text: str) -> tuple[str, str]:
    variable, equals, value = text.partition("=")
    if not equals or not _NAME.fullmatch(variable):
        raise refuse("variable-assignment", flag=name, value=text)
    return variable, _text(name, value)


_ALL = (
    Flag(
        "worker_num",
        _integer,
        "N",
        "msrun",
        "Workers of all nodes together (8; when only the local number is given on one node: that).",
    ),
    Flag("local_worker_num", _integer, "N", "msrun", "Workers on this node (8; on one node: as --worker_num)."),
    Flag(
        "master_addr",
        _filled,
        "HOST[:PORT]",
        "msrun",
        "Address or name of the scheduler's node (127.0.0.1); [V6]:PORT for IPv6.",
    ),
    Flag("master_port", _integer, "PORT", "msrun", "Port of the scheduler (8118)."),
    Flag("node_rank", _integer, "N", "msrun", "Number of this node, from 0 (-1: MindSpore assigns the ranks)."),
    Flag(
        "log_dir", _text, "DIR", "msrun", "Folder for the logs (ms_run_log); each run gets a folder of its own in it."
    ),
    Flag("join", _truth, "True|False", "msrun", "False is --detach; msrun itself is always joined."),
    Flag(
        "cluster_time_out",
        _integer,
        "SECONDS",
        "msrun",
        "How long the ranks wait for one another at the start (600; negative: for ever).",
    ),
    Flag(
        "bind_core",
        _text,
        "True|False|JSON",
        "msrun",
        'Bind processes to cores: True, or {"device0":["0-9"],"scheduler":["20"]}.',
    ),
    Flag(
        "bind_numa",
        _text,
        "True|False|JSON|FILE",
        "msrun",
        "Bind processes to NUMA nodes: True, such a table, or a .json file.",
    ),
    Flag("sim_level", _integer, "0..3", "msrun", "Dry run without devices or cluster, at this level."),
    Flag("sim_rank_id", _integer, "N", "msrun", "Dry run of this rank only."),
    Flag("rank_table_file", _text, "FILE", "msrun", "Rank table, exported as RANK_TABLE_FILE."),
    Flag(
        "worker_log_name",
        _text,
        "NAME",
        "msrun",
        "Name of worker logs, with {ip} and {hostname} (worker); _RANK.log is appended.",
    ),
    Flag("tail_worker_log", _text, "N,N", "msrun", "Ranks whose lines are shown (-1: all)."),
    Flag(
        "log_level",
        _level,
        "LEVEL",
        "article",
        "DEBUG, INFO, WARNING, ERROR, CRITICAL or 0 to 4, in any case; sets GLOG_v.",
    ),
    Flag(
        "enable_ssl",
        _truth,
        "",
        "article",
        "Encrypt the cluster's connections, with mutual TLS (not available yet).",
        switch=True,
    ),
    Flag("ssl_ca_path", _filled, "FILE", "article", "CA certificate (PEM)."),
    Flag("ssl_cert_path", _filled, "FILE", "article", "Certificate of this node (PEM)."),
    Flag("ssl_key_path", _filled, "FILE", "article", "Its private key (PEM)."),
    Flag("ssl_strict_host", _filled, "NAME", "mswb", "The name that every certificate must carry."),
    Flag(
        "backend",
        _one_of("msrun", "direct"),
        "msrun|direct",
        "mswb",
        "msrun = the real one (the default), direct = mswb starts scheduler and workers itself.",
    ),
    Flag(
        "python", _filled, "PATH", "mswb", "The training interpreter: a program or the folder of a virtual environment."
    ),
    Flag("env", _assignment, "NAME=VALUE", "mswb", "Set a variable for the processes; may be repeated.", many=True),
    Flag("no_env", _variable, "NAME", "mswb", "Leave a variable out; may be repeated.", many=True),
    Flag("detach", _truth, "", "mswb", "Return after the start; the run goes on.", switch=True),
    Flag("skip_check", _truth, "", "mswb", "Start even when the checks find errors.", switch=True),
    Flag("trace_kernels", _truth, "", "mswb", "Log every kernel launch (VLOG 12901 to 12908).", switch=True),
    Flag("format", _one_of("text", "json"), "text|json", "mswb", "text, or json for programs."),
    Flag("verbose", _truth, "", "mswb", "Show also the lines that every good run writes (-v).", switch=True),
    Flag("help", _truth, "", "mswb", "This text (-h).", switch=True),
)
FLAGS: Mapping[str, Flag] = {flag.name: flag for flag in _ALL}
SHORT: Mapping[str, str] = {"-h": "help", "-v": "verbose"}
