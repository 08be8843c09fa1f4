"""Options of the tests."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-screens",
        action="store_true",
        help="write what the screens show now into tests/ui/pictures; look at the difference before committing it",
    )
