"""Reads images through a dataset cache server; prints the mean of the rows as they came."""

import sys

import mindspore.dataset as ds
import mindspore.dataset.vision as vision
import numpy as np

session, port, folder, spill = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4] == "spill"


def double(image):
    return (image * 2.0).astype(np.float32)


def mean(operations, cache):
    images = ds.ImageFolderDataset(folder, shuffle=False, num_parallel_workers=1)
    images = images.map(operations, ["image"], cache=cache, num_parallel_workers=1)
    rows = [float(row[0].mean()) for row in images.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    return len(rows), sum(rows) / len(rows)


cache = ds.DatasetCache(session_id=session, size=0, port=port)
for _ in range(2):
    print("rows", *mean([vision.Decode(), double], cache), flush=True)
print("cached", cache.get_stat().num_mem_cached, flush=True)
if spill:
    small = ds.DatasetCache(session_id=session, size=1, spilling=True, port=port)
    mean([vision.Decode(), vision.Resize((512, 512))], small)
