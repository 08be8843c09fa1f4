"""What a check says of features, other contents, sets of files and hostile files."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from mswb.cache.check import MAX_FAULTS, Options, Watch, findings_of
from mswb.cache.data.tfrecord import salvage, source
from mswb.cache.data.tfrecord.bits import flipped_byte
from mswb.cache.data.tfrecord.verify import check
from mswb.plan import apply
from tests.unit.cache.tfrecord.files import (
    GOOD,
    SIZE,
    Value,
    example,
    field,
    flipped,
    frame,
    masked_crc,
    verified,
    write,
)


def labelled(number: int, **more: Value) -> bytes:
    return example({"image": bytes(40), "label": [number], **more})


def test_features_are_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tfrecord", [labelled(1), labelled(300, extra=[0.5]), labelled(3)])
    features = verified(path).more["features"]
    assert features["image"] == {"kind": "bytes", "records": 3, "required": True, "fixed": True}
    assert features["extra"] == {"kind": "float", "records": 1, "required": False, "fixed": True}


def test_a_feature_that_many_lack_is_optional(tmp_path: Path) -> None:
    records = [labelled(n, box=[0.5]) if n % 2 else labelled(n) for n in range(20)]
    assert verified(write(tmp_path / "a.tfrecord", records)).status == "ok"


def test_a_feature_of_another_kind(tmp_path: Path) -> None:
    records = [*(labelled(n) for n in range(9)), example({"image": bytes(40), "label": b"nine"})]
    checked = verified(write(tmp_path / "a.tfrecord", records))
    assert (checked.status, checked.faults[0].record) == ("schema-changed", 9)
    assert "label is bytes, and int64 in the others" in checked.faults[0].reason
    assert verified(tmp_path / "a.tfrecord", deep=False).status == "ok"


def test_other_records_are_whole_too(tmp_path: Path) -> None:
    checked = verified(write(tmp_path / "a.tfrecord", [b"\xffanything %d" % n for n in range(30)]))
    assert (checked.status, checked.intact_records) == ("ok", 30)
    assert [fault.code for fault in checked.faults] == ["tfrecord-no-examples"]
    assert findings_of("a", "TFRecord", checked)[0].severity == "note"


def test_long_records_are_looked_into(tmp_path: Path) -> None:
    """Of 5 KB, of more than a buffer, and with integers in the part that is not kept."""
    draw = random.Random(3)
    ids = [draw.randrange(1 << 20) for _ in range(3000)]
    for size in (5000, 1_200_000):
        records = [example({"ids": ids, "image": bytes(size), "label": [n]}) for n in range(6)]
        records.append(example({"ids": ids, "image": bytes(size)}))
        endless = field(3, field(1, b"\x01" * 3000 + b"\xff" * 10 + b"\x01" * 3000))
        entries = field(1, field(1, b"ids") + field(2, endless)) + field(1, field(1, b"image") + field(2, b""))
        records.append(field(1, entries + field(1, field(1, b"label") + field(2, b""))))
        checked = verified(write(tmp_path / "long.tfrecord", records))
        assert [(fault.code, fault.record) for fault in checked.faults] == [("schema-changed", 6), ("corrupted", 7)]
        assert "more than 10 bytes" in checked.faults[1].reason


_PACKED = gzip.compress(GOOD)
OTHERS = {
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", "lfs-pointer", "git-lfs"),
    "html": (b"<!DOCTYPE html><html><head>", "not-a-record-file", "web page"),
    "markup": (b"\n <HTML>\n<p>404</p>", "not-a-record-file", "web page"),
    "zip": (b"PK\x03\x04" + bytes(40), "not-a-record-file", "ZIP"),
    "mindrecord": (b'\x10\0\0\0\0\0\0\0{"a": 1}', "not-a-record-file", "MindRecord"),
    "nul": (bytes(5000), "not-a-record-file", "no header"),
    "text": (b"text", "not-a-record-file", "no header"),
    "header cut": (frame(b"cut")[:9], "truncated", "9 of the 12 bytes"),
    "data cut": (frame(b"cut")[:13], "truncated", "says 3 bytes, the file ends after 1"),
    "length": (flipped(frame(b"one record"), 1), "corrupted", "its length or the checksum"),
    "gzip of text": (gzip.compress(b"no record " * 50), "not-a-record-file", "gzip"),
    "gzip header": (b"\x1f\x8b\x08" + bytes(3), "truncated", "ends too early"),
    "gzip cut": (_PACKED[:-9], "truncated", "ends too early"),
    "gzip crc": (flipped(_PACKED, len(_PACKED) - 6), "corrupted", "the checksum at the end"),
    "zlib": (flipped(zlib.compress(GOOD), 3000), "corrupted", "zlib"),
}


@pytest.mark.parametrize(("data", "status", "words"), OTHERS.values(), ids=OTHERS)
def test_other_files(tmp_path: Path, data: bytes, status: str, words: str) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(data)
    checked = verified(path)
    assert checked.status == status
    assert any(words in fault.reason for fault in checked.faults if fault.code == status)


def test_features_of_images_are_counted_wherever_they_stand(tmp_path: Path) -> None:
    """Records of 6, 60 and 600 KB, with 700 bytes of features before and behind the image."""
    before: dict[str, Value] = {f"before/{n}": b"some words" * 4 for n in range(9)}
    behind: dict[str, Value] = {f"behind/{n}": [n, 1000 * n] for n in range(20)}
    for size in (6_000, 60_000, 600_000):
        records = [example({**before, "image": bytes(size + n), **behind}) for n in range(5)]
        records.append(example({**before, "image": bytes(size)}))
        checked = verified(write(tmp_path / "images.tfrecord", records))
        assert [(fault.code, fault.record) for fault in checked.faults] == [("schema-changed", 5)]
        assert len(checked.more["features"]) == 30


def test_what_a_cut_gzip_file_held_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord.gz"
    path.write_bytes(gzip.compress(GOOD)[:3000])
    checked = verified(path)
    assert checked.intact_records and 10 < checked.intact_records < 50
    repair = salvage.plan(str(path), checked, str(tmp_path / "saved"))
    assert apply(repair.plan, repair.kinds)[0].done
    assert (tmp_path / "saved").read_bytes() == GOOD[: SIZE * checked.intact_records]


def test_many_faults_are_counted(tmp_path: Path) -> None:
    draw = random.Random(2)
    data = b"".join(flipped(frame(labelled(n)), 20 + draw.randrange(8)) for n in range(MAX_FAULTS + 300))
    path = tmp_path / "a.tfrecord"
    path.write_bytes(data + frame(labelled(1)))
    checked = verified(path)
    assert (len(checked.faults), checked.faults_total, checked.intact_records) == (MAX_FAULTS, MAX_FAULTS + 300, 1)


def test_one_flipped_bit_is_located_and_two_are_not() -> None:
    data = bytes(range(200)) * 3
    stored = masked_crc(data)
    for at in (0, 1, 299, 599):
        assert flipped_byte(flipped(data, at, at % 8), stored) == at
    assert flipped_byte(data, stored ^ 1 << 17) == len(data) + 2
    assert flipped_byte(flipped(flipped(data, 7), 90), stored) is None


def test_a_set_of_files(tmp_path: Path) -> None:
    records = [labelled(n) for n in range(40)]
    for number in (1, 2, 4, 5, 7):
        write(tmp_path / f"train-{number:05}-of-00008.tfrecord", records[: 10 if number == 4 else 40])
    (tmp_path / "train-00000-of-00009.tfrecord").write_bytes(b"another set")
    codes = {
        number: [fault.code for fault in verified(tmp_path / f"train-{number:05}-of-00008.tfrecord").faults]
        for number in (1, 2, 4, 5, 7)
    }
    assert codes == {1: ["tfrecord-shards-missing"], 2: [], 4: ["tfrecord-shard-small"], 5: [], 7: []}
    missing = verified(tmp_path / "train-00001-of-00008.tfrecord").faults[0]
    assert missing.reason == "3 of the 8 shards are not here: 0, 3, 6" and missing.values["missing_count"] == 3


def test_repair_does_not_replace_and_notices_changes(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(flipped(GOOD, 50))
    checked = verified(path)
    repair = salvage.plan(str(path), checked, None)
    path.write_bytes(flipped(GOOD, 51) + frame(b""))
    outcome = apply(repair.plan, repair.kinds)[0]
    assert not outcome.done and "changed" in outcome.reason
    path.write_bytes(flipped(GOOD, 50))
    repair = salvage.plan(str(path), checked, None)
    (tmp_path / "a.tfrecord.repaired").write_text("mine")
    outcome = apply(repair.plan, repair.kinds)[0]
    assert not outcome.done and (tmp_path / "a.tfrecord.repaired").read_text() == "mine"
    assert not salvage.plan(str(path), checked, None).plan.actions
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.tfrecord", "a.tfrecord.repaired"]


def test_progress_and_cancel(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tfrecord", [bytes(200_000)] * 20)
    told: list[tuple[int, int | None, str]] = []
    check(str(path), Options(), Watch(report=lambda *step: told.append(step)))
    size = path.stat().st_size
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told) and told[-1][0] == size
    assert {(total, unit) for _, total, unit in told} == {(size, "bytes")}
    asked = iter([False, False])
    with pytest.raises(OSError):
        check(str(path), Options(), Watch(cancelled=lambda: next(asked, True)))


def test_memory_stays_flat(tmp_path: Path) -> None:
    """A hole of 1 GiB and a gzip file that unpacks to 320 MiB, in one process that may take 200 MB."""
    sparse = tmp_path / "sparse.tfrecord"
    sparse.write_bytes(frame(labelled(1)))
    with sparse.open("r+b") as file:
        file.truncate(1 << 30)
    bomb = tmp_path / "bomb.tfrecord.gz"
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    block = bytes(1 << 24)
    header = (1 << 30).to_bytes(8, "little")
    header = header + masked_crc(header).to_bytes(4, "little")
    with bomb.open("wb") as file:
        file.write(packer.compress(header))
        for _ in range(20):
            file.write(packer.compress(block))
        file.write(packer.flush())
    script = (
        "import sys\n"
        "from mswb.cache.check import Options, Watch\n"
        "from mswb.cache.data.tfrecord.verify import check\n"
        "print(*(check(path, Options(), Watch()).status for path in sys.argv[1:]))\n"
        "print(*(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
    )
    ran = subprocess.run([sys.executable, "-c", script, sparse, bomb], capture_output=True, text=True, check=True)
    statuses, peak = ran.stdout.splitlines()
    assert statuses == "corrupted truncated"
    assert int(peak) * 1024 < 200_000_000
    assert bomb.stat().st_size < 20_000_000


@pytest.mark.parametrize(("packing", "back"), [("gzip", 8), ("zlib", 4)])
def test_a_wrong_checksum_of_the_packed_file_alone_costs_no_record(tmp_path: Path, packing: str, back: int) -> None:
    whole = GOOD
    packed = bytearray(gzip.compress(whole) if packing == "gzip" else zlib.compress(whole))
    packed[-back] ^= 1
    path = tmp_path / "a.tfrecord"
    path.write_bytes(packed)
    found = verified(path)
    assert found.status == "corrupted" and found.records == found.intact_records
    (fault,) = [fault for fault in found.faults if fault.code == "corrupted"]
    assert "checksum at the end" in fault.reason and "own checksums" in fault.reason
    repair = salvage.plan(str(path), found, None)
    (outcome,) = apply(repair.plan, repair.kinds)
    assert outcome.done and Path(f"{path}.repaired").read_bytes() == whole


def test_a_small_file_that_unpacks_to_much_without_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.tfrecord"
    path.write_bytes(gzip.compress(bytes(128 << 20)))
    taken: list[int] = []
    more = source.Packed._more
    monkeypatch.setattr(source.Packed, "_more", lambda self: taken.append(1) or more(self))  # type: ignore[func-returns-value]
    checked = verified(path)
    assert checked.status == "not-a-record-file" and "64 MiB" in checked.detail
    assert len(taken) * source.CHUNK < 70 << 20
    path.write_bytes(gzip.compress(b"damaged header" + GOOD))
    assert verified(path).intact_records == 50
