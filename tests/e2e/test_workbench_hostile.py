"""Logs that would do harm: escape sequences, markup, control characters, a line of 100 MB, other encodings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.desk import ENTER, ESCAPE, Desk
from tests.e2e.harness import Workspace

MONSTER_BYTES = 100_000_000
MORE_MEMORY = 60 << 20
HARM = (
    b"\x1b]52;c;cHduZWQ=\x07 clipboard",
    b"\x1b]0;pwned title\x07 window",
    b"\x1b]8;;http://example.invalid/pwned\x1b\\ link",
    b"\x1b[37;41;777m colour \x1b[2J\x1b[3J\x1b[Hcleared",
    b"\x1b[?1049l\x1b[?1000h\x1b[777;777H modes",
    b"\x1bP777q sixel \x1b\\ \x1b_ application \x1b\\ \x1b^ privacy \x1b\\",
    b"\x9b31;777m eight-bit \x9d0;pwned\x9c",
    "\x9b31;777m the same in UTF-8 \x9d0;pwned\x9c".encode(),
    b"bell \x07 backspace \x08\x08\x08 NUL \x00 vertical \x0b form \x0c shift \x0e\x0f",
    b"[bold red]markup[/] [@click=app.quit]boo[/] [/] [link=file:///etc/passwd]x[/link] \\[",
    "right to left \u202e dlrow \u2066 isolate, zero \u200b\u200d\ufeff width, e\u0301\u0301\u0301\u0301".encode(),
    b"\xff\xfe broken \xc3 bytes \xe6\xb5 cut",
    b"\rcarriage\rreturn",
)
NEVER = re.compile(
    rb"\x1b\](?:52|0|8);|\x1b\[[0-9;?]*777|\x1b\[2J\x1b\[3J|\x1b[P_^]|\x9b31|\xc2[\x80-\x9f]|[\x00\x08\x0b\x0c\x0e]"
)
"""What of :data:`HARM` may not come through, and the workbench itself never sends."""
CHINESE = "训练开始 第 1 步 损失 0.5"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def peak_memory(desk: Desk) -> int:
    """The most resident bytes that the workbench has used so far."""
    status = Path(f"/proc/{desk.terminal.process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) << 10


def used_by(desk: Desk) -> int:
    """What a person may do with a log: to both ends, find, filter, wrap, look at one line. Returns the peak memory."""
    desk.type(f"/the end of rank 1{ENTER}")
    desk.see_row("the end of rank 1")
    desk.type("GgaGag")
    desk.type(ENTER, "whose  ")
    desk.type(ESCAPE)
    desk.gone("whose  ")
    desk.type("hwe")
    desk.type("?", "log.search")
    desk.type(ESCAPE)
    desk.gone("log.search")
    return peak_memory(desk)


def logs_of(folder: Path, lines: list[bytes]) -> Path:
    """A folder of logs: two ranks with lines of ours, one in UTF-8 and one in GBK."""
    folder.mkdir()
    for rank in (0, 1):
        ours = [*(lines if rank == 0 else []), f"the end of rank {rank}".encode()]
        (folder / f"worker_{rank}.log").write_bytes(b"\n".join([b"rank %d begins" % rank, *ours, b""]))
    (folder / "worker_2.log").write_bytes(f"{CHINESE} 一\n".encode() * 3)
    (folder / "worker_3.log").write_bytes(f"{CHINESE} 二\n".encode("gbk") * 3)
    return folder


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
def test_nothing_of_a_log_reaches_the_terminal_raw(workspace: Workspace, size: tuple[int, int]) -> None:
    folder = logs_of(workspace.folder / "hostile", list(HARM))
    with Desk(workspace, str(folder), size=size) as desk:
        desk.see("all 4 logs")
        for words in ("clipboard", "[bold red]markup[/]", "[@click=app.quit]boo[/]", "eight-bit", "broken"):
            desk.type(f"/{re.escape(words)}{ENTER}")
            desk.see(words)
        used_by(desk)
        desk.type("q")
        assert desk.terminal.process.wait(30) == 0
        assert NEVER.findall(bytes(desk.terminal.received)) == []


def test_chinese_logs_of_any_encoding(workspace: Workspace) -> None:
    folder = logs_of(workspace.folder / "chinese", [])
    with Desk(workspace, str(folder)) as desk:
        desk.see_row("r2", f"{CHINESE} 一")
        desk.see_row("r3", f"{CHINESE} 二")
        desk.type(f"/损失 0.5 二{ENTER}", "of 3")
        desk.type(f"&步{ENTER}")
        desk.gone("rank 0 begins")
        desk.see_row("r2", CHINESE)


def test_a_line_of_a_hundred_megabytes(workspace: Workspace) -> None:
    small = logs_of(workspace.folder / "small", [b"A" * 300])
    with Desk(workspace, str(small)) as desk:
        desk.see("all 4 logs")
        usual = used_by(desk)
    big = logs_of(workspace.folder / "big", [b"A" * MONSTER_BYTES])
    with Desk(workspace, str(big)) as desk:
        desk.see("all 4 logs")
        desk.see_row("AAAAAAAAAAAAAAAAAAAA")
        assert used_by(desk) - usual < MORE_MEMORY
        desk.type("q")
        assert desk.terminal.process.wait(30) == 0
