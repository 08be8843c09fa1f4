"""What the inventory panes say themselves, in English and Chinese."""

from __future__ import annotations

from mswb.findings import language
from mswb.ui.glyphs import glyph
from mswb.ui.panes.inventory.state import InventoryState
from mswb.ui.widgets.table.units import bytes_text

_WORDS = {
    "name": ("Name", "名称"),
    "kind": ("Kind", "类型"),
    "status": ("Status", "状态"),
    "size": ("Size", "大小"),
    "age": ("Age", "时间"),
    "files": ("Files", "文件数"),
    "detail": ("What it is", "内容"),
    "folder": ("Folder", "文件夹"),
    "path": ("Path", "路径"),
    "disk": ("on disk", "占用磁盘"),
    "modified": ("Modified", "修改时间"),
    "why": ("Recognised by", "识别依据"),
    "parts": ("With", "包含"),
    "unchecked": ("not checked", "未检查"),
    "entries": ("entries", "条目"),
    "looking": ("looking", "正在查找"),
    "looked": ("files looked at", "个文件已查看"),
    "places": ("places", "处"),
    "place": ("place", "处"),
    "notes": ("notes: w shows them", "条说明：按 w 查看"),
    "note": ("note: w shows it", "条说明：按 w 查看"),
    "everywhere": ("all places", "所有位置"),
    "copied": ("Nothing reads this kind yet, so its path was copied.", "尚无工具可打开此类内容，已复制其路径。"),
    "again": ("R  looks again", "按 R 重新查找"),
    "outside": ("v  looks at the places outside the folder, too", "按 v 同时查找此文件夹之外的位置"),
}


def word(name: str) -> str:
    """The words of this name, in the language of this process."""
    return _WORDS[name][language() == "zh"]


def title_text(state: InventoryState) -> str:
    """What is listed, in all; the table adds the number of entries."""
    rows, dot = state.found.rows, f" {glyph('dot')} "
    parts = []
    if state.root != state.home:
        parts.append(state.root)
    if state.everywhere:
        parts.append(word("everywhere"))
    if rows.items:
        places = word("place" if rows.places == 1 else "places")
        parts.append(f"{bytes_text(rows.size_bytes)} / {rows.places:,} {places}")
    if state.looking:
        parts.append(f"{word('looking')} {glyph('ellipsis')} {state.seen:,}")
    elif state.looked:
        parts.append(f"{state.found.files:,} {word('looked')}")
    count = len(state.found.notes)
    if count:
        parts.append(f"{glyph('note')} {count} {word('note' if count == 1 else 'notes')}")
    parts.append(word("entries"))
    return dot.join(parts)


def empty_text(state: InventoryState, nothing: str, can_go_outside: bool) -> str:
    """What an empty list says: that it is still looked, or what would be listed."""
    if state.problem is not None:
        return state.problem.title
    if not state.looked:
        return f"{word('looking')} {glyph('ellipsis')}"
    outside = f"\n{word('outside')}." if can_go_outside and not state.everywhere else ""
    return f"{nothing}\n\n{word('again')}.{outside}"
