"""The words of the log view: every one in both languages, none of the screen's rows without its own."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

from mswb.findings import choose_language
from mswb.ui.widgets.log import words
from mswb.ui.widgets.log.words import word
from tests.ui.logviews import shown
from tests.unit.launch.logview.logs import TRACEBACK, cpp, write

FOLDER = Path(words.__file__).parent


@pytest.fixture
def chinese() -> Iterator[None]:
    choose_language("zh")
    yield
    choose_language("")


def names(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_both_languages_hold_the_same_values() -> None:
    for english, chinese in words._CHINESE.items():
        if "level:" not in english:
            assert names(english) == names(chinese), english


def test_every_text_that_is_said_has_its_chinese() -> None:
    said = {
        text
        for path in FOLDER.glob("*.py")
        for text in re.findall(r"(?:\bword|\.say)\(\s*\"([^\"]+)\"", path.read_text(encoding="utf-8"))
    }
    assert len(said) > 20
    assert said <= words._CHINESE.keys()


def test_a_text_without_chinese_is_said_in_english(chinese: None) -> None:
    assert word("something else") == "something else"
    assert word("{count} logs", count=3) == "3 个日志"


@pytest.mark.asyncio
async def test_the_screen_in_chinese(tmp_path: Path, chinese: None) -> None:
    path = write(tmp_path / "a.log", cpp(1, "bad", "ERROR") + "step 1\n" + TRACEBACK)
    async with shown(path) as log:
        await log.press("g", "Z", "e")
        assert "traceback 4 行：" in log.screen()
        row = log.body.status.render().plain
        assert "第 3 行" in row and "1 个错误" in row and "跟随中" not in row
        await log.press("e", "ampersand")
        assert "下面没有错误" in log.notices()
        assert log.body.prompt.placeholder == "只显示匹配的行"
        await log.type("nothing")
        assert "没有行符合过滤条件" in log.screen()
