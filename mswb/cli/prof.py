"""``mswb prof``: what a profile shows. ``show`` sums it up, ``ops`` lists operators, ``gaps`` the longest waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from mswb import __version__
from mswb.cli import output
from mswb.findings import language
from mswb.flows.profiles import open_profile
from mswb.profile.devices import CAUSES, Usage
from mswb.profile.operators import Operator
from mswb.profile.summary import DeviceSummary, Summary, median_step_ns, summarise
from mswb.profile.waits import Wait

MOST = 12
"""Operators and waits that text shows without --all."""

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "window": "{path}: {window} in all, {events} events",
        "steps": "{count} steps, typically {median} each",
        "inferred": "{count} steps by the operators that repeat, typically {median} each (first one apart)",
        "device": "device",
        "rank": "rank",
        "compute": "compute",
        "communication": "communication",
        "overlap": "overlap",
        "idle": "idle",
        "without": "not computing, by cause:",
        "operator": "operator",
        "count": "count",
        "total": "total",
        "share": "share",
        "self": "self",
        "median": "median",
        "at": "at",
        "length": "length",
        "cause": "cause",
        "span": "held up by",
        "none": "no device ran anything in this trace: the operators are those of the host",
        "no_waits": "no gap is longer than the ordinary pause between two kernels",
        "others": "{count} more profiles lie here; the newest was read",
        "more": "… and {count} more: --all shows them",
    },
    "zh": {
        "window": "{path}：共 {window}，{events} 个事件",
        "steps": "{count} 步，每步通常 {median}",
        "inferred": "按算子重复推断为 {count} 步，每步通常 {median}（首步除外）",
        "device": "设备",
        "rank": "rank",
        "compute": "计算",
        "communication": "通信",
        "overlap": "重叠",
        "idle": "空闲",
        "without": "未计算的时间，按原因：",
        "operator": "算子",
        "count": "次数",
        "total": "总计",
        "share": "占比",
        "self": "自身",
        "median": "中位",
        "at": "时刻",
        "length": "时长",
        "cause": "原因",
        "span": "受阻于",
        "none": "该 trace 中没有设备活动：算子为主机侧的",
        "no_waits": "没有超过内核间正常停顿的空隙",
        "others": "此处还有 {count} 份性能数据；读取了最新的一份",
        "more": "… 另有 {count} 项：--all 全部显示",
    },
}


class ProfGroup(click.Group):
    """A group that says of the options of a profiled run that there is none yet."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0].partition("=")[0] in _RUNNING:
            problem = f"{args[0]}: mswb {__version__} reads profiles and does not start profiled runs yet"
            raise click.UsageError(problem, ctx)
        return super().parse_args(ctx, args)


_RUNNING = frozenset({"--output", "--training", "--parallel", "--model", "--cann"})


@click.group(cls=ProfGroup)
def prof() -> None:
    """Read profiles: what the device waited for, and which operators took the time."""


@prof.command()
@click.argument("path")
@output.format_option
def show(path: str, form: str) -> int:
    """Sum up the profile at PATH: a trace, a profiler's folder, or a folder that holds one.

    Says how each device spent the time, for what it waited, and what to do about it.
    """
    found, others = _summary(path)
    if form == "json":
        output.emit("profile", found.findings, **report(found))
        return 0
    _head(found, others)
    for part in found.devices:
        _show_device(part, found.profile.rank)
    if not found.devices:
        print(_words()["none"])
    print()
    _show_operators(found, MOST)
    if found.findings:
        print()
        output.show_findings(found.findings, lang=language())
    return 0


@prof.command()
@click.argument("path")
@click.option("--all", "everything", is_flag=True, help="All operators.")
@output.format_option
def ops(path: str, everything: bool, form: str) -> int:
    """The operators of a profile, the longest first."""
    found, others = _summary(path)
    if form == "json":
        output.emit("prof_ops", found.findings, operators=[_operator(one) for one in found.operators])
        return 0
    _head(found, others)
    _show_operators(found, None if everything else 2 * MOST)
    return 0


@prof.command()
@click.argument("path")
@click.option("--all", "everything", is_flag=True, help="All of the longest waits that are kept.")
@output.format_option
def gaps(path: str, everything: bool, form: str) -> int:
    """The longest times in which a device stood still, and what held it up."""
    found, others = _summary(path)
    if form == "json":
        rows = [_wait(wait, part, found) for part in found.devices for wait in part.waits]
        output.emit("prof_gaps", found.findings, gaps=rows)
        return 0
    _head(found, others)
    _show_waits(found, None if everything else MOST)
    return 0


def report(found: Summary) -> dict[str, Any]:
    """The keys of a report of kind ``mswb.profile/1``; times in microseconds."""
    timeline = found.profile.timeline
    events = timeline.events
    low = timeline.window[0]
    return {
        "path": found.profile.path,
        "kind": found.profile.kind,
        "window_us": found.window_ns / 1000,
        "devices": [_usage(part.usage, found.profile.rank) for part in found.devices],
        "operators": [_operator(one) for one in found.operators],
        "steps": [
            {
                "step": step.number,
                "start_us": (step.start - low) / 1000,
                "duration_us": (step.end - step.start) / 1000,
                "inferred": step.inferred,
                "devices": [_usage(part.by_step[at], found.profile.rank) for part in found.devices],
            }
            for at, step in enumerate(found.steps)
        ],
        "events": {"read": events.read, "kept": events.kept, "dropped": events.dropped},
    }


def _summary(path: str) -> tuple[Summary, Sequence[str]]:
    profile, others = open_profile(path)
    return summarise(profile), others


def _usage(used: Usage, rank: int | None) -> dict[str, Any]:
    return {
        "rank": used.device.rank if used.device.rank is not None else rank,
        "device": used.device.device,
        "window_us": used.window / 1000,
        "busy_us": used.busy / 1000,
        "compute_us": used.compute / 1000,
        "communication_us": used.communication / 1000,
        "overlap_us": used.overlap / 1000,
        "idle_us": used.idle / 1000,
        "idle_by_cause_us": {cause: used.by_cause[cause] / 1000 for cause in CAUSES},
    }


def _operator(one: Operator) -> dict[str, Any]:
    return {
        "name": one.name,
        "type": one.type,
        "role": one.role.name.lower(),
        "count": one.count,
        "total_us": one.total_ns / 1000,
        "self_us": one.self_ns / 1000,
        "median_us": one.median_ns / 1000,
        "min_us": one.min_ns / 1000,
        "max_us": one.max_ns / 1000,
    }


def _wait(wait: Wait, part: DeviceSummary, found: Summary) -> dict[str, Any]:
    return {
        "rank": found.profile.rank,
        "device": part.usage.device.device,
        "start_us": (wait.start - found.profile.timeline.window[0]) / 1000,
        "duration_us": (wait.end - wait.start) / 1000,
        "cause": wait.cause,
        "share": wait.share,
        "span": wait.span,
        "track": wait.track,
    }


def _words() -> Mapping[str, str]:
    return WORDS[language()]


def _head(found: Summary, others: Sequence[str]) -> None:
    words, events = _words(), found.profile.timeline.events
    place = output.short_path(found.profile.path)
    print(output.safe_line(words["window"].format(path=place, window=duration(found.window_ns), events=events.kept)))
    if others:
        print(words["others"].format(count=len(others)))
    median = median_step_ns(found.steps)
    if median is not None:
        text = words["inferred" if found.steps[0].inferred else "steps"]
        print(text.format(count=len(found.steps), median=duration(median)))


def _show_device(part: DeviceSummary, rank: int | None) -> None:
    words, used = _words(), part.usage
    names = [f"{words['rank']} {rank}"] if rank is not None else []
    names.append(words["device"] + (f" {used.device.device}" if used.device.device is not None else ""))
    print()
    print(f"{' '.join(names)}:")
    for name, value in (
        ("compute", used.compute),
        ("communication", used.communication),
        ("overlap", used.overlap),
        ("idle", used.idle),
    ):
        print(f"  {words[name]:<16} {_share(value, used.window)}  {duration(value)}")
    print(f"  {words['without']}")
    for cause in sorted(CAUSES, key=lambda one: -used.by_cause[one]):
        if used.by_cause[cause]:
            print(f"    {cause:<14} {_share(used.by_cause[cause], used.window)}  {duration(used.by_cause[cause])}")


def _show_operators(found: Summary, most: int | None) -> None:
    words = _words()
    whole = sum(one.self_ns for one in found.operators) or 1
    shown = found.operators if most is None else found.operators[:most]
    rows = [
        (
            _end(one.name),
            one.count,
            duration(one.total_ns),
            f"{100 * one.self_ns / whole:.1f} %",
            duration(one.median_ns),
        )
        for one in shown
    ]
    heads = [words[name] for name in ("operator", "count", "total", "share", "median")]
    output.show_table(heads, rows, right=(1, 2, 3, 4))
    _more(len(found.operators) - len(shown))


def _show_waits(found: Summary, most: int | None) -> None:
    words, low = _words(), found.profile.timeline.window[0]
    waits = [wait for part in found.devices for wait in part.waits]
    shown = waits if most is None else waits[:most]
    if not waits:
        print(words["no_waits"])
        return
    rows = [(duration(one.start - low), duration(one.end - one.start), one.cause, one.span) for one in shown]
    output.show_table([words[name] for name in ("at", "length", "cause", "span")], rows, right=(0, 1))
    _more(len(waits) - len(shown))


def _end(name: str) -> str:
    """The end of a long name, which is the operator; scopes come before it."""
    room = max(20, output.width() - 44)
    return name if len(name) <= room else f"…{name[1 - room :]}"


def _more(count: int) -> None:
    if count > 0:
        print(_words()["more"].format(count=count))


def _share(value: int, window: int) -> str:
    return f"{100 * value / window if window else 0:5.1f} %"


def duration(nanoseconds: int) -> str:
    """``12.3 ms`` for 12345678: three digits, in the unit that fits."""
    value = float(nanoseconds)
    for unit, size in (("ns", 1000), ("us", 1000), ("ms", 1000)):
        if value < size:
            return f"{value:.3g} {unit}"
        value /= size
    return f"{value:.3g} s" if value < 1000 else f"{value:.0f} s"
