"""What a span is, by the track it lies on, its category and its name: the rules for all formats as tables.

Sources of the names: the track rules of MindSpore, CANN, PyTorch (Kineto) and the older MindInsight files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mswb.profile.timeline import Role, Track

COMMUNICATION = re.compile(
    r"(?:nccl|hccl|hcom|HostAll|Host(?:Reduce|Broadcast)|All(?:Reduce|Gather|ToAll|to|$)|all_?(?:reduce|gather|to_?all)"
    r"|ReduceScatter|reduce_?scatter|Send\b|Receive\b|Broadcast(?:$|[-_]\d|_op)|c10d::)",
)
"""Names of collectives and transfers between devices."""
_ALL = re.compile(r"All[A-Z0-9_]")
DATA = re.compile(r"(?:.*/)?(?:GetNext|InitDataSetQueue|DataQueue|data_queue|QueueDataset)", re.I)
"""Names of the operators by which a device takes the next batch."""
COPY = re.compile(r"(?:mem(?:cpy|set)|cu(?:da)?mem(?:cpy|set)|MEMCPY|memory_?copy|TensorMove$|aclrtmemcpy)", re.I)
SYNC = re.compile(
    r"(?:cuda|hip)(?:Device|Stream|Event)Synchronize|aclrtSynchronize|(?:Stream|Device)Synchronize|synchronize(?:Stream|Device)",
    re.I,
)
STEP = re.compile(r"(?:ProfilerStep#|Iteration |Iteration#|step[ _#]?)\d+$", re.I)

BY_CATEGORY = {
    "kernel": Role.COMPUTE,
    "Kernel": Role.COMPUTE,
    "gpu_memcpy": Role.COPY,
    "gpu_memset": Role.COPY,
    "Memcpy": Role.COPY,
    "Memset": Role.COPY,
    "gpu_user_annotation": Role.OVERLAY,
    "gpu_op": Role.COMPUTE,
    "cuda_sync": Role.OVERLAY,
    "cpu_op": Role.HOST,
    "operator": Role.HOST,
    "user_annotation": Role.HOST,
    "cuda_runtime": Role.HOST,
    "cuda_driver": Role.HOST,
    "Runtime": Role.HOST,
    "python_function": Role.HOST,
    "Trace": Role.OVERLAY,
    "ac2g": Role.OVERLAY,
}
"""Categories that say by themselves where a span ran (Kineto writes them)."""

_PROCESS = (
    (re.compile(r"Overlap Analysis|Scope Layer", re.I), Role.OVERLAY),
    (re.compile(r"Ascend Hardware|CPU OP$|Device\b|GPU \d|NPU \d|^GPU|^NPU|\bstream\b|/device:", re.I), Role.COMPUTE),
    (re.compile(r"^(?:HCCL|Communication)\b", re.I), Role.COMMUNICATION),
    (re.compile(r"Step Trace|^Spans$|^Traces$", re.I), Role.OVERLAY),
)
"""Processes by their names; every other named one is of the host."""
_THREAD = (
    (re.compile(r"Plane \d", re.I), Role.OVERLAY),
    (re.compile(r"^(?:stream|Stream)[ #]?\d", re.I), Role.COMPUTE),
)
"""Threads by their names; they go before the process. Planes are the parts of a collective, which its group holds."""


def track_role(track: Track, named: bool) -> Role:
    """What lies on a track, before categories and names are looked at.

    Args:
        named: whether any track of the trace has a name; in a trace without names everything is one device.
    """
    for rules, text in ((_THREAD, track.thread_name or track.thread), (_PROCESS, track.process_name or track.process)):
        for pattern, role in rules:
            if pattern.search(text):
                return role
    return Role.HOST if named else Role.COMPUTE


def roles(
    track: npt.NDArray[np.int32],
    category: npt.NDArray[np.int16],
    name: npt.NDArray[np.int32],
    tracks: Sequence[Track],
    categories: Sequence[str],
    names: Sequence[str],
) -> npt.NDArray[np.uint8]:
    """The role of every span; ``track``, ``category`` and ``name`` are codes into the sequences."""
    named = any(one.process_name or one.thread_name for one in tracks) or any(one in BY_CATEGORY for one in categories)
    base = np.array([int(track_role(one, named)) for one in tracks] or [0], np.uint8)[track]
    known = np.array([BY_CATEGORY.get(one, 255) for one in categories] or [255], np.uint8)[category]
    role = np.where(known == 255, base, known).astype(np.uint8)
    special = np.array([_by_name(one) for one in names] or [255], np.uint8)[name]
    on_device = (role == Role.COMPUTE) | (role == Role.COPY)
    for found in (Role.COMMUNICATION, Role.DATA, Role.COPY):
        role[on_device & (special == found)] = found
    role[(role == Role.HOST) & (special == Role.SYNC)] = Role.SYNC
    role[((role == Role.HOST) | (role == Role.OVERLAY)) & (special == Role.STEP)] = Role.STEP
    return role


def _by_name(name: str) -> int:
    """The role that a name has on a track where it can have one; 255 for none."""
    last = name.rpartition("/")[2]
    if COMMUNICATION.match(last) or _ALL.match(last) or COMMUNICATION.match(name):
        return Role.COMMUNICATION
    for pattern, role in ((DATA, Role.DATA), (COPY, Role.COPY), (SYNC, Role.SYNC), (STEP, Role.STEP)):
        if pattern.match(last) or pattern.match(name):
            return role
    return 255
