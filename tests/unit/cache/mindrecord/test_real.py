"""Files that MindSpore wrote: all whole; and our own writer, whose files have the same rows."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mswb.cache.check import Watch
from mswb.cache.data.mindrecord import reading
from mswb.cache.data.mindrecord.chosen import Chosen
from mswb.cache.data.mindrecord.header import groups, read_header
from mswb.cache.data.mindrecord.pieces import pieces
from mswb.cache.data.mindrecord.salvage import rebuild_index
from mswb.cache.data.mindrecord.writer import DataWriter
from tests.unit.cache.mindrecord.files import good, look, real, real_names


def data_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix != ".db")


def rows_of_index(path: Path) -> list[object]:
    with closing(sqlite3.connect(f"{path}.db")) as connection:
        return connection.execute("SELECT * FROM INDEXES ORDER BY ROW_ID").fetchall()


@pytest.mark.parametrize("name", real_names())
def test_whole(tmp_path: Path, name: str) -> None:
    for path in data_files(real(tmp_path, name)):
        found = look(path)
        assert (found.status, found.faults) == ("ok", ())
        assert found.intact_records == found.records
        assert found.records or name in ("fewer", "none")


@pytest.mark.parametrize("name", real_names())
def test_index_made_again_is_equal(tmp_path: Path, name: str) -> None:
    for path in data_files(real(tmp_path, name)):
        before = rows_of_index(path)
        Path(f"{path}.db").unlink()
        rebuild_index(str(path), f"{path}.db")
        assert rows_of_index(path) == before
        assert look(path).status == "ok"


@pytest.mark.parametrize("name", ["pages", "scalars", "int1", "noindexable"])
def test_our_writer_keeps_every_row(tmp_path: Path, name: str) -> None:
    (path,) = data_files(real(tmp_path, name))
    copy = tmp_path / path.name
    with reading.opened(str(path)) as reader:
        header = read_header(reader)
        rows = [(raw, blob) for _, raw, blob in Chosen(reader, header, None).rows()]
    with copy.open("w+b") as file:
        writer = DataWriter(file.fileno(), header)
        for raw, blob in rows:
            writer.add(raw, blob)
        writer.finish()
    rebuild_index(str(copy), f"{copy}.db")
    found = look(copy)
    assert (found.status, found.records) == ("ok", len(rows))
    with reading.opened(str(copy)) as reader:
        assert [(raw, blob) for _, raw, blob in Chosen(reader, read_header(reader), None).rows()] == rows


def test_a_row_longer_than_a_page_is_refused(tmp_path: Path) -> None:
    with reading.opened(str(good(tmp_path))) as reader:
        header = read_header(reader)
    with (tmp_path / "new").open("w+b") as file:
        writer = DataWriter(file.fileno(), header)
        with pytest.raises(ValueError, match="longer than a page"):
            writer.add(b"", bytes(32761))


def test_row_groups_over_several_pages(tmp_path: Path) -> None:
    (path,) = data_files(real(tmp_path, "pages"))
    with reading.opened(str(path)) as reader:
        header = read_header(reader)
    found = list(groups(header))
    assert len(found) > 4 and [group.id for group in found] == list(range(len(found)))
    assert sum(group.rows for group in found) == header.rows == 120
    assert len({group.raw.page for group in found}) > 2


def test_pieces_are_header_and_two_for_each_row(tmp_path: Path) -> None:
    found = list(pieces(str(good(tmp_path)), Watch()))
    assert [piece.record for piece in found[:5]] == [None, 0, 0, 1, 1] and len(found) == 1 + 2 * 60
    assert (found[1].offset, found[2].offset) == (49152, 16384)


def test_reader_reads_behind_the_end(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"abcdef")
    with reading.opened(str(path)) as reader:
        assert (bytes(reader.view(4, 10)), bytes(reader.view(9, 1)), bytes(reader.view(0, 2))) == (b"ef", b"", b"ab")


def test_no_folder_and_no_pipe_is_read(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(OSError, match="regular"), reading.opened(str(name)):
            pass
