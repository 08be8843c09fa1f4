"""What the workbench remembers from one session to the next: the pane and, for each folder, what was open in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from mswb.files.safety import make_private_dir, open_regular, write_atomic
from mswb.findings import MswbError
from mswb.settings import Settings

FILE = "workbench.json"
MAX_BYTES = 1 << 20
FOLDERS = 100


class Session(msgspec.Struct, kw_only=True):
    """The last session. ``panes``: the pane in front, by folder, the folder used last at the end."""

    theme: str = ""
    panes: dict[str, str] = {}


def load(settings: Settings) -> Session:
    """The last session; an empty one when there is none or it can't be read."""
    try:
        with open(open_regular(settings.state_dir / FILE), "rb") as file:
            return msgspec.json.decode(file.read(MAX_BYTES), type=Session)
    except (MswbError, OSError, msgspec.DecodeError, msgspec.ValidationError):
        return Session()


def save(settings: Settings, session: Session, folder: Path, pane: str) -> None:
    """Keep the session, with ``pane`` as the one in front for ``folder``.

    Raises:
        MswbError: ``path-unwritable``.
    """
    session.panes.pop(str(folder), None)
    kept: dict[str, Any] = dict(list(session.panes.items())[-FOLDERS + 1 :])
    session.panes = {**kept, str(folder): pane}
    make_private_dir(settings.state_dir)
    write_atomic(settings.state_dir / FILE, msgspec.json.encode(session))
