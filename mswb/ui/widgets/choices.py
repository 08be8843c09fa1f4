"""A list of lines to choose one of."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import OptionList


class Choices(OptionList, inherit_bindings=False):
    """Textual's list, but Enter is left to the screen: its key bar tells what Enter does there."""

    BINDINGS: ClassVar[list[BindingType]] = [
        one for one in OptionList.BINDINGS if isinstance(one, Binding) and one.key != "enter"
    ]
