"""What ``mswb cache server`` shows: its words, its tables, the rows of its reports."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mswb.cli import output
from mswb.cli.sizes import human_bytes
from mswb.findings import language

if TYPE_CHECKING:
    from mswb.cache.entries import Entry
    from mswb.cache.server.answers import Cached
    from mswb.cache.server.manage import Session
    from mswb.cache.server.running import Server

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "starting": "starting a server on port {port}",
        "stopping": "stopping the server on port {port}",
        "asking": "asking the server on port {port}",
        "looking": "comparing files with the time of the session",
        "started": "server {pid} runs on port {port}, spills to {spill}",
        "nowhere": "nowhere (rows that do not fit are dropped)",
        "session": "next: mswb cache server session create -p {port}",
        "stopped": "stopped the server on port {port}; its sessions and rows are gone",
        "created": "session {session} on port {port}",
        "use": "in the script: cache=ds.DatasetCache(session_id={session}, port={port})",
        "destroyed": "destroyed session {session} on port {port}",
        "no-servers": "no dataset cache server runs on this host",
        "no-leftovers": "nothing is left of dead servers",
        "no-sessions": "no sessions on port {port}; mswb cache server session create makes one",
        "nothing": "nothing to remove",
        "fresh": "session {session}: nothing has changed since {since}",
        "unknown": "session {session}: unknown source; name its data with --source",
        "sessions-of": "sessions on port {port}",
        "port": "port",
        "pid": "pid",
        "user": "user",
        "since": "since",
        "workers": "workers",
        "memory": "memory",
        "spill": "spill folder",
        "status": "status",
        "size": "size",
        "what": "what",
        "path": "path",
        "cache": "cache",
        "rows": "rows",
        "on-disk": "on disk",
        "row": "a row",
        "own": "it chooses",
        "none": "none",
    },
    "zh": {
        "starting": "正在端口 {port} 启动服务",
        "stopping": "正在停止端口 {port} 的服务",
        "asking": "正在询问端口 {port} 的服务",
        "looking": "正在比较文件与会话的时间",
        "started": "服务 {pid} 运行于端口 {port}，溢写到 {spill}",
        "nowhere": "无（放不下的行会被丢弃）",
        "session": "下一步：mswb cache server session create -p {port}",
        "stopped": "已停止端口 {port} 的服务；其会话与数据行均已丢失",
        "created": "端口 {port} 上的会话 {session}",
        "use": "在脚本中：cache=ds.DatasetCache(session_id={session}, port={port})",
        "destroyed": "已销毁端口 {port} 上的会话 {session}",
        "no-servers": "本机没有运行数据集缓存服务",
        "no-leftovers": "没有已死服务的残留",
        "no-sessions": "端口 {port} 上没有会话；用 mswb cache server session create 新建",
        "nothing": "没有可清除的内容",
        "fresh": "会话 {session}：自 {since} 起没有变化",
        "unknown": "会话 {session}：来源未知；请用 --source 指明其数据",
        "sessions-of": "端口 {port} 的会话",
        "port": "端口",
        "pid": "pid",
        "user": "用户",
        "since": "始于",
        "workers": "工作线程",
        "memory": "内存",
        "spill": "溢写目录",
        "status": "状态",
        "size": "大小",
        "what": "内容",
        "path": "路径",
        "cache": "缓存",
        "rows": "行数",
        "on-disk": "磁盘行数",
        "row": "每行",
        "own": "自动",
        "none": "无",
    },
}


def server_row(one: Server) -> dict[str, Any]:
    """A server in a report."""
    from mswb.jobs.procs import user_name

    row = {name: value for name, value in asdict(one).items() if name not in ("process", "uid")}
    return {"pid": one.process.pid, "start_time": one.process.start_time, "user": user_name(one.uid), **row}


def session_row(one: Session) -> dict[str, Any]:
    """A session in a report."""
    return {
        "session": one.id,
        "port": one.port,
        "status": one.status,
        "created": one.created,
        "sources": sorted({path for note in one.notes for path in note.sources}),
        "changes": asdict(one.changes),
        "caches": [{**asdict(row), "rows": row.rows, "size_bytes": row.size_bytes} for row in one.caches if row.cache],
    }


def show_servers(found: Sequence[Server]) -> None:
    """The table of live servers."""
    from mswb.jobs.procs import user_name

    words = WORDS[language()]
    if not found:
        print(words["no-servers"])
        return
    heads = [words[name] for name in ("port", "pid", "user", "since", "workers", "memory", "spill")]
    rows = [
        (
            one.port,
            one.process.pid,
            user_name(one.uid),
            moment(one.started),
            one.workers if one.workers > 0 else words["own"],
            f"{one.memory_ratio * 100:.0f} %",
            one.spill or words["none"],
        )
        for one in found
    ]
    output.show_table(heads, rows, right=(0, 1, 4, 5))


def show_leftovers(entries: Sequence[Entry]) -> None:
    """What dead servers left, and what to do."""
    words = WORDS[language()]
    if not entries:
        print(words["no-leftovers"])
        return
    heads = [words[name] for name in ("status", "size", "what", "path")]
    output.show_table(
        heads, [(one.status, human_bytes(one.size_bytes), one.detail, one.path) for one in entries], right=(1,)
    )
    print()
    output.show_findings([finding for entry in entries for finding in entry.findings], lang=language())


def show_sessions(found: Sequence[Session], explained: bool) -> None:
    """The table of sessions, a line for each cache; ``explained``: with the sizes of rows and what lies on the disk."""
    words = WORDS[language()]
    columns = ("rows", "on-disk", "row", "size") if explained else ("rows", "size", "since")
    heads = ["session", words["cache"], words["status"], *(words[name] for name in columns)]
    rows = [
        (one.id, row.cache if row.cache is not None else words["none"], one.status, *_cells(one, row, columns))
        for one in found
        for row in one.caches
    ]
    output.show_table(heads, rows, right=(0, 1, *range(3, 3 + len(columns))))


def _cells(one: Session, row: Cached, columns: Sequence[str]) -> list[str]:
    cells = {
        "rows": str(row.rows),
        "on-disk": str(row.on_disk),
        "row": human_bytes(row.row_bytes) if row.row_bytes is not None else "",
        "size": human_bytes(row.size_bytes),
        "since": moment(one.created),
    }
    return [cells[name] for name in columns]


def moment(seconds: float | None) -> str:
    """Month, day and time of a moment; ``?`` where nobody knows it."""
    return time.strftime("%m-%d %H:%M:%S", time.localtime(seconds)) if seconds is not None else "?"
