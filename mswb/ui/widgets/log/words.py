"""What the log view says itself, in English and Chinese. The English text is the name."""

from __future__ import annotations

from mswb.findings import language

_CHINESE = {
    # the view
    "No log is open.": "没有打开日志。",
    "Reading …": "读取中…",
    "No line passes the filter; Esc takes it away.": "没有行符合过滤条件；按 Esc 取消过滤。",
    "Not there yet: {path}": "文件尚不存在：{path}",
    "The log is empty so far.": "日志目前为空。",
    # folds
    "{count} alike:": "{count} 行相似：",
    "{count} lines:": "{count} 行：",
    # the status row
    "{count} lines": "{count} 行",
    "{count} logs": "{count} 个日志",
    "line {line}": "第 {line} 行",
    "{place} of {all}": "{place} / {all}",
    "{place} of {all} shown": "显示 {place} / {all}",
    "{count} error": "{count} 个错误",
    "{count} errors": "{count} 个错误",
    "{count} warning": "{count} 个警告",
    "{count} warnings": "{count} 个警告",
    "filter ": "过滤 ",
    "{count} selected": "已选 {count} 行",
    "{count} not readable": "{count} 个无法读取",
    "following": "跟随中",
    "+{count} new": "+{count} 新行",
    "{what} {percent} %": "{what} {percent} %",
    "{what} stopped": "{what}已停止",
    "indexing": "建立索引",
    "ordering": "排序",
    "searching": "搜索",
    "filtering": "过滤",
    "folding": "折叠",
    # the lines for text
    "search (small letters match both cases)": "搜索（小写字母不区分大小写）",
    "level:warning rank:0-3 role:scheduler module:DEVICE pid:12 routine:no words !dropped": (
        "level:warning rank:0-3 role:scheduler module:DEVICE pid:12 routine:no 文本 !排除"
    ),
    "show only lines that match": "只显示匹配的行",
    "hide lines that match": "隐藏匹配的行",
    # answers
    "nothing is searched yet: / asks what": "尚未搜索：按 / 输入搜索内容",
    "no line matches {wanted}": "没有行匹配 {wanted}",
    "still searching": "仍在搜索",
    "from the top again": "已从头开始",
    "from the end again": "已从末尾开始",
    "no error below": "下面没有错误",
    "no error above": "上面没有错误",
    "no warning below": "下面没有警告或错误",
    "no warning above": "上面没有警告或错误",
    "silent for {seconds} s after this line": "此行之后静默 {seconds} 秒",
    "no silence of {seconds} s below": "下面没有超过 {seconds} 秒的静默",
    "no silence of {seconds} s above": "上面没有超过 {seconds} 秒的静默",
    "no record near this line tells the time": "附近没有带时间的记录",
    "nothing folds here": "此处无可折叠的内容",
    "no bookmarks yet: m sets one": "还没有书签：按 m 设置",
    "log line": "日志行",
    "{count} log lines": "{count} 行日志",
    # details
    "time": "时间",
    "level": "级别",
    "module": "模块",
    "process": "进程",
    "thread": "线程",
    "source": "源码",
    "function": "函数",
    "whose": "来源",
    "place": "位置",
    "block": "所属块",
}


def word(text: str, **values: object) -> str:
    """This text with the values filled in, in the language of this process."""
    known = _CHINESE.get(text, text) if language() == "zh" else text
    return known.format(**values) if values else known
