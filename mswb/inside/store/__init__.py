"""The file cache on the disk: format MSWC. One writer appends, any number of readers look samples up by id.

Runs in the training interpreter: Python 3.9+, numpy; xxhash where it is installed.
"""

from .columns import Column, Value
from .layout import InvalidCacheFile, MissingHash
from .manifest import Manifest, read_json, read_manifest, write_json, write_manifest
from .reader import StoreReader
from .writer import StoreWriter, WriteFailed

__all__ = [
    "Column",
    "InvalidCacheFile",
    "Manifest",
    "MissingHash",
    "StoreReader",
    "StoreWriter",
    "Value",
    "WriteFailed",
    "read_json",
    "read_manifest",
    "write_json",
    "write_manifest",
]
