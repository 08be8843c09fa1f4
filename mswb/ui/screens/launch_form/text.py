"""The sentences of the launch form: whether it can start, what a field means, what exactly would be started. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from mswb.files.safety import printable, printable_block
from mswb.findings import Severity, language
from mswb.launch import form
from mswb.launch.form import SCRIPT
from mswb.ui.glyphs import glyph, severity_word
from mswb.ui.screens.launch_form.state import Checked, FormState
from mswb.ui.widgets.lines import Line, wrap

if TYPE_CHECKING:  # it loads much, and the first frame needs none of it
    from mswb.flows.run import Prepared
    from mswb.jobs.spec import ProcessSpec

_COLOURS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "note": "text-muted"}


class Status(NamedTuple):
    """The row beside the start: a sign, a sentence, a theme variable; ``can_start`` as far as it is known."""

    sign: str
    text: str
    colour: str
    can_start: bool


def say(english: str, chinese: str) -> str:
    """The words in the language of this process."""
    return chinese if language() == "zh" else english


def status(state: FormState) -> Status:
    """Whether it can start, in one sentence."""
    if state.read_only:
        return Status("stopped", say("read-only: nothing is started", "只读：不会启动"), "warning", False)
    if state.starting:
        return Status("starting", say("starting", "正在启动"), "accent", False)
    problem = next(iter(state.problems().values()), None)
    if problem is not None:
        return Status("error", printable(problem.title), "error", False)
    if state.lacks_script:
        return Status("dot", say("there is no script to start yet", "还没有要启动的脚本"), "text-muted", False)
    if not state.is_checked or state.checked is None:
        return Status("starting", say("checking", "正在检查"), "text-muted", True)
    if state.checked.refused is not None:
        return Status("error", printable(state.checked.refused.title), "error", False)
    return _checked_status(state, state.checked)


def _checked_status(state: FormState, checked: Checked) -> Status:
    errors = checked.errors
    if state.blocked:
        first = printable(checked.findings[0].title)
        text = say(
            f"{_count(errors, 'error')} in the way: {first} (skip_check starts it all the same)",
            f"{errors} 个错误阻止启动：{first}（skip_check 可强制启动）",
        )
        return Status("error", text, "error", False)
    if state.missing:
        names = printable(", ".join(state.missing))
        return Status(
            "warning",
            say(f"set {names} again: its value is never kept", f"请重新设置 {names}：其值不保存"),
            "warning",
            True,
        )
    request = checked.prepared.request if checked.prepared is not None else None
    assert request is not None
    what = say(
        f"ready: {_count(request.local_worker_num, 'worker')} here, {request.backend}",
        f"就绪：本机 {request.local_worker_num} 个 worker，{request.backend}",
    )
    warnings = sum(one.severity != "note" for one in checked.findings)
    if warnings:
        return Status(
            "warning", what + say(f"; {_count(warnings, 'warning')}", f"；{warnings} 个警告"), "warning", True
        )
    return Status("ok", what, "success", True)


FOLLOWS = ("worker_num", "local_worker_num")
"""Flags of which one follows from the other where only one is given."""


def default_of(state: FormState, name: str) -> str:
    """What it means that this field is empty, in words; of numbers that follow from others, as the last look saw it."""
    prepared = state.checked.prepared if state.checked is not None else None
    if name in FOLLOWS and prepared is not None:
        return str(getattr(prepared.request, name))
    return form.fields()[name].default(language())


def help_of(state: FormState, name: str) -> str:
    """Two rows at most about the field in focus: what is wrong and what to do, else what it means."""
    problem = state.problems().get(name)
    if problem is not None:
        return printable("; ".join((problem.title, *problem.advice[:1])))
    known = form.fields().get(name)
    if known is not None:
        lang = language()
        default = default_of(state, name)
        empty = say(f" Empty: {default}.", f" 空：{default}。") if default else ""
        return f"--{known.flag.usage[2:]}  {known.meaning(lang)}{empty}"
    return _HELP.get(name, ("", ""))[language() == "zh"]


_HELP = {
    SCRIPT: (
        "The Python file that every rank runs (or python, python3, pytest with arguments). Tab completes.",
        "每个 rank 运行的 Python 文件（或带参数的 python、python3、pytest）。Tab 补全。",
    ),
    form.SCRIPT_ARGUMENTS: (
        "What the script itself gets, quoted as in a shell.",
        "传给脚本自身的参数，引号用法同 shell。",
    ),
    form.LINE: (
        "The same launch as one command line: edit either, the other follows. Up and Down: earlier launches.",
        "同一次启动写成的命令行：两处任改其一。上、下键：以前的启动。",
    ),
    "filter": ("Words of a flag's name or meaning; Esc shows all again.", "参数名或含义中的词；Esc 显示全部。"),
}


def preview_lines(state: FormState, width: int) -> list[Line]:
    """The right side: what stands in the way, the exact command, the environment with the origin of each value."""
    checked = state.checked
    if state.lacks_script:
        nothing = say(
            "What would be started stands here, once there is a script.", "填写脚本后，这里显示将要启动的内容。"
        )
        return [Line(row, "text-muted") for row in wrap(nothing, width)]
    if checked is None:
        return [Line(say("looking at this host ...", "正在检查本机……"), "text-muted")]
    lines = [*_findings_part(checked, width)]
    if checked.prepared is not None:
        lines += _command_part(checked, width)
        lines += _environment_part(checked.prepared, width)
    return lines


def _findings_part(checked: Checked, width: int) -> list[Line]:
    if not checked.findings:
        return [
            *_heading("Checks", "检查"),
            Line(f"{glyph('ok')} " + say("nothing stands in the way", "没有问题"), "success"),
        ]
    lines = _heading("Checks (Enter: details)", "检查（Enter：详情）")
    for index, one in enumerate(checked.findings):
        rows = wrap(f"{severity_word(one.severity)}  {printable(one.title)}", width)
        lines += [Line(row, _COLOURS[one.severity], finding=index) for row in rows]
    return lines


def _command_part(checked: Checked, width: int) -> list[Line]:
    lines: list[Line] = []
    for number, (title, process) in enumerate(_kinds(checked.processes)):
        lines += [*([] if number else [Line("")]), *_heading(*title)]
        lines += [Line(row) for row in wrap(printable(shlex.join(process.argv), 20_000), width)]
        own = " ".join(f"{name}={value}" for name, value in process.env.items())
        if own:
            lines += [
                Line(row, "text-muted")
                for row in wrap(say("its own: ", "自有变量：") + printable(own, 20_000), width, "  ")
            ]
    return lines


def _kinds(processes: tuple[ProcessSpec, ...]) -> list[tuple[tuple[str, str], ProcessSpec]]:
    """One process of each kind with a heading: of workers, which differ only in their numbers, the first."""
    workers = [one for one in processes if one.role == "worker"]
    shown = [(("Command", "命令") if one.role == "launcher" else (one.role.capitalize(), one.role), one)
             for one in processes if one.role != "worker"]  # fmt: skip
    if not workers:
        return shown
    first, count = workers[0], len(workers)
    title = (f"Worker {first.rank}", f"worker {first.rank}")
    if count > 1:
        title = (
            f"Worker {first.rank}, and {count - 1} more with their own numbers",
            f"worker {first.rank}，其余 {count - 1} 个只是编号不同",
        )
    return [*shown, (title, first)]


def _environment_part(prepared: Prepared, width: int) -> list[Line]:
    entries = sorted(prepared.overlay.entries, key=lambda one: _ORIGINS.index(one.origin))
    room = max((len(one.name) for one in entries), default=0)
    lines = [Line(""), *_heading("Environment, over your own", "环境变量（叠加在当前环境之上）")]
    for origin in _ORIGINS:
        rows = [one for one in entries if one.origin == origin]
        if rows:
            lines += [
                Line(row, "text-muted") for row in wrap(f"{origin}: {_ORIGIN_WORDS[origin][language() == 'zh']}", width)
            ]
        for one in rows:
            name = f"  {printable(one.name):<{min(room, 28)}} "
            first, *more = wrap(printable_block(one.value), max(8, width - len(name)))
            lines += [Line(name + first), *(Line(" " * len(name) + row) for row in more)]
    for name in prepared.overlay.removed:
        lines += [
            Line(row, "text-muted")
            for row in wrap(say(f"left out: {printable(name)}", f"去除：{printable(name)}"), width)
        ]
    return lines


_ORIGINS = ("option", "flag", "user", "article", "advice", "mswb")
_ORIGIN_WORDS = {
    "option": ("by --env", "由 --env 设置"),
    "flag": ("follows from another flag", "由其他参数决定"),
    "user": ("yours, kept as it is", "您已设置，保持不变"),
    "article": ("recommended for MindSpore", "MindSpore 推荐值"),
    "advice": ("a default of the documentation", "文档中的默认值"),
    "mswb": ("needed by mswb", "mswb 需要"),
}


def _heading(english: str, chinese: str) -> list[Line]:
    return [Line(say(english, chinese), "accent", bold=True)]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
