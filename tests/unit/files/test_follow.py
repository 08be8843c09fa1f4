"""Following one file: every way in which it may change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mswb.files import follow
from mswb.files.follow import Block, Follower, last_state
from mswb.findings import MswbError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "worker_0.log"


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def text(blocks: list[Block]) -> bytes:
    return b"".join(block.data for block in blocks)


def test_a_missing_file_is_waited_for(path: Path) -> None:
    follower = Follower(path)
    assert follower.poll() == []
    append(path, b"first\n")
    assert follower.poll() == [Block(b"first\n", 0)]
    assert follower.poll() == []


def test_an_unfinished_line_is_held_back_and_shown_as_partial(path: Path) -> None:
    append(path, b"one\ntw")
    follower = Follower(path)
    assert follower.poll() == [Block(b"one\n", 0)]
    assert follower.partial == b"tw"
    append(path, b"o\nthree\n")
    assert follower.poll() == [Block(b"two\nthree\n", 4)]
    assert follower.partial == b""


def test_a_progress_bar_shows_its_last_state(path: Path) -> None:
    follower = Follower(path)
    append(path, b"\r 10%|#  |\r 20%|## |")
    assert follower.poll() == []
    assert follower.partial == b" 20%|## |"
    append(path, b"\r100%|###|\n")
    [block] = follower.poll()
    assert block.data.count(b"\r") == 3
    assert last_state(block.data) == b"100%|###|\n"


@pytest.mark.parametrize(
    ("line", "state"),
    [
        (b"plain\n", b"plain\n"),
        (b"windows\r\n", b"windows\n"),
        (b"a\rb", b"b"),
        (b"a\rb\r", b"b"),
        (b"\r", b""),
        (b"", b""),
        (b"\n", b"\n"),
    ],
)
def test_last_state(line: bytes, state: bytes) -> None:
    assert last_state(line) == state


def test_truncation_begins_anew(path: Path) -> None:
    append(path, b"old line\nunfini")
    follower = Follower(path)
    follower.poll()
    path.write_bytes(b"new\n")
    assert follower.poll() == [Block(b"unfini", 9), Block(b"new\n", 0, "truncated")]


def test_truncation_to_nothing_is_told_at_once(path: Path) -> None:
    append(path, b"old\n")
    follower = Follower(path)
    follower.poll()
    path.write_bytes(b"")
    assert follower.poll() == [Block(b"", 0, "truncated")]
    append(path, b"new\n")
    assert follower.poll() == [Block(b"new\n", 0)]


def test_a_file_cut_and_grown_past_the_old_offset_is_noticed(path: Path) -> None:
    append(path, b"old\n")
    follower = Follower(path)
    follower.poll()
    path.write_bytes(b"new content that is longer\n")
    assert follower.poll() == [Block(b"new content that is longer\n", 0, "truncated")]


def test_regrowth_with_the_same_first_lines_is_noticed_by_the_last_ones(path: Path) -> None:
    banner = b"banner " * 60 + b"\n"
    append(path, banner + b"old end\n")
    follower = Follower(path)
    follower.poll()
    path.write_bytes(banner + b"another end, longer\n")
    assert follower.poll() == [Block(banner + b"another end, longer\n", 0, "truncated")]


def test_regrowth_to_the_same_size_is_noticed(path: Path) -> None:
    append(path, b"aaaa\n")
    follower = Follower(path)
    follower.poll()
    path.write_bytes(b"bbbb\n")
    assert follower.poll() == [Block(b"bbbb\n", 0, "truncated")]


@pytest.mark.parametrize("hold", [True, False])
def test_rotation_drains_the_old_file_first(path: Path, hold: bool) -> None:
    append(path, b"one\n")
    follower = Follower(path, hold=hold)
    follower.poll()
    append(path, b"two\nhal")
    os.rename(path, f"{path}.1")
    append(path, b"fresh\n")
    assert follower.poll() == [Block(b"two\n", 4), Block(b"hal", 8), Block(b"fresh\n", 0, "rotated")]


def test_a_renamed_file_is_followed_until_a_new_one_appears(path: Path) -> None:
    append(path, b"one\n")
    follower = Follower(path)
    follower.poll()
    moved = Path(f"{path}.1")
    os.rename(path, moved)
    append(moved, b"late\n")
    assert text(follower.poll()) == b"late\n"
    append(path, b"new\n")
    assert follower.poll() == [Block(b"new\n", 0, "rotated")]


def test_atomic_replacement(path: Path) -> None:
    append(path, b"one\n")
    follower = Follower(path)
    follower.poll()
    other = path.with_suffix(".tmp")
    other.write_bytes(b"other\n")
    os.replace(other, path)
    assert follower.poll() == [Block(b"other\n", 0, "replaced")]


def test_deletion_and_recreation(path: Path) -> None:
    append(path, b"one\n")
    follower = Follower(path)
    follower.poll()
    path.unlink()
    assert follower.poll() == []
    append(path, b"again\n")
    assert follower.poll() == [Block(b"again\n", 0, "replaced")]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"nul\x00\x00bytes\n", id="NUL"),
        pytest.param("中文日志\n".encode("gbk"), id="GBK"),
        pytest.param(b"\xef\xbb\xbfbom\n", id="BOM"),
        pytest.param(b"\xff\xfe bad utf-8 \x80\n", id="invalid UTF-8"),
        pytest.param(b"\x1b]52;c;ZXZpbA==\x07\x1b[2J\n", id="escape sequences"),
    ],
)
def test_bytes_are_passed_on_as_they_are(path: Path, content: bytes) -> None:
    append(path, content)
    assert Follower(path).poll() == [Block(content, 0)]


def test_a_very_long_line_comes_in_pieces_of_bounded_size(path: Path) -> None:
    size = 100_000_000
    with path.open("wb") as file:
        file.truncate(size)
        file.seek(size)
        file.write(b"end\nnext\n")
    follower = Follower(path)
    pieces, largest, offset = 0, 0, 0
    while blocks := follower.poll():
        for block in blocks:
            assert block.offset == offset
            offset += len(block.data)
            largest = max(largest, len(block.data))
            pieces += block.unfinished
    assert offset == size + len(b"end\nnext\n")
    assert largest <= follow.MAX_CARRY + follow.CHUNK
    assert pieces > 20
    assert follower.partial == b""


def test_an_endless_progress_bar_is_cut_between_states(path: Path) -> None:
    state = b"\r" + b"#" * 999
    append(path, state * (3 * follow.MAX_CARRY // len(state)))
    follower = Follower(path)
    blocks = follower.poll()
    assert blocks and all(block.unfinished and block.data.endswith(b"\r") for block in blocks)
    assert follower.partial == b"#" * 999


def test_a_poll_stops_at_its_limit_and_says_so(path: Path) -> None:
    append(path, b"x" * 99 + b"\n")
    append(path, (b"x" * 99 + b"\n") * (3 * follow.CHUNK // 100))
    follower = Follower(path)
    first = follower.poll(limit=follow.CHUNK)
    assert follower.behind
    assert len(text(first)) <= follow.CHUNK
    rest = text(follower.poll())
    assert not follower.behind
    assert text(first) + rest == path.read_bytes()


def test_start_at_the_end_keeps_the_unfinished_line_whole(path: Path) -> None:
    append(path, b"past\nunfini")
    follower = Follower(path, start="end")
    assert follower.poll() == []
    assert follower.partial == b"unfini"
    append(path, b"shed\n")
    assert follower.poll() == [Block(b"unfinished\n", 5)]


def test_start_at_the_end_of_a_missing_file_reads_all_of_it(path: Path) -> None:
    follower = Follower(path, start="end")
    append(path, b"first\n")
    assert follower.poll() == [Block(b"first\n", 0)]


def test_start_at_an_offset(path: Path) -> None:
    append(path, b"past\nnow\n")
    assert Follower(path, start=5).poll() == [Block(b"now\n", 5)]


def test_start_behind_the_end_means_the_file_was_cut(path: Path) -> None:
    append(path, b"short\n")
    assert Follower(path, start=1000).poll() == [Block(b"short\n", 0, "truncated")]


def test_finish_hands_out_the_unfinished_line(path: Path) -> None:
    append(path, b"one\nlast words")
    assert Follower(path).finish() == [Block(b"one\n", 0), Block(b"last words", 4)]


def test_closed_followers_go_on_where_they_ended(path: Path) -> None:
    append(path, b"one\n")
    follower = Follower(path)
    follower.poll()
    follower.close()
    append(path, b"two\n")
    assert follower.poll() == [Block(b"two\n", 4)]


def test_without_hold_no_descriptor_stays_open(path: Path) -> None:
    append(path, b"one\n")
    before = len(os.listdir("/proc/self/fd"))
    follower = Follower(path, hold=False)
    assert text(follower.poll()) == b"one\n"
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe.log"
    os.mkfifo(fifo)
    with pytest.raises(MswbError) as caught:
        Follower(fifo).poll()
    assert caught.value.finding.code == "path-unreadable"


def test_the_old_file_is_drained_even_when_the_new_one_is_refused(path: Path) -> None:
    append(path, b"one\n")
    follower = Follower(path)
    follower.poll()
    append(path, b"two\n")
    os.rename(path, f"{path}.1")
    os.mkfifo(path)
    assert text(follower.poll()) == b"two\n"
    with pytest.raises(MswbError):
        follower.poll()


def test_regrowth_with_the_same_last_lines_is_noticed_by_the_first_ones(path: Path) -> None:
    append(path, b"old\n" + b"same\n" * 80)
    follower = Follower(path)
    follower.poll()
    path.write_bytes(b"new\n" + b"same\n" * 90)
    assert follower.poll() == [Block(path.read_bytes(), 0, "truncated")]


def test_regrowth_within_one_tick_of_the_clock_is_noticed(path: Path) -> None:
    append(path, b"aaaa\n")
    status = path.stat()
    follower = Follower(path)
    follower.poll()
    path.write_bytes(b"bbbb\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert follower.poll() == [Block(b"bbbb\n", 0, "truncated")]
