"""Microseconds as texts become nanoseconds digit by digit."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.profile.stamps import MISSING, nanoseconds

NUMBERS = st.decimals(
    min_value=-(1 << 53), max_value=1 << 53, allow_nan=False, allow_infinity=False, places=None
) | st.decimals(min_value=0, max_value=10**7, places=3)
TEXTS = st.one_of(
    NUMBERS.map(str),
    NUMBERS.map(lambda number: f"{number:f}"),
    st.integers(0, 10**16).map(lambda number: f"{number // 1000}.{number % 1000:03d}"),
    st.integers(-(10**18), 10**18).map(str),
)


def exact(text: str) -> int:
    value = Decimal(text) * 1000
    return int(value) if abs(value) < (1 << 63) - 1000 else int(MISSING)


@given(st.lists(st.tuples(TEXTS, st.booleans()), max_size=30))
def test_every_number_is_exact(rows: list[tuple[str, bool]]) -> None:
    texts = [(f'"{text}"' if quoted else text).encode() for text, quoted in rows]
    assert nanoseconds(texts).tolist() == [exact(text) for text, _ in rows]


@given(st.lists(st.binary(max_size=12) | TEXTS.map(str.encode), max_size=20))
def test_anything_else_is_missing_or_a_number(texts: list[bytes]) -> None:
    found = nanoseconds(texts)
    assert found.tolist() == [one for text in texts for one in nanoseconds([text]).tolist()]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (b'"1796011512228435.516"', 1796011512228435516),
        (b"1.23456", 1234),
        (b"1e3", 1000000),
        (b".5", 500),
        (b"5.", 5000),
        (b"-3.25", -3250),
        *[(text, MISSING) for text in (b"null", b'""', b"", b"NaN", b"Infinity", b"1.2.3", b"--3", b"1-2", b"9" * 30)],
    ],
)
def test_forms(text: bytes, wanted: int) -> None:
    assert nanoseconds([text]).tolist() == [wanted]
