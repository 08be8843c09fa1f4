"""Many pipelines through file caches, in one start of MindSpore. Prints a line of JSON: the outcome of each case.

Arguments: a folder of pictures in two folders, a.png 0 .. 50 and so on, and an empty folder for a MindRecord file.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time

import mindspore.dataset as ds
import numpy as np
from mindspore.dataset import transforms, vision
from mindspore.mindrecord import FileWriter

from mswb.cache import cached, patch

patch()
IMAGES, WORK = sys.argv[1:3]


def shown(dataset) -> list:
    """The first number of the last column of each row."""
    return [int(np.asarray(row[-1]).flat[0]) for row in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)]


def images(**options):
    return ds.ImageFolderDataset(IMAGES, **options)


def refused(dataset) -> str:
    """Why a dataset can't be cached."""
    try:
        dataset.cache(name="refused")
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return "no error"


def types_and_names():
    dataset = (
        images(shuffle=False).map([vision.Decode(), transforms.TypeCast(np.float32)], ["image"]).cache(name="types")
    )
    return [dataset.get_col_names(), [str(kind) for kind in dataset.output_types()], dataset.get_dataset_size()]


def shuffled():
    source = images()
    source.batch(1)
    dataset = source.cache(name="shuffled", cache_size=1).map(lambda image: image[:1], ["image"])
    return [sorted(shown(dataset)) for _ in range(2)]


def same_cache():
    """A source has one cache however it is shuffled and sharded; three of these four are of one."""
    shown(images(shuffle=True).cache(name="same"))
    shown(images(shuffle=False).cache(name="same"))
    parts = [sorted(shown(images(num_shards=2, shard_id=shard).cache(name="same"))) for shard in (0, 1)]
    shown(images(decode=True, shuffle=False).cache(name="same"))
    return [len(os.listdir(os.path.join(os.environ["MSWB_CACHE_ROOT"], "same"))), sorted(parts[0] + parts[1])]


def strict():
    """A file that is gone is told with both counts."""
    folder = shutil.copytree(IMAGES, os.path.join(WORK, "strict"))
    shown(ds.ImageFolderDataset(folder).cache(name="strict", strict=True))
    first = next(path for path, _, files in os.walk(folder) if files)
    os.unlink(os.path.join(first, sorted(os.listdir(first))[0]))
    try:
        ds.ImageFolderDataset(folder).cache(name="strict", strict=True)
    except IndexError as problem:
        return str(problem)
    return "no error"


def damaged():
    """A flipped bit ends the training with the text of the seed article."""
    shown(ds.NumpySlicesDataset(np.arange(100, 110), shuffle=False).cache(name="damaged"))
    shard = os.path.join(cache_folder("damaged"), "0000.shard")
    os.chmod(shard, 0o600)
    with open(shard, "r+b") as file:
        at = file.read().index(np.int64(107).tobytes())
        file.seek(at)
        file.write(b"\0")
    try:
        shown(ds.NumpySlicesDataset(np.arange(100, 110), shuffle=False).cache(name="damaged"))
    except RuntimeError as problem:
        return f"ValueError: Invalid cache file format: {shard} at byte {at - 64}: " in str(problem) or str(problem)
    return "no error"


def twice():
    """A cache over a cache, with a random map behind them."""
    first = images().map(vision.Decode(), "image").cache(name="first")
    second = first.map(lambda image: image[:1, :1, 0] + 1, "image").cache(name="second")
    return sorted(shown(second.map(noisy, "image").project(["image", "label"]).batch(1)))


def mindrecord():
    path = os.path.join(WORK, "numbers.mindrecord")
    writer = FileWriter(path, shard_num=2)
    writer.add_schema({"number": {"type": "int64"}, "text": {"type": "string"}, "raw": {"type": "bytes"}})
    writer.write_raw_data([{"number": n, "text": "t" * n, "raw": b"r\0" * (n + 1)} for n in range(8)])
    writer.commit()
    dataset = ds.MindDataset(path + "0", shuffle=False).cache(name="mindrecord")
    rows = list(dataset.create_dict_iterator(num_epochs=1, output_numpy=True))
    plain = list(ds.MindDataset(path + "0", shuffle=False).create_dict_iterator(num_epochs=1, output_numpy=True))
    same = all(np.array_equal(row[name], other[name]) for row, other in zip(rows, plain, strict=True) for name in row)
    with open(os.path.join(cache_folder("mindrecord"), "source.list")) as file:
        listed = file.read()
    return [len(rows), same, sum(listed.count(name) for name in ("mindrecord0", "mindrecord1"))]


def numbers(count=12):
    for number in range(count):
        yield np.full(number % 3 + 1, number), np.array(f"text {number}"), np.int32(number)


class Numbers:
    def __len__(self):
        return 60

    def __getitem__(self, number):
        return np.full((40, 40), number, np.float32), np.int32(number)


def workers():
    """Forked workers hand what they read to the process that writes; the second epoch comes from the cache."""
    options = {"num_parallel_workers": 2, "python_multiprocessing": True, "shuffle": False}
    dataset = cached(Numbers(), "workers", column_names=["image", "label"], **options)
    epochs = [shown(dataset), shown(dataset)]
    for _ in range(100):
        if os.path.exists(os.path.join(cache_folder("workers"), "0000.shard")):
            break
        time.sleep(0.05)
    return [epochs == [list(range(60))] * 2, os.listdir(cache_folder("workers")).count("0000.shard")]


def large():
    def rows():
        for number in range(6):
            yield (np.full(50_000, number, np.float64),)

    dataset = ds.GeneratorDataset(rows, ["number"]).map(lambda x: x * 2, ["number"]).cache(name="large", cache_size=1)
    return [shown(dataset), shown(dataset)]


def cache_folder(name: str) -> str:
    (folder,) = os.listdir(os.path.join(os.environ["MSWB_CACHE_ROOT"], name))
    return os.path.join(os.environ["MSWB_CACHE_ROOT"], name, folder)


def noisy(image):
    return image + np.random.rand()


def filtered():
    """A predicate counts, though MindSpore wraps it: another limit or another text is another cache."""

    def above(limit):
        return lambda x: x > limit

    predicates = (above(1), above(2), lambda x: x < 1)
    numbers = [ds.NumpySlicesDataset(np.arange(5), shuffle=False) for _ in predicates]
    return [shown(source.filter(by).cache(name="filtered")) for source, by in zip(numbers, predicates, strict=True)]


TABLE = sys.stdin


def looked_up(image):
    return image + TABLE.fileno()


CASES = {
    "types": types_and_names,
    "shuffled": shuffled,
    "same cache": same_cache,
    "strict": strict,
    "damaged": damaged,
    "twice": twice,
    "mindrecord": mindrecord,
    "generator": lambda: shown(ds.GeneratorDataset(list(range(5)), ["x"], shuffle=False).cache(name="generator")),
    "sequence": lambda: shown(ds.GeneratorDataset(numbers, ["a", "b", "c"]).cache(name="sequence")),
    "slices": lambda: shown(ds.NumpySlicesDataset(np.arange(5), shuffle=False).cache(name="slices")),
    "batched": lambda: shown(
        images(shuffle=False).map(vision.Decode(), "image").batch(2).cache(name="batched").repeat(2)
    ),
    "zipped": lambda: shown(
        ds.zip(
            (
                ds.NumpySlicesDataset(np.arange(4), "a", shuffle=False),
                ds.NumpySlicesDataset(np.arange(4), "b", shuffle=False),
            )
        )
        .cache(name="zipped")
        .batch(2)
    ),
    "subset": lambda: shown(images(sampler=ds.SubsetSampler([1, 3])).cache(name="subset")),
    "concatenated": lambda: shown(
        (
            ds.NumpySlicesDataset(np.arange(3), shuffle=False)
            + ds.NumpySlicesDataset(np.arange(3), shuffle=False).take(1)
        ).cache(name="concatenated")
    ),
    "filtered": filtered,
    "workers": workers,
    "large": large,
    "random operation": lambda: refused(images().map([vision.Decode(), vision.RandomCrop(2)], "image")),
    "random inside": lambda: refused(images().map(transforms.RandomApply([vision.Decode()]), "image")),
    "random function": lambda: refused(images().map(noisy, "image")),
    "shuffle": lambda: refused(images(shuffle=False).shuffle(4)),
    "batch of shuffled": lambda: refused(images().map(vision.Decode(), "image").batch(2)),
    "unhashable": lambda: refused(images().map(looked_up, "image")),
}

print(json.dumps({name: case() for name, case in CASES.items()}))
