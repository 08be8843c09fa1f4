"""Rank 1 reads a TFRecord whose payload is damaged."""

import struct
import sys
import time

import mindspore as ms
import mindspore.dataset as ds
from mindspore.communication import get_rank, init

ms.set_device("CPU")
init("mccl")
rank = get_rank()
if rank == 1:
    path = sys.argv[1]
    payload = b"x" * 40
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(payload)) + b"\0\0\0\0" + payload + b"\0\0\0\0")
    for row in ds.TFRecordDataset([path], columns_list=["image"]).create_dict_iterator(output_numpy=True):
        print(row.keys())
time.sleep(600)
