"""What of branches, loops and sequences is refused, and how loops are written; their answers are tried end to end."""

from __future__ import annotations

from pathlib import Path

import pytest

from mswb.convert import to_mindir
from mswb.convert.mindir import lint
from tests.unit.convert.onnx_models import model_of, saved

LOOP = """g (float[n,3] x, int64 most, bool c) => (float[n,3] y, float[s,n,3] r) {{
    {before}
    y, r = Loop({most}, {cond}, x) <
        body = b (int64 i, bool k, float[n,3] v) => (bool k2, float[n,3] v2, float[n,3] z) {{
        {body}
    }}>
}}"""
STEADY = "k2 = Identity(k) v2 = Neg(v) z = Identity(v2)"
TRUE = "t = Constant<value = bool {1}>()"


def converted(text: str, folder: Path) -> to_mindir.Converted:
    done = to_mindir.convert(str(saved(model_of(text), folder)))
    if done.model is not None:
        assert not [one for one in lint.findings("net.mindir", done.model) if one.severity == "error"]
    return done


@pytest.mark.parametrize(
    ("count", "functions"), [(0, 0), (7, 0), (100_000, 3)], ids=["never", "written out", "functions"]
)
def test_a_loop_of_known_length(count: int, functions: int, tmp_path: Path) -> None:
    text = LOOP.format(before=f"{TRUE} m = Constant<value = int64 {{{count}}}>()", most="m", cond="t", body=STEADY)
    text = text.replace("float[n,3] x", "float[2,3] x").replace("float[s,n,3] r", "float[s,2,3] r")
    done = converted(text, tmp_path)
    assert done.model is not None and len(done.model.functions) == functions


def test_a_condition_that_changes_makes_functions(tmp_path: Path) -> None:
    body = "k2 = Not(k) v2 = Neg(v) z = Identity(v2)"
    text = LOOP.format(before=f"{TRUE} m = Constant<value = int64 {{3}}>()", most="m", cond="t", body=body)
    done = converted(text, tmp_path)
    assert done.model is not None and len(done.model.functions) == 3


def test_a_branch_that_is_known_is_built_in_place(tmp_path: Path) -> None:
    text = """g (float[n] x) => (float[n] y) {
        t = Constant<value = bool {0}>()
        y = If(t) <then_branch = a () => (float[n] p) { p = Odd(x) }, else_branch = b () => (float[n] q) { q = Neg(x) }>
    }"""
    model = model_of(text)
    model.graph.node[1].attribute[0].g.node[0].op_type = "Exp"
    done = to_mindir.convert(str(saved(model, tmp_path)))
    assert done.model is not None and not done.model.functions
    assert {one.op_type for one in done.model.primitives} == {"Neg"}


REFUSED = {
    "branches of two types": (
        """g (float[n] x, int64[n] i, bool c) => (float[n] y) { z = If(c) <
            then_branch = a () => (float[n] p) { p = Neg(x) }, else_branch = b () => (int64[n] q) { q = Neg(i) }>
            y = Cast<to = 1>(z) }""",
        "one branch gives float32, the other int64",
    ),
    "a rank that changes": (
        """g (float[n] x, int64 most) => (float[n] y) { t = Constant<value = bool {1}>()
            zero = Constant<value = int64[1] {0}>()
            z = Loop(most, t, x) <body = b (int64 i, bool k, float[n] v) => (bool k2, float[m, n] v2) {
                k2 = Identity(k) v2 = Unsqueeze(v, zero) }>
            y = Identity(z) }""",
        "number of dimensions",
    ),
    "random numbers in a while loop": (
        LOOP.format(before="", most="", cond="c", body="k2 = Not(k) v2 = RandomNormalLike(v) z = Identity(v2)"),
        "random numbers",
    ),
    "pieces whose number is open": (
        """g (float[n,3] x) => (float[m,3] y) { s = SplitToSequence<axis = 0>(x)
            y = ConcatFromSequence<axis = 0>(s) }""",
        "how many members",
    ),
    "a place that is open": (
        """g (float[n,3] x, int64 at) => (float[m,3] y) { s = SequenceConstruct(x, x) y = SequenceAt(s, at) }""",
        "the place in the sequence is only known when the model runs",
    ),
    "a place outside": (
        """g (float[n,3] x) => (float[m,3] y) { at = Constant<value = int64 {5}>()
            s = SequenceConstruct(x, x) y = SequenceAt(s, at) }""",
        "place 5 is outside of 2 members",
    ),
    "a sequence out of a branch": (
        """g (float[n,3] x, bool c) => (float[m,3] y) { s = If(c) <
            then_branch = a () => (seq(float[n,3]) p) { p = SequenceConstruct(x) },
            else_branch = b () => (seq(float[n,3]) q) { q = SequenceConstruct(x, x) }>
            y = ConcatFromSequence<axis = 0>(s) }""",
        "a sequence",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_by_name(name: str, tmp_path: Path) -> None:
    text, words = REFUSED[name]
    done = converted(text, tmp_path)
    assert done.model is None
    assert words in " ".join(one.title for one in done.findings)
    assert "ONNX defines" not in " ".join(one.title for one in done.findings)
