"""The words of the Launch pane in English and Chinese: each is named by its English form."""

from __future__ import annotations

from mswb.findings import language

_CHINESE = {
    # states
    "starting": "启动中",
    "running": "运行中",
    "stopping": "停止中",
    "succeeded": "成功",
    "failed": "失败",
    "stopped": "已停止",
    "lost": "失联",
    "silent": "无输出",
    "broken": "记录损坏",
    "ended": "已结束",
    "over": "已停下",
    "killed": "被终止",
    "hangs": "卡住",
    "foreign": "外部",
    "logs": "日志",
    "unknown": "未知",
    # the list
    "Runs": "运行",
    "looking": "查找中",
    "Runs of {where}": "{where} 的运行",
    "all folders": "所有目录",
    "{count} running elsewhere: v": "其他目录有 {count} 个运行中：v",
    "State": "状态",
    "Age": "时间",
    "Ranks": "rank 数",
    "Script": "脚本",
    "What happened": "经过",
    "Run": "运行",
    "Folder": "目录",
    "Host": "主机",
    "pids {pids}, not started by mswb": "进程 {pids}，不是由 mswb 启动",
    # the run
    "reading": "读取中",
    "epoch": "轮",
    "step": "步",
    "loss": "损失",
    "{ms} ms/step": "{ms} ms/步",
    "ETA {span}": "剩余 {span}",
    "{count} compiling": "{count} 个编译中",
    "{count} silent": "{count} 个无输出",
    "took {span}": "用时 {span}",
    "exit code unknown": "退出码未知",
    "exit code {code}": "退出码 {code}",
    "ended by {signal}": "被 {signal} 终止",
    "{who} failed first": "{who} 最先失败",
    "{who} failed first: ": "{who} 最先失败：",
    "finding out why": "查找原因",
    "D: why": "D：原因",
    "o: to the line, d: details": "o：跳到该行，d：详情",
    "1 rank is silent": "1 个 rank 无输出",
    "{count} ranks are silent": "{count} 个 rank 无输出",
    " for {span}": "，已 {span}",
    "D: what holds it up": "D：查找卡住的原因",
    "lost: its supervisor died": "失联：它的监护进程已死",
    "D: what is known": "D：已知的情况",
    "stopping: its processes get time to end": "停止中：等待各进程结束",
    "x: kill them": "x：强制终止",
    # the ranks
    "Rank": "Rank",
    "Phase": "阶段",
    "Step": "步",
    "Loss": "损失",
    "Last": "末行",
    "Err": "错误",
    "Exit": "退出",
    "Memory": "内存",
    "Warn": "警告",
    "Dev": "设备",
    "Dev mem": "显存",
    "Pid": "进程",
    "Node": "节点",
    "no process is known yet": "还没有进程",
    "rank {rank}": "rank {rank}",
    "all {count} logs by time": "全部 {count} 个日志，按时间",
    "ranks {ranks} by time": "rank {ranks}，按时间",
    # details and phases
    "Details": "详情",
    "Phases": "阶段",
    "finding out": "诊断中",
    "looking again": "重新诊断中",
    "No diagnosis yet. D makes one now.": "还没有诊断。按 D 立即诊断。",
    "Running, nothing found so far. D looks now.": "运行中，目前没有发现问题。按 D 立即诊断。",
    "Consequences ({count})": "后果（{count}）",
    "Also": "另有",
    "1 rank": "1 个 rank",
    "{count} ranks": "{count} 个 rank",
    "no rank has a log": "没有 rank 日志",
    "The logs name no error and no exit code is known: the end of this run is not in them.": (
        "日志中没有错误，退出码也未知：日志里没有这次运行的结尾。"
    ),
    "reading the logs": "读取日志",
    "not ended": "未结束",
    "read-only: nothing is started, stopped or changed here": "只读：这里不启动、不停止也不更改任何运行",
    "{key} is a key of the log; Tab goes there": "{key} 是日志的按键；按 Tab 转到日志",
    "This finding names no line.": "这条诊断没有指明行。",
    # questions and answers
    "no process of it is left; its record gets an end": "它已没有进程；将补上结束记录",
    "1 process": "1 个进程",
    "{count} processes": "{count} 个进程",
    "Stop run {id} with its {count}?": "停止运行 {id}（{count}）？",
    "Run {id} is stopping; kill what is left, {count}?": "运行 {id} 正在停止；强制终止剩下的 {count}？",
    "Kill run {id} with its {count}?": "强制终止运行 {id}（{count}）？",
    "x, y, Enter: stop (SIGINT, then SIGTERM, then SIGKILL)": "x、y、Enter：停止（依次 SIGINT、SIGTERM、SIGKILL）",
    "X: kill them at once (SIGKILL)": "X：立即强制终止（SIGKILL）",
    "x, y: kill at once (SIGKILL)": "x、y：立即强制终止（SIGKILL）",
    "Adopt {title}?": "接管 {title}？",
    "y, Enter: adopt": "y、Enter：接管",
    "n, Esc: no": "n、Esc：取消",
    "{id} runs on {host}; it is never signalled from here": "{id} 在 {host} 上运行；不会从这里向它发信号",
    "stopping {id}": "正在停止 {id}",
    "killing {id}": "正在强制终止 {id}",
    "{id} had already ended": "{id} 已经结束",
    "run {id} had lost its supervisor; ended: {names}": "运行 {id} 失去了监护进程；已终止：{names}",
    "nothing was left": "没有剩余进程",
    # longer texts
    "empty": """这里还没有运行。

n  启动一次：表单含全部参数，并显示将执行的命令
v  显示所有目录的运行

在任何终端执行 mswb run SCRIPT，也会出现在这里。
打开任意一次运行的日志目录：mswb ui PATH""",
    "empty read-only": """这里还没有运行。

v  显示所有目录的运行

以 --read-only 打开：这里不启动也不停止任何运行。
打开任意一次运行的日志目录：mswb ui PATH""",
    "adopting": "mswb 会把它们记录为一次运行：退出码、最先的失败、可停止。它们照常继续。",
    "legend": "s 启动  j 组网  C 编译  L 下发  T 训练",
    "no phases": (
        "日志中没有阶段信息。MindSpore 在 INFO 级别才写：用 --log_level INFO 运行，"
        "或用 MS_SUBMODULE_LOG_v={{PIPELINE:1}} 只打开编译器的日志。"
    ),
}
_ENGLISH = {
    "empty": """No runs here yet.

n  start one: a form with every flag, and the exact command
v  show the runs of all folders

mswb run SCRIPT in any terminal starts one, too; it appears here.
A log folder of any other run:  mswb ui PATH""",
    "empty read-only": """No runs here yet.

v  show the runs of all folders

Started with --read-only: nothing is started or stopped from here.
A log folder of any other run:  mswb ui PATH""",
    "adopting": "mswb records them as a run: exit codes, the first failure, stop. They go on as they are.",
    "legend": "s starting  j joining the cluster  C compiling  L launching  T training",
    "no phases": (
        "The logs tell of no phases. MindSpore writes them at level INFO: run with --log_level INFO, "
        "or MS_SUBMODULE_LOG_v={{PIPELINE:1}} for the compiler alone."
    ),
}


def word(name: str, **values: object) -> str:
    """The words of this name with the values filled in, in the language of this process."""
    table = _CHINESE if language() == "zh" else _ENGLISH
    return table.get(name, name).format(**values)


def chinese() -> dict[str, str]:
    """The Chinese of every word, for the test that none is missing."""
    return dict(_CHINESE)
