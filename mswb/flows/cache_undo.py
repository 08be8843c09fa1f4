"""Taking back what one command did: all of its steps, the last first, and nothing over what has changed since."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mswb.cache.trash import journal
from mswb.cache.trash import moves as trash
from mswb.cache.trash import store as trashes
from mswb.cache.trash.journal import Operation, Step
from mswb.cache.trash.store import TrashItem
from mswb.files.safety import printable
from mswb.findings import Where, language, stop
from mswb.flows.cache_clean import tidy
from mswb.plan import Action, Outcome, Plan, apply, path_identity

WORDS = {
    "en": {
        "back": "from the trash, {item}",
        "instead": "from the trash, {item}; what stands there now goes to the trash",
        "made": "it was made by what is taken back",
        "what": "takes back all of {id}, {when}: {why}",
        "part": "takes back one item of {id}, {when}: {why}",
        "gone": "{path} has left the trash and can't come back",
        "over": "{path} has changed since, or something has come there: it goes to the trash all the same (--force)",
        "next": "what goes to the trash here comes back by its ID ('mswb cache trash'); the next 'mswb cache undo'"
        " goes one operation further back",
    },
    "zh": {
        "back": "来自回收区，{item}",
        "instead": "来自回收区，{item}；当前位于该处的内容移入回收区",
        "made": "由被撤销的操作生成",
        "what": "撤销操作 {id}（{when}）的全部内容：{why}",
        "part": "撤销操作 {id}（{when}）中的一项：{why}",
        "gone": "{path} 已不在回收区，无法恢复",
        "over": "{path} 此后已改变或出现了新内容：仍将移入回收区（--force）",
        "next": "此处移入回收区的内容可按其编号恢复（mswb cache trash）；下一次 mswb cache undo 撤销更早的一个操作",
    },
}


@dataclass(frozen=True, slots=True)
class Undo:
    """An undo that is ready: its plan, and for each action the step that it takes back."""

    operation: Operation
    plan: Plan
    steps: tuple[Step, ...]
    items: Mapping[str, TrashItem]
    forced: bool

    def apply(self) -> list[Outcome]:
        """Do it, as an operation of its own that no undo takes by itself."""
        todo = dict(zip(self.plan.actions, self.steps, strict=True))
        with journal.operation(f"mswb cache undo {self.operation.id}", undoes=self.operation.id):
            outcomes = apply(self.plan, dict.fromkeys(("restore", "trash"), lambda action: self._do(action, todo)))
        tidy()
        return outcomes

    def _do(self, action: Action, todo: Mapping[Action, Step]) -> str:
        step = todo[action]
        if not self.forced and not journal.is_left(step):
            return f"something else has come to {step.path} since"
        try:
            if step.item:
                trash.restore(self.items[step.item], displace=self.forced)
            else:
                trash.move(step.path, why=f"mswb cache undo {self.operation.id}", identity=action.identity)
        except trash.Refused as problem:
            return str(problem)
        journal.taken_back(self.operation.id, step)
        return ""


def prepare(name: str = "", *, force: bool = False) -> Undo | None:
    """The plan that takes back the last operation, or the one (or the single item) that ``name`` names.

    Args:
        force: what has changed since goes to the trash; only for an operation that is named.

    Returns None when there is nothing to take back at all.

    Raises:
        MswbError: ``trash-unknown``; ``undo-changed``: something stands there that the operation has not left;
            ``undo-gone``: nothing of the last operation can come back.
    """
    items = {item.id: item for item in trashes.items()}
    found = journal.operations(list(items.values()))
    chosen = _named(found, name) if name else next((one for one in found if not one.undoes and _is_open(one)), None)
    if chosen is None:
        return None
    forced = force and bool(name)
    steps = [step for step in reversed(chosen.steps) if _can_come_back(step, items)]
    if not steps:
        if not name and not any(_can_come_back(step, items) for one in found for step in one.steps):
            return None
        raise stop("undo-gone", values={"id": chosen.id, "why": chosen.why})
    changed = [step for step in steps if not journal.is_left(step)]
    if changed and not forced:
        path = changed[0].path
        raise stop("undo-changed", where=Where(file=path), values={"path": path, "id": chosen.id, "why": chosen.why})
    plan = Plan(
        tuple(_action(step, items, forced) for step in steps),
        tuple(_notes(chosen, steps, changed, name)),
    )
    return Undo(chosen, plan, tuple(steps), items, forced)


def _named(found: Sequence[Operation], name: str) -> Operation:
    for one in found:
        if one.id == name:
            return one
        steps = tuple(step for step in one.steps if step.item == name)
        if steps:
            return replace(one, steps=steps)
    raise stop("trash-unknown", values={"id": name})


def _is_open(one: Operation) -> bool:
    """Whether an operation still shows: not when it only made what is gone again."""
    return any(step.item or journal.stamp(step.path) for step in one.steps)


def _can_come_back(step: Step, items: Mapping[str, TrashItem]) -> bool:
    """Whether what went lies in a trash still; of what was made, whether anything stands there."""
    return step.item in items if step.item else bool(journal.stamp(step.path))


def _action(step: Step, items: Mapping[str, TrashItem], forced: bool) -> Action:
    words = WORDS[language()]
    if not step.item:
        return trash.trash_action(step.path, words["made"])
    item = items[step.item]
    word = "instead" if step.left or (forced and journal.stamp(step.path)) else "back"
    return Action("restore", item.path, path_identity(item.data), 0, words[word].format(item=item.id))


def _notes(chosen: Operation, steps: Sequence[Step], changed: Sequence[Step], name: str) -> Iterator[str]:
    words = WORDS[language()]
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(chosen.when))
    what = "what" if not name or name == chosen.id else "part"
    yield words[what].format(id=chosen.id, when=when, why=printable(chosen.why, 200))
    for step in chosen.steps:
        if step.item and step not in steps:
            yield words["gone"].format(path=step.path)
    for step in changed:
        yield words["over"].format(path=step.path)
    yield words["next"]
