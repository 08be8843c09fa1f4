"""One event of a Chrome trace as the decoder gives it, and the lenient way for events that are no strict JSON.

Format: the public "Trace Event Format" document; what real tools write beside it is told where it is handled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

Id = int | float | str | None
"""What stands for a process, thread or flow: tools write numbers and words."""

RAW = msgspec.Raw(b"")


class Event(msgspec.Struct, gc=False):
    """The fields that are read of any event. ``ts`` and ``dur`` keep their digits, ``args`` its text."""

    ph: str = ""
    name: Id = None
    cat: Id = None
    pid: Id = None
    tid: Id = None
    ts: msgspec.Raw = RAW
    dur: msgspec.Raw = RAW
    id: Id = None
    bp: Id = None
    args: msgspec.Raw = RAW


EVENTS = msgspec.json.Decoder(list[Event])
_ONE = msgspec.json.Decoder(Event)
_LENIENT = json.JSONDecoder(strict=False)
_DEEPEST = 200
"""Nesting of one event's JSON that the lenient decoder is let loose on."""


def one(data: bytes) -> Event | None:
    """One event, strictly; None when it is none, which what has no phase is."""
    try:
        found = _ONE.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return found if found.ph else None


def lenient(data: bytes) -> tuple[Event, int] | None:
    """One event with NaN, raw control characters or broken UTF-8 in it, and how many bytes it takes."""
    if data.count(b"{") + data.count(b"[") > _DEEPEST:
        return None
    text = data.decode("utf-8", "surrogateescape")
    try:
        value, end = _LENIENT.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("ph"), str):
        return None
    return _event(value), len(text[:end].encode("utf-8", "surrogateescape"))


def _event(value: Mapping[str, Any]) -> Event:
    def raw(name: str) -> msgspec.Raw:
        found = value.get(name)
        return msgspec.Raw(json.dumps(found).encode()) if found is not None else RAW

    def plain(name: str) -> Id:
        found = value.get(name)
        if isinstance(found, str):
            return found.encode("utf-8", "replace").decode("utf-8")
        return found if isinstance(found, (int, float)) and not isinstance(found, bool) else None

    named = {name: plain(name) for name in ("name", "cat", "pid", "tid", "id", "bp")}
    return Event(ph=value["ph"], ts=raw("ts"), dur=raw("dur"), args=raw("args"), **named)
