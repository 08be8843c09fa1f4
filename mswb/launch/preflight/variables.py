"""Environment variables with values that MindSpore or CANN would refuse, or silently misread.

Ranges: MindSpore's env_var_list and the CANN environment reference; a GLOG_v that is no level ends every rank at
``import mindspore``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mswb.findings import Finding, Severity, make
from mswb.launch.environment import EnvOverlay

RANGES = {
    "GLOG_v": (0, 4),
    "GLOG_stderrthreshold": (0, 4),
    "GLOG_logtostderr": (0, 1),
    "MS_EXCEPTION_DISPLAY_LEVEL": (0, 1),
    "HCCL_CONNECT_TIMEOUT": (120, 7200),
    "HCCL_EXEC_TIMEOUT": (0, 2147483647),
    "HCCL_IF_BASE_PORT": (1024, 65520),
    "HCCL_BUFFSIZE": (1, 2147483647),
    "HCCL_WHITELIST_DISABLE": (0, 1),
    "ASCEND_GLOBAL_LOG_LEVEL": (0, 4),
    "ASCEND_SLOG_PRINT_TO_STDOUT": (0, 1),
    "MS_NODE_TIMEOUT": (1, 2147483647),
}
"""Whole numbers, lowest and highest; HCCL's times are in seconds, HCCL_BUFFSIZE in MB."""
_FATAL = {"GLOG_v", "GLOG_logtostderr"}
_NEEDS = (("GLOG_logtostderr", "0", "GLOG_log_dir"), ("HCCL_WHITELIST_DISABLE", "0", "HCCL_WHITELIST_FILE"))


def check(overlay: EnvOverlay) -> Iterator[Finding]:
    """Numbers outside their range, and variables that need another one."""
    environ = overlay.environ()
    for name, (low, high) in RANGES.items():
        value = environ.get(name)
        if value is not None and not _within(value, low, high):
            values = {"name": name, "value": value, "low": low, "high": high}
            yield make("variable-out-of-range", severity=_severity(name), values=values)
    for name, value, needed in _NEEDS:
        if environ.get(name) == value and not environ.get(needed):
            values = {"name": name, "value": value, "needed": needed}
            yield make("variable-incomplete", severity=_severity(name), values=values)


def _severity(name: str) -> Severity:
    return "error" if name in _FATAL else "warning"


def _within(text: str, low: int, high: int) -> bool:
    return re.fullmatch(r"[0-9]{1,10}", text) is not None and low <= int(text) <= high
