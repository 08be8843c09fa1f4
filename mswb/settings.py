"""Settings: configuration file and environment, frozen, each value with its source; and every directory we use.

Order, strongest first: environment variable, ``config.toml``, built-in default. Command-line options are applied by
the faces on top. The file lies at ``$MSWB_CONFIG`` or ``$XDG_CONFIG_HOME/mswb/config.toml``.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mswb.findings import Where, parse_toml, stop


@dataclass(frozen=True, slots=True)
class Setting:
    """One value and where it comes from: ``default``, ``environment NAME`` or ``FILE``."""

    value: Any
    source: str


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of this process, read once at its start."""

    entries: Mapping[str, Setting]
    config_file: Path
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The tables of the configuration file (``[keys]``, ``[notify]``, ``[progress]``), for whoever owns each."""

    def __getitem__(self, name: str) -> Any:
        return self.entries[name].value

    @property
    def state_dir(self) -> Path:
        """Where runs and indexes are kept. MSWB_STATE_DIR serves hosts whose home is a slow or shared NFS."""
        return Path(self["state_dir"])

    @property
    def runs_dir(self) -> Path:
        return self.state_dir / "runs"

    @property
    def python(self) -> str | None:
        """The training interpreter that was configured, or None to search for one."""
        value = self["python"]
        return str(value) if value else None


def _seconds(value: Any) -> float:
    number = float(value)
    if not 0 <= number < 1e9:
        raise ValueError(f"{value!r} is not a number of seconds")
    return number


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a text")
    return value


@dataclass(frozen=True, slots=True)
class _Known:
    """A setting we know: its environment variable, how to read it, its default from the environment."""

    variable: str
    read: Callable[[Any], Any]
    default: Callable[[Mapping[str, str]], Any]


def _switch(value: Any) -> bool:
    words = {"1": True, "true": True, "on": True, "yes": True, "0": False, "false": False, "off": False, "no": False}
    known = words.get(str(value).strip().lower())
    if known is None:
        raise ValueError(f"{value!r} is neither true nor false")
    return known


def _state_home(env: Mapping[str, str]) -> str:
    base = env.get("XDG_STATE_HOME") or os.path.join(_home(env), ".local", "state")
    return os.path.join(base, "mswb")


def _home(env: Mapping[str, str]) -> str:
    return env.get("HOME") or os.path.expanduser("~")


KNOWN: Mapping[str, _Known] = {
    "state_dir": _Known("MSWB_STATE_DIR", lambda value: os.path.abspath(os.path.expanduser(_text(value))), _state_home),
    "python": _Known("MSWB_PYTHON", _text, lambda env: ""),
    "lang": _Known("MSWB_LANG", _text, lambda env: ""),
    "theme": _Known("MSWB_THEME", _text, lambda env: ""),
    "log_dir": _Known("MSWB_LOG_DIR", _text, lambda env: "ms_run_log"),
    "silence_s": _Known("MSWB_SILENCE_S", _seconds, lambda env: 60.0),
    "stop_grace_s": _Known("MSWB_STOP_GRACE_S", _seconds, lambda env: 5.0),
    "compile_cache": _Known("MSWB_COMPILE_CACHE", _switch, lambda env: False),
}


def config_path(env: Mapping[str, str]) -> Path:
    """The configuration file that applies, whether or not it exists."""
    if env.get("MSWB_CONFIG"):
        return Path(env["MSWB_CONFIG"]).expanduser()
    base = env.get("XDG_CONFIG_HOME") or os.path.join(_home(env), ".config")
    return Path(base) / "mswb" / "config.toml"


def load_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings that apply to this process.

    Raises:
        MswbError: ``config-invalid`` naming the file and key, for a broken file, an unknown key or a bad value.
    """
    env = os.environ if environ is None else environ
    path = config_path(env)
    table = _read_config(path)
    for name in table:
        if name not in KNOWN and not isinstance(table[name], dict):  # tables have owners of their own
            raise _invalid(name, f"{path} has no such setting; known: {', '.join(KNOWN)}", path)
    entries = {name: _resolve(name, known, env, table, path) for name, known in KNOWN.items()}
    return Settings(entries, path, {name: value for name, value in table.items() if isinstance(value, dict)})


def host_name() -> str:
    """This host's name as runs record it."""
    return socket.gethostname()


def boot_id() -> str:
    """Changes at every boot, so a pid recorded before it is known to be gone. Empty where the kernel has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _resolve(name: str, known: _Known, env: Mapping[str, str], table: Mapping[str, Any], path: Path) -> Setting:
    if env.get(known.variable):
        raw, source = env[known.variable], f"environment {known.variable}"
    elif name in table:
        raw, source = table[name], str(path)
    else:
        return Setting(known.default(env), "default")
    try:
        return Setting(known.read(raw), source)
    except (TypeError, ValueError) as problem:
        raise _invalid(name, f"{problem} (from {source})", path) from None


def _read_config(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as problem:
        raise _invalid(str(path), str(problem), path) from None
    try:
        return parse_toml(text)
    except ValueError as problem:
        raise _invalid(str(path), str(problem), path) from None


def _invalid(name: str, reason: str, path: Path) -> Exception:
    return stop("config-invalid", where=Where(file=str(path)), values={"name": name, "reason": reason})
