"""The log view on its own: plain, merged, filtered, searched, folded, hostile, Chinese, followed, marked."""

from __future__ import annotations

from mswb.launch.logview.source import ShownLog
from mswb.ui.widgets.log import LogPanel
from tests.ui.scenes.stage import Scene, Stage
from tests.ui.scenes.texts import TRACEBACK, rank_text, record

CHINESE = "".join(
    record(number * 1_000_000, f"第 {number} 步，损失 {4 / number:.3f}，数据加载完成") for number in range(1, 60)
)
HOSTILE = (
    "\x1b[31mred\x1b[0m and \x1b[2J\x1b[H cleared\n"
    "\x1b]52;c;aGVsbG8=\x07 wants the clipboard\n"
    "[bold red]markup[/bold red] and [link=http://x]a link[/link]\n"
    "tab\there, bell\x07, null\x00, delete\x7f\n"
    "‮right to left‬ and zero​width\n"
    "bad bytes: \udcff\udcfe\n"
    f"{'very long ' * 300}\n"
    "10%|# |\r50%|##### |\r100%|##########|\n"
    "half a line without an end"
)
SECTIONS = (
    record(1_000_000, "Start compiling graph Net_0")
    + "".join(record(1_000_000 + number * 10_000, f"pass {number} of opt", level="DEBUG") for number in range(8))
    + record(2_000_000, "graph compiled", level="WARNING")
    + TRACEBACK
    + record(3_000_000, "task failed", level="ERROR")
    + TRACEBACK.replace("4", "5")
    + "end\n"
)


def shows(*texts: str, keys: tuple[str, ...] = (), title: str = "", **named: object) -> Scene:
    """A panel on files of these texts, one a rank, and keys pressed in it."""

    async def play(stage: Stage) -> None:
        logs = []
        for rank, text in enumerate(texts):
            path = stage.folder / f"worker_{rank}.log"
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
            logs.append(ShownLog(path.name, "worker", rank))
        panel = LogPanel(stage.app.context, id="log")
        await stage.pane.mount(panel)
        if logs:
            panel.open(logs, title=title)
            await stage.until(lambda: panel.body is not None and panel.body.engine.snapshot.built)
        panel.front.focus()
        await stage.settled()
        await stage.press(*keys)

    return Scene(play, **named)  # type: ignore[arg-type]


PLAIN = rank_text(0, 60)
SCENES = {
    "none": shows(),
    "empty": shows(""),
    "following": shows(PLAIN),
    "plain": shows(PLAIN, keys=("g",)),
    "titled": shows(PLAIN, keys=("g",), title="rank 0"),
    "merged": shows(PLAIN, rank_text(1, 60), rank_text(2, 60), keys=("g",), title="all 3 logs by time"),
    "error": shows(PLAIN, keys=("g", "e")),
    "search_open": shows(PLAIN, keys=("slash", *"loss")),
    "searched": shows(PLAIN, keys=("g", "slash", *"step: 1", "enter", "n")),
    "not_found": shows(PLAIN, keys=("slash", *"zzz", "enter")),
    "level": shows(PLAIN, keys=("l", "l")),
    "filter_open": shows(PLAIN, keys=("f",)),
    "filtered": shows(PLAIN, keys=("g", "ampersand", *"loss", "enter")),
    "dropped": shows(PLAIN, keys=("g", "exclamation_mark", *"loss", "enter")),
    "nothing_left": shows(PLAIN, keys=("ampersand", *"zzz", "enter")),
    "folded": shows(SECTIONS, keys=("g", "Z")),
    "unfolded": shows(SECTIONS, keys=("g",)),
    "bookmarks": shows(PLAIN, keys=("g", "m", "j", "j", "m", "u")),
    "selected": shows(PLAIN, keys=("g", "j", "v", "j", "j", "j")),
    "details": shows(PLAIN, keys=("g", "enter")),
    "details_block": shows(SECTIONS, keys=("G", "k", "k", "enter")),
    "raw": shows(PLAIN, keys=("g", "h")),
    "long": shows(HOSTILE, keys=("g", "a")),
    "right": shows(PLAIN, keys=("g", "h", "right", "right")),
    "hostile": shows(HOSTILE, keys=("g",)),
    "chinese": shows(CHINESE, keys=("g",)),
    "chinese_words": shows(CHINESE, keys=("g", "slash", *"损失", "enter"), config='lang = "zh"\n'),
    "ascii": shows(SECTIONS, keys=("g", "m", "Z"), options={"ascii": True}),
}
"""Every state of the log view."""
