"""Traces: Chrome's JSON in its flavours, and Perfetto's protobuf. A glance at the head tells which."""

from __future__ import annotations

import re

from mswb.files import wire
from mswb.files.items import Guess
from mswb.files.peek import UNKNOWN_SIZE, Peek

_BLANK = b" \t\r\n"
_PHASE = re.compile(rb'"ph"\s*:\s*"[A-Za-z(),=]"')
_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
_KINETO_KEYS = (
    b'"deviceProperties"',
    b'"cat": "cpu_op"',
    b'"cat":"cpu_op"',
    b'"cat": "cuda_runtime"',
    b'"ProfilerStep#',
)
_ASCEND_WORDS = (b'"Ascend Hardware"', b'"CANN"', b'"HCCL"', b'"Overlap Analysis"', b'"async_npu"', b'"HostToDevice')
_CPU_WORDS = (b'"CPU OP"', b'"Scope Layer"')
_NUMBER = re.compile(rb'"ts"\s*:\s*"?(-?\d+(?:\.\d+)?)')
_RANK = re.compile(rb'"distributedInfo"\s*:\s*\{[^}]*"rank"\s*:\s*(\d{1,6})')

# perfetto's TracePacket: the numbers that it keeps beside its one message. Timestamp (8) or sequence (10) is in most.
_PACKET_NUMBERS = frozenset({3, 8, 10, 13, 41, 42, 58, 79, 87, 98})
_PERFETTO_NAMES = (".pftrace", ".perfetto-trace", ".perfetto")


def chrome(peek: Peek) -> Guess | None:
    """A Chrome trace: an array of events, an object with ``traceEvents``, or one event a line."""
    head = peek.head.removeprefix(b"\xef\xbb\xbf").lstrip(_BLANK)
    if head[:1] not in (b"[", b"{"):
        return None
    start = peek.start()
    if head[:1] == b"[":
        return _flavour(peek, start, "an array of events with ph") if _PHASE.search(start) else _bare(peek, head)
    if _EVENTS.search(start):
        return _flavour(peek, start, "an object with traceEvents")
    tail = peek.tail(8192)
    if b'"schemaVersion"' in start and b'"deviceProperties"' in start and (_PHASE.search(tail) or _PHASE.search(start)):
        return _flavour(peek, start, "an object with deviceProperties")
    first = head.split(b"\n", 1)[0]
    if _PHASE.search(first) and _NUMBER.search(first):
        return Guess("chrome-trace", "one event a line", "lines of JSON events with ph and ts")
    if _EVENTS.search(tail) or (_PHASE.search(tail) and _NUMBER.search(tail)):
        return _flavour(peek, start + tail, "an object that ends in events with ph")
    return None


def perfetto(peek: Peek) -> Guess | None:
    """A Perfetto trace: a list of packets, each with fields that only packets have."""
    if peek.head[:1] != b"\x0a" or peek.is_text:
        return None
    top = wire.scan(peek, limit=6)
    if not top.fits({1: wire.BYTES}):
        return None
    packets = [_is_packet(peek, field) for field in top.fields if field.end <= peek.size]
    named = peek.lower.endswith(_PERFETTO_NAMES)
    if not packets or not (all(packets) if not named else any(packets)):
        return None
    cut = "truncated" if top.ending == "past-end" else ""
    return Guess("perfetto-trace", "Perfetto trace packets", "protobuf packets with Perfetto's fields", cut)


def _is_packet(peek: Peek, field: wire.Field) -> bool:
    inside = wire.scan(peek, field.start, field.end, limit=12)
    numbers = {one.number for one in inside.fields if one.wire == wire.VARINT}
    others = {one.wire for one in inside.fields if one.number not in _PACKET_NUMBERS}
    return (
        bool(numbers) and numbers <= _PACKET_NUMBERS and others <= {wire.BYTES} and inside.ending in ("whole", "unread")
    )


def _bare(peek: Peek, head: bytes) -> Guess | None:
    """An empty array is a trace only by its name."""
    if head.rstrip(_BLANK + b"\0") == b"[]" and "trace" in peek.lower:
        return Guess("chrome-trace", "no events", "its name, and an empty array", "empty")
    return None


def _flavour(peek: Peek, start: bytes, form: str) -> Guess:
    kind, words = "chrome-trace", ""
    if any(key in start for key in _KINETO_KEYS):
        kind, words = "kineto-trace", "PyTorch"
    elif any(word in start for word in _CPU_WORDS):
        kind, words = "mindspore-trace", "MindSpore on CPU"
    elif any(word in start for word in _ASCEND_WORDS):
        kind, words = "ascend-trace", "Ascend"
    rank = _RANK.search(start)
    detail = ", ".join(
        part for part in (words, f"rank {int(rank.group(1))}" if rank else "", _extent(peek, start)) if part
    )
    status = "" if _closed(peek) else "truncated"
    return Guess(kind, detail or "events", f"JSON, {form}", status)


def _extent(peek: Peek, start: bytes) -> str:
    """About how many events: their mean length in the head, over the size of the file."""
    count = len(_PHASE.findall(start))
    if not count or peek.size == UNKNOWN_SIZE:
        return ""
    if peek.size <= len(start):
        return f"{count} events"
    return f"about {round(count * peek.size / len(start))} events"


def _closed(peek: Peek) -> bool:
    """Whether the JSON ends as JSON does. An array may lack its bracket by the format's own rule, an event may not."""
    if peek.size == UNKNOWN_SIZE:
        return True
    end = peek.tail(64).rstrip(_BLANK + b"\0,")
    return end.endswith((b"]", b"}")) or not end
