"""No text breaks the grammar, and no line is lost or doubled, whatever the order."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.launch.logs import blocks
from mswb.launch.sections import read_sections, render_article
from mswb.launch.tracebacks import parse_stacks, parse_traceback

RULE = "-" * 52
_LINES = st.sampled_from(
    [
        "[WARNING] ME(1,7f,python):2026-11-30-04:06:28.118.654 [a.cc:4] Run] text",
        "[ERROR] ME(2,7f,python):2026-11-30-04:06:29.118.654 [a.cc:4] Run] failed:",
        "[V12902] ME(2,7f,python):2026-11-30-04:06:29.118.654 [a.cc:4] Run] Begin launch kernel: Add",
        "[INFO] PIPELINE(2,7f,python):2026-11-30-04:06:29.118.654 [a.cc:4] Run] Status record: start optimize action.",
        "Traceback (most recent call last):",
        "  + Exception Group Traceback (most recent call last):",
        "    | Traceback (most recent call last):",
        '  File "/a/b.py", line 3, in f',
        "    g()",
        "    ^^^",
        "KeyError: Traceback (most recent call last):",
        "ValueError: x",
        "During handling of the above exception, another exception occurred:",
        "Process Foo-1:",
        "Fatal Python error: Segmentation fault",
        "Current thread 0x00007f (most recent call first):",
        '  File "/a/b.py", line 3 in f',
        RULE,
        "- C++ Call Stack: (For framework developers)",
        "- Python Call Stack:",
        "mindspore/core/a.cc:43 Check",
        "# 0 In file /a/b.py:12, 15~36",
        "EI0006: timed out",
        "[ERROR] Invalid file",
        "step 3 loss 0.5",
        "",
        "[GRAPH_BUILD] GraphId: 1, NodeCount: 2 [GRAPH_BUILD] Failed at Pass: A, Reason: b, c",
        "[KERNEL_LAUNCH] Kernel: A, Duration: 3us",
    ]
)
_ANY_LINE = _LINES | st.text(max_size=30) | st.binary(max_size=30)
_END = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\r", b""])


def _lines(data: bytes) -> list[bytes]:
    return re.findall(rb"[^\n]*\n|[^\n]+", data)


def _bytes(pieces: list[tuple[str | bytes, bytes]]) -> bytes:
    return b"".join((text.encode("utf-8", "replace") if isinstance(text, str) else text) + end for text, end in pieces)


@settings(max_examples=400)
@given(st.lists(st.tuples(_ANY_LINE, _END), max_size=40))
def test_blocks_partition_any_input(pieces: list[tuple[str | bytes, bytes]]) -> None:
    data = _bytes(pieces)
    found = list(blocks(_lines(data)))
    lines = sorted((line for block in found for line in block.lines), key=lambda line: line.offset)
    assert b"".join(line.raw for line in lines) == data
    assert [line.offset for line in lines] == [sum(len(line.raw) for line in lines[:at]) for at in range(len(lines))]
    assert [block.offset for block in found] == sorted(block.offset for block in found)


@given(st.lists(st.tuples(_ANY_LINE, _END), max_size=40))
def test_every_view_of_a_block_can_be_asked(pieces: list[tuple[str | bytes, bytes]]) -> None:
    found = tuple(blocks(_lines(_bytes(pieces))))
    for block in found:
        assert isinstance(block.message, str)
        assert (block.root_exception is None) or block.traceback is not None or block.sections
        assert len(block.cpp_frames) + len(block.net_frames) <= len(block.lines)
        assert block.ascend_code is None or block.kind == "ascend"
    assert all(isinstance(line, str) for line in render_article(read_sections(found)))


@given(st.lists(_LINES | st.text(max_size=30), max_size=30))
def test_any_lines_as_traceback_or_stack(lines: list[str]) -> None:
    parse_traceback(lines)
    parse_stacks(lines)


@given(st.text(max_size=200))
def test_text_lines_are_taken_as_well_as_bytes(text: str) -> None:
    lines = text.replace("\r", "").splitlines(keepends=True)
    encoded = [line.encode("utf-8", "surrogatepass") for line in lines]
    assert list(blocks(lines)) == list(blocks(encoded))


@pytest.mark.parametrize(
    "line",
    [
        b"\x1b[0m" * 300_000,
        b"\x1b[[" * 300_000,
        b"[" * 1_000_000,
        b"[ERROR] ME(1,2," * 60_000,
        b"Thread [" + b"]" * 1_000_000,
        b"- A" + b" " * 1_000_000 + b"x",
        b" " * 1_000_000 + b"x",
        b"a." * 500_000,
        b"Exception in thread " + b": " * 500_000 + b"x",
        b"Process " + b"1-" * 500_000,
        b"epoch 1 step 2 " * 60_000,
        b"[GRAPH_BUILD] A: [" + b"(,'" * 300_000,
        b"a/b.cc" * 160_000,
        b"\r" * 1_000_000,
    ],
    ids=lambda line: repr(line[:12]),
)
def test_no_line_takes_longer_than_its_length_allows(line: bytes) -> None:
    """A quadratic pattern would take hours here; pytest's own limit ends it."""
    trace = b'Traceback (most recent call last):\n  File "a", line 1, in f\n'
    rule = b"-" * 52 + b"\n"
    data = line + b"\n" + trace + line + b"\n" + rule + line + b"\n" + rule
    found = tuple(blocks(_lines(data)))
    assert sum(len(part.raw) for block in found for part in block.lines) == len(data)
    read_sections(found)
