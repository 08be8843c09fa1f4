"""The few words a table says itself, in English and Chinese."""

from __future__ import annotations

from mswb.findings import language

_CHINESE = {
    "no rows": "没有数据",
    "no row matches": "没有匹配的行",
    "row": "该行",
    "{count} rows": " {count} 行",
    "{shown} of {all}": "{shown} / {all}",
    "filter {text}": "筛选 {text}",
    "by {title} ({groups})": "按 {title} 分组（{groups}）",
    "{marks} marked": "已标记 {marks}",
    "too many to mark": "一次最多标记 {most} 行；请先筛选。",
    "working": "处理中…",
    "filter hint": "文本  列:文本  列>5  !排除    Enter 保留，Esc 清除",
}
_ENGLISH = {
    "too many to mark": "No more than {most} rows are marked at once; filter first.",
    "working": "working…",
    "filter hint": "text  column:text  column>5  !not    Enter keeps, Esc clears",
}


def word(name: str, **values: str) -> str:
    """The words of this name with the values filled in, in the language of this process."""
    table = _CHINESE if language() == "zh" else _ENGLISH
    return table.get(name, name).format(**values)
