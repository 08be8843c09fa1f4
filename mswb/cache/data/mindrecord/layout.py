"""Where the pages really are, when the header's page size does not fit to the file."""

from __future__ import annotations

import msgspec

from mswb.cache.data.mindrecord.header import MAX_PAGE, MIN_PAGE, Header, groups
from mswb.cache.data.mindrecord.reading import Reader
from mswb.cache.data.mindrecord.walk import rows_of

_ROUND = 1024
"""What page sizes are multiples of, whoever set them."""


def true_layout(reader: Reader, header: Header) -> Header:
    """The header with the page size with which every row is found and the last page ends where the file does.

    It is the header itself where its page size fits, or where none does.
    """
    last = max(header.pages, key=lambda page: page.page_id, default=None)
    if last is None or not last.page_id or header.end == reader.size:
        return header
    size, rest = divmod(reader.size - header.header_size - last.page_size, last.page_id)
    used = max(page.page_size for page in header.pages)
    if rest or size == header.page_size or not max(MIN_PAGE, used) <= size <= MAX_PAGE:
        return header
    if size % _ROUND and not header.page_size % _ROUND:
        return header  # bytes are lost or inserted before the last page: nobody sets such a page size
    other = msgspec.structs.replace(header, page_size=size)
    fits = all(rows_of(reader, part, group.rows).whole for group in groups(other) for part in (group.blob, group.raw))
    return other if fits else header
