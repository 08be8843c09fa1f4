"""Lines into blocks: the captures whole, and one case for each form that a traceback or a section may take."""

from __future__ import annotations

from pathlib import Path

import pytest

from mswb.launch.logs import Block, BlockReader, blocks, cut_lines, read_lines
from tests.unit.launch.samples import LAUNCH, TRACEBACKS, log_files, rank_log

A = "[WARNING] DISTRIBUTED(11,7fb0319c5e40,python):2026-11-30-04:06:28.118.654 [a.cc:428] Post] text of A\n"
B = "[WARNING] DISTRIBUTED(22,7fb0319c5e40,python):2026-11-30-04:06:29.118.654 [a.cc:428] Post] text of B\n"
ERROR = A.replace("WARNING", "ERROR")
RULE = "-" * 52 + "\n"


def of(text: str) -> list[Block]:
    return list(blocks(text.splitlines(keepends=True) if "\r" not in text else [text]))


def only(kind: str, found: list[Block]) -> Block:
    matching = [block for block in found if block.kind == kind]
    assert len(matching) == 1, [(block.kind, block.text) for block in found]
    return matching[0]


def fixture(name: str) -> list[Block]:
    return list(blocks(read_lines(TRACEBACKS / name)))


@pytest.mark.parametrize("path", log_files(), ids=lambda path: f"{path.parent.parent.name}-{path.name}")
def test_blocks_partition_every_capture(path: Path) -> None:
    found = list(blocks(read_lines(path)))
    lines = sorted((line for block in found for line in block.lines), key=lambda line: line.offset)
    assert b"".join(line.raw for line in lines) == path.read_bytes()
    assert [block.offset for block in found] == sorted(block.offset for block in found)


@pytest.mark.parametrize("path", sorted(LAUNCH.glob("*/msrun_log/*.log")), ids=lambda path: path.parent.parent.name)
def test_no_line_of_a_rank_log_is_misplaced(path: Path) -> None:
    """Frames, rules and Ascend codes always belong to something; free text is what the script or Python printed."""
    for block in blocks(read_lines(path)):
        if block.kind == "text":
            for text in block.texts:
                assert not text.startswith(("  File ", "---", "# 0 In file", "Traceback", "- ", "mindspore/")), text
        if block.traceback is not None:
            assert block.traceback.type and block.traceback.frames


def test_dataset_error_nests_and_the_last_exception_is_the_cause() -> None:
    block = only("traceback", list(blocks(read_lines(LAUNCH / "ds_gen_mp" / "console.txt"))))
    assert block.traceback is not None
    assert (block.number, block.traceback.type) == (5, "RuntimeError")
    assert [section.title for section in block.sections] == [
        "Python Call Stack",
        "Dataset Pipeline Error Message",
        "C++ Call Stack",
    ]
    assert block.sections[2].for_developers and not block.sections[0].for_developers
    root = block.root_exception
    assert root is not None
    assert (root.type, root.message) == ("KeyError", "'sample 17 has no label'")
    assert root.frames[-1] == ("/home/user/project/ds_gen.py", 7, "__getitem__")
    assert block.cpp_frames[0].line == 383


def test_graph_error_is_told_twice_and_both_have_the_same_frames() -> None:
    found = list(blocks(read_lines(rank_log("shape_graph"))))
    error, traceback = (block for block in found if block.sections)
    assert (error.kind, traceback.kind) == ("record", "traceback")
    assert error.cpp_frames == traceback.cpp_frames
    assert traceback.net_frames[0].file == "/home/user/project/shape_err.py"
    assert (traceback.net_frames[0].line, traceback.net_frames[0].source) == (12, "return ops.matmul(y, self.w)")
    assert traceback.message.startswith("RuntimeError: For 'MatMulExt' op, shape1[-1] must be equal")
    assert "Call Stack" not in traceback.message
    assert "analyze_fail.ir" in traceback.text


def test_record_after_the_last_print_keeps_its_section() -> None:
    found = list(blocks(read_lines(rank_log("pynative_async"))))
    assert [block.kind for block in found] == ["text", "record"]
    assert [section.title for section in found[1].sections] == ["C++ Call Stack"]


@pytest.mark.parametrize("python", ["py39", "py313"])
def test_chained_exceptions(python: str) -> None:
    block = only("traceback", fixture(f"{python}_chain.txt"))
    assert block.traceback is not None
    assert (block.traceback.type, block.traceback.message) == ("_queue.Empty", "")
    assert [earlier.type for earlier in block.traceback.earlier] == ["KeyError", "ValueError"]
    assert block.traceback.earlier[0].frames[-1] == ("/home/user/project/chain.py", 2, "load")


def test_exception_group() -> None:
    block = only("traceback", fixture("py313_group.txt"))
    assert block.traceback is not None
    assert (block.traceback.type, block.traceback.message) == ("ExceptionGroup", "two failed (2 sub-exceptions)")
    assert [(inner.type, inner.message) for inner in block.traceback.inner] == [("ValueError", "a")] * 2
    assert block.traceback.inner[0].frames[-1].func == "f"


@pytest.mark.parametrize("python", ["py39", "py313"])
@pytest.mark.parametrize(
    ("case", "head", "kind", "message"),
    [
        ("mp", "Process Process-1", "RuntimeError", "worker broke\nsecond line"),
        ("thr", "Exception in thread Thread-1", "ZeroDivisionError", "division by zero"),
    ],
)
def test_heads_before_a_traceback(python: str, case: str, head: str, kind: str, message: str) -> None:
    block = only("traceback", fixture(f"{python}_{case}.txt"))
    assert block.traceback is not None
    assert block.traceback.process.startswith(head)
    assert (block.traceback.type, block.traceback.message) == (kind, message)


@pytest.mark.parametrize("python", ["py39", "py313"])
def test_syntax_error(python: str) -> None:
    block = only("traceback", fixture(f"{python}_syn.txt"))
    assert block.traceback is not None
    assert block.traceback.type == "SyntaxError"
    assert block.traceback.frames[-1] == ("<string>", 1, "")


@pytest.mark.parametrize("python", ["py39", "py313"])
def test_faulthandler_dump(python: str) -> None:
    found = fixture(f"{python}_segv.txt")
    block = only("fatal", found)
    assert len(found) == 1
    assert [stack.current for stack in block.stacks] == [False, True]
    assert block.stacks[1].frames[1] == ("/home/user/project/segv.py", 4, "crash")
    assert block.stacks[1].thread.startswith("0x")


def test_stacks_on_request_are_not_a_crash() -> None:
    text = 'Current thread 0x00007f (most recent call first):\n  File "/a/t.py", line 3 in wait\n' + A
    found = of(A + text)
    assert [block.kind for block in found] == ["record", "stacks", "record"]
    assert found[1].stacks[0].frames == (("/a/t.py", 3, "wait"),)


def test_record_of_another_process_does_not_end_a_traceback() -> None:
    trace = 'Traceback (most recent call last):\n  File "/a/t.py", line 3, in f\n', "    g()\n", "ValueError: x\n"
    found = of(A + trace[0] + B + trace[1] + B + trace[2] + A)
    assert [block.kind for block in found] == ["record", "traceback", "record", "record", "record"]
    block = found[1]
    assert block.traceback is not None
    assert (block.traceback.type, block.traceback.message) == ("ValueError", "x")
    assert [line.number for line in block.lines] == [2, 3, 5, 7]
    assert block.pid == 11


def test_record_of_another_process_does_not_part_a_traceback_from_its_sections() -> None:
    trace = 'Traceback (most recent call last):\n  File "/a/t.py", line 3, in f\nRuntimeError: x\n\n'
    section = f"{RULE}- C++ Call Stack: (For framework developers)\n{RULE}a/b.cc:43 Check\n"
    found = of(A + trace + B + section)
    block = only("traceback", found)
    assert [section.title for section in block.sections] == ["C++ Call Stack"]
    own = of(A + trace + A + section)
    assert only("traceback", own).sections == ()


def test_a_print_between_the_frames_is_not_the_exception() -> None:
    head = 'Traceback (most recent call last):\n  File "/a/t.py", line 3, in f\n'
    found = of(head + "step 3 loss 0.5 done\n    g()\nKeyError: 1\n")
    assert [block.kind for block in found] == ["traceback", "text"]
    assert found[0].message == "KeyError: 1"


def test_an_interrupted_traceback_ends_after_many_foreign_lines() -> None:
    start = 'Traceback (most recent call last):\n  File "/a/t.py", line 3, in f\n'
    found = of(start + B * 300 + "    late()\n")
    assert found[0].kind == "traceback"
    assert len(found[0].lines) == 2
    assert found[0].message == ""


def test_record_in_mid_line_after_a_progress_bar() -> None:
    found = of("step 3\r" + A)
    assert [block.kind for block in found] == ["text", "record"]
    assert (found[1].number, found[1].offset) == (1, len("step 3\r"))
    assert found[1].record is not None and found[1].record.pid == 11


def test_record_in_mid_line_after_a_print_without_newline() -> None:
    found = of("loading data..." + A)
    assert found[0].text == "loading data..."
    assert found[1].record is not None and found[1].record.text == "text of A"


def test_colour_before_a_record_is_not_a_print() -> None:
    found = of("\x1b[33m" + A.replace("[WARNING]", "[WARNING\x1b[0m]"))
    assert [block.kind for block in found] == ["record"]


def test_progress_bar_shows_its_last_state() -> None:
    found = of(" 10%|#\r 50%|#####\r100%|##########\n")
    assert [block.text for block in found] == ["100%|##########"]


def test_dataset_error_body_is_no_record() -> None:
    text = f"RuntimeError: x\n\n{RULE}- Dataset Pipeline Error Message: \n{RULE}[ERROR] Invalid file:\n    /data/a\n\n"
    found = of("Traceback (most recent call last):\n" + '  File "a", line 1, in f\n' + text)
    assert len(found) == 1
    assert found[0].sections[0].lines == ("[ERROR] Invalid file:", "    /data/a")


def test_continuation_lines_stay_with_their_record_and_prints_do_not() -> None:
    found = of(
        ERROR + "Line of code : 301\nFile         : a.cc\n\n" + A + "rank id: 1\n" + A + "hello\n" + A + "  more\n"
    )
    assert [(block.kind, len(block.lines)) for block in found] == [
        ("record", 4),
        ("record", 1),
        ("text", 1),
        ("record", 1),
        ("text", 1),
        ("record", 2),
    ]


def test_a_line_of_dashes_is_no_section() -> None:
    found = of(f"{RULE}| table |\n{RULE}")
    assert [block.kind for block in found] == ["text"]


@pytest.mark.parametrize("head", ["", "Ascend Error Message: "])
def test_ascend_codes(head: str) -> None:
    found = of(f"{A}{head}EI0006: [PID: 5] 2024 Getting socket times out.\n        Solution: 1. check\nEZ9999: inner\n")
    assert [block.ascend_code for block in found] == [None, "EI0006", "EZ9999"]
    assert len(found[1].lines) == 2


def test_ascend_section_belongs_to_its_exception() -> None:
    text = (
        'Traceback (most recent call last):\n  File "a", line 1, in f\nRuntimeError: Call rt failed\n\n'
        f"{RULE}- Ascend Error Message:\n{RULE}EI0002: Notify timed out.\n    Solution: x\n\n(Please search CANN)\n\n"
    )
    found = of(text + A)
    assert [block.kind for block in found] == ["traceback", "record"]
    assert found[0].sections[0].lines[-1] == "(Please search CANN)"


def test_frames_that_stand_alone() -> None:
    found = of(
        "# 0 In file /a/n.py:12, 15~36\n        return x\n               ^\nhello\nmindspore/core/a.cc:43 Check\n"
    )
    assert [block.kind for block in found] == ["net-frames", "text", "cpp-frames"]


def test_a_log_that_ends_in_mid_traceback() -> None:
    found = of('Traceback (most recent call last):\n  File "/a/t.py", line 3, in f\n    g(')
    assert found[0].traceback is not None
    assert (found[0].traceback.type, found[0].message) == ("", "")


def test_reading_may_start_in_mid_file() -> None:
    found = list(blocks([A, B], number=100, offset=5000))
    assert [(block.number, block.offset) for block in found] == [(100, 5000), (101, 5000 + len(A))]


def test_an_endless_line_is_cut_and_counted_once() -> None:
    raw = b"x" * (3 << 20) + b"\n"
    lines = list(cut_lines([raw, A.encode()]))
    assert [line.number for line in lines] == [1, 1, 1, 1, 2]
    assert max(len(line.raw) for line in lines) == 1 << 20


def test_an_endless_block_is_cut() -> None:
    found = of(A + "  continuation\n" * 10_000)
    assert max(len(block.lines) for block in found) == 4000
    assert sum(len(block.lines) for block in found) == 10_001


@pytest.mark.parametrize("name", ["ds_gen_mp", "hang_sigINT", "py_gather"])
def test_reading_line_by_line_gives_the_same(name: str) -> None:
    path = LAUNCH / name / "console.txt"
    reader = BlockReader()
    fed = [block for line in cut_lines(read_lines(path)) for block in reader.feed(line)]
    assert [*fed, *reader.finish()] == list(blocks(read_lines(path)))


def test_gbk_and_broken_bytes_are_read() -> None:
    found = list(blocks(["损失: 0.5\n".encode("gbk"), b"\xff\xfe broken\n", b"\xef\xbb\xbf" + A.encode()]))
    assert found[0].texts == ["损失: 0.5", "\\xff\\xfe broken"]
    assert found[1].kind == "record"
