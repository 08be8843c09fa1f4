"""A loop in the graph: a function that calls itself as long as a condition holds.

MindSpore writes ``while`` as a header that computes the condition and calls either the body, which ends by calling the
header again, or what comes after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mswb.convert.arith import Num
from mswb.convert.graph import Builder, Value

Step = Callable[[list[Num], list[Num]], list[Num]]
"""The state and what stays the same → the next state."""
Condition = Callable[[list[Num], list[Num]], Num]
"""The state and what stays the same → whether to go on, without dimensions."""


def repeat(b: Builder, state: Sequence[Num], fixed: Sequence[Num], go_on: Condition, step: Step) -> list[Num]:
    """The state after as many steps as the condition wants; each part keeps its data type and number of dimensions.

    Args:
        fixed: what both read and neither changes.
    """
    varied = [at for at, one in enumerate(fixed) if one.array is None]
    arguments = [one.value for one in (*state, *(fixed[at] for at in varied))]

    def enter(title: str) -> tuple[Builder, list[Value], list[Num], list[Num]]:
        own = Builder(f"{b.scope}/{title}" if b.scope else title, b.shared)
        own.scope = b.scope
        inputs = [own.input(one.name, one.dtype, one.shape) for one in arguments]
        given = [Num(own, one) for one in inputs]
        kept = [Num(own, one.content) for one in fixed]
        for place, one in zip(varied, given[len(state) :], strict=True):
            kept[place] = one
        return own, inputs, given[: len(state)], kept

    header, inputs, now, kept = enter("while")
    body, body_inputs, body_now, body_kept = enter("do")
    after, _, after_now, _ = enter("done")
    following = [one.value for one in step(body_now, body_kept)]
    again = body.call(f"REF::{header.name}", "again", [*following, *body_inputs[len(state) :]], dtype="tuple")
    result = after.tuple([one.value for one in after_now])
    condition = go_on(now, kept)
    branches = [
        header.op("Partial", Value(one.name), *inputs, dtype="function", attributes={}) for one in (body, after)
    ]
    chosen = header.op("Switch", condition.value, *branches, dtype="function", attributes={})
    end = header.call(f"REF::{chosen.name}", "call", [], dtype="tuple")
    b.shared.functions += [header.finish([end]), body.finish([again]), after.finish([result])]
    whole = b.call(f"REF::{header.name}", "loop", arguments, dtype="tuple")
    return [Num(b, b.item(whole, at, one.dtype, one.shape)) for at, one in enumerate(state)]
