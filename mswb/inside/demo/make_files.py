"""Writes what a training leaves behind, by MindSpore itself, into the current folder: a checkpoint, a MindIR model,
MindRecord and TFRecord data, and a profile of some steps. For demonstrations and screenshots."""

import json
import struct

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
from mindspore.dataset import GeneratorDataset
from mindspore.mindrecord import FileWriter

ms.set_device("CPU")


def write_mindrecord(path):
    """Two hundred small images with labels."""
    writer = FileWriter(path, shard_num=1, overwrite=True)
    writer.add_schema({"data": {"type": "bytes"}, "label": {"type": "int32"}}, "images")
    generator = np.random.default_rng(0)
    rows = [{"data": generator.bytes(768), "label": index % 10} for index in range(200)]
    writer.write_raw_data(rows)
    writer.commit()


def masked_crc(data):
    """CRC-32C of a TFRecord, masked as its format asks (bitwise: a demo file is small)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def write_tfrecord(path, count=20):
    """Records with correct checksums."""
    with open(path, "wb") as file:
        for index in range(count):
            data = json.dumps({"sample": index}).encode()
            length = struct.pack("<Q", len(data))
            file.write(length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data)))


def main():
    net = nn.SequentialCell(nn.Dense(16, 32), nn.ReLU(), nn.Dense(32, 4))
    x = Tensor(np.ones((8, 16), np.float32))
    ms.save_checkpoint(net, "net-1_200.ckpt")
    ms.export(net, x, file_name="net", file_format="MINDIR")
    write_mindrecord("train.mindrecord")
    write_tfrecord("train-00000.tfrecord")
    data = GeneratorDataset([(np.ones(16, np.float32),)] * 64, ["x"]).batch(8)
    with ms.profiler.profile(
        activities=[ms.profiler.ProfilerActivity.CPU],
        on_trace_ready=ms.profiler.tensorboard_trace_handler("profile"),
    ) as profiler:
        for (batch,) in data.create_tuple_iterator():
            ops.reduce_sum(net(batch)).asnumpy()
            profiler.step()


main()
