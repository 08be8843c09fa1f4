"""Model-based: whatever happens to the file, what is delivered is what was there to be read."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from mswb.files.follow import Block, Follower

# Short, so that the checks at the file's head and before our offset see every byte: beyond them (320 bytes) a
# rewritten middle is not told from an old one.
CHUNKS = st.binary(max_size=12).map(lambda data: data.replace(b"\x01", b"\n").replace(b"\x02", b"\n"))


class FileUnderWay(RuleBasedStateMachine):
    """One file, one follower; between two polls the file begins anew at most once."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.path = Path(self._folder.name) / "log"
        self.delivered: list[bytes] = [b""]  # per beginning of the file
        self.expected: list[bytes] = [b""]
        self.seen = b""  # what the follower has read of the present file, the unfinished line included
        self.restarted = False
        self.cut_after: bytes | None = None  # what had been read when the file was cut
        self.moves = 0

    @initialize(hold=st.booleans())
    def start(self, hold: bool) -> None:
        self.follower = Follower(self.path, hold=hold)

    def teardown(self) -> None:
        try:
            self._take(self.follower.finish())
            self._settle()
            assert self.delivered == self.expected
        finally:
            self.follower.close()
            self._folder.cleanup()

    @rule(data=CHUNKS)
    def append(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)

    @precondition(lambda self: not self.restarted and self.path.exists())
    @rule(data=CHUNKS)
    def cut(self, data: bytes) -> None:
        """What was not read yet is gone for good."""
        self.path.write_bytes(data)
        self.restarted, self.cut_after = True, self.seen

    @precondition(lambda self: not self.restarted and self.path.exists() and self.seen)
    @rule(data=CHUNKS)
    def rotate(self, data: bytes) -> None:
        self._expect_restart(self.path.read_bytes())
        self.moves += 1
        os.rename(self.path, self.path.with_name(f"log.{self.moves}"))
        self.path.write_bytes(data)
        self.restarted = True

    @rule()
    def poll(self) -> None:
        self._take(self.follower.poll())
        self._settle()

    def _expect_restart(self, last: bytes) -> None:
        self.expected[-1] = last
        self.expected.append(b"")
        self.seen = b""

    def _settle(self) -> None:
        """After a poll everything there is has been read; the unfinished line is still held back."""
        self.restarted = False
        content = self.path.read_bytes() if self.path.exists() else b""
        if self.cut_after is not None and not content.startswith(self.cut_after):  # else it looks like an append
            self._expect_restart(self.cut_after)
        self.cut_after = None
        self.seen = content
        self.expected[-1] = content
        whole = content[: content.rfind(b"\n") + 1]
        assert self.delivered[:-1] == self.expected[:-1]
        assert self.delivered[-1] in (whole, content)

    def _take(self, blocks: list[Block]) -> None:
        for block in blocks:
            if block.restart is not None:
                self.delivered.append(b"")
            assert block.offset == len(self.delivered[-1])
            self.delivered[-1] += block.data


FileUnderWay.TestCase.settings = settings(max_examples=150, stateful_step_count=25, deadline=None)
TestFileUnderWay = FileUnderWay.TestCase
