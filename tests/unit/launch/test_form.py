"""Form and command line are two views of one launch: what one holds, the other says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mswb.findings import MswbError
from mswb.launch import form
from mswb.launch.command import LaunchRequest, parse_flags
from mswb.launch.flags import FLAGS
from mswb.launch.form import SCRIPT, SCRIPT_ARGUMENTS, Values

TEXT = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=12)
WORD = st.one_of(TEXT, st.sampled_from(["-v", "--", "-", "--worker_num", "--lr=1", "-1", "A=1", "训练.py", "a b", "'"]))


def given_texts() -> st.SearchStrategy[dict[str, tuple[str, ...]]]:
    """Texts for any flags, sensible or not; a switch that is off is no entry."""
    names = st.sampled_from([name for name in FLAGS if name != "help"])

    def texts(name: str) -> st.SearchStrategy[tuple[str, ...]]:
        if FLAGS[name].switch:
            return st.sampled_from([("true",), ("maybe",)])
        return st.lists(WORD, min_size=1, max_size=3 if FLAGS[name].many else 1).map(tuple)

    pairs = names.flatmap(lambda name: st.tuples(st.just(name), texts(name)))
    return st.lists(pairs, max_size=8).map(dict)


VALUES = st.builds(Values, given_texts(), st.lists(WORD, max_size=4).map(tuple))


@given(VALUES)
def test_values_come_back_from_their_command_line(values: Values) -> None:
    assert form.read_arguments(form.arguments(values)) == values
    assert form.read_line(form.line(values)) == values or form.arguments(values)[:2] == ("mswb", "run")


@given(VALUES)
def test_each_field_can_be_typed_again(values: Values) -> None:
    """Putting what a field shows back into the field changes nothing."""
    for name in (*form.fields(), SCRIPT, SCRIPT_ARGUMENTS):
        if values.text(name) == "":
            continue  # an empty text shows as an empty field, which is no flag and no script
        again = values.with_text(name, values.text(name))
        assert form.arguments(again) == form.arguments(values)


FLAG_LINES = st.lists(
    st.one_of(
        st.integers(1, 8).map(lambda n: ["--worker_num", str(n)]),
        st.integers(1, 8).map(lambda n: [f"--local-worker-num={n}"]),
        st.integers(1024, 60000).map(lambda n: ["--master_port", str(n)]),
        st.sampled_from([["--join", "False"], ["--detach"], ["--skip-check=false"], ["--verbose=True"], ["-v"]]),
        st.sampled_from([["--log_level", "warning"], ["--log_level=0"], ["--backend", "direct"], ["--sim_level=1"]]),
        TEXT.map(lambda text: ["--env", f"NAME={text}"]),
        TEXT.map(lambda text: [f"--python={text}"]),
        st.sampled_from([["--no_env", "HOME"], ["--no-env=LANG"], ["--tail_worker_log", "0"], ["--bind_core=False"]]),
    ),
    max_size=8,
).map(lambda lists: [word for words in lists for word in words])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FLAG_LINES, st.lists(TEXT, max_size=3))
def test_a_typed_line_means_the_same_after_a_visit_to_the_form(
    tmp_path: Path, flags: list[str], behind: list[str]
) -> None:
    (tmp_path / "train.py").touch()
    typed = [*flags, "train.py", *behind]
    understood = meaning(typed, tmp_path)
    if understood is not None:  # else the form may have dropped what was wrong: of a flag given twice the last counts
        assert meaning(form.arguments(form.read_arguments(typed)), tmp_path) == understood


def meaning(argv: Sequence[str], folder: Path) -> LaunchRequest | None:
    try:
        return parse_flags(argv, {}, str(folder))
    except MswbError:
        return None


def test_every_flag_has_a_field_in_a_group() -> None:
    assert set(form.fields()) == set(FLAGS) - {"help"}
    assert {one.group for one in form.fields().values()} == {group.key for group in form.groups()}
    grouped = [one.name for group in form.groups() for one in group.fields]
    assert sorted([*grouped, *(one.name for one in form.essentials())]) == sorted(form.fields())


def test_fields_are_complete_in_both_languages() -> None:
    for one in form.fields().values():
        assert one.meaning("en") == one.flag.help
        assert any("\u4e00" <= character <= "\u9fff" for character in one.meaning("zh")), one.name
        assert (one.kind == "switch") == one.flag.switch
        assert (one.kind == "list") == one.flag.many
        assert one.default("en") or one.kind == "switch", one.name
        assert one.choices or one.kind != "choice", one.name


def test_each_choice_is_understood() -> None:
    for one in form.fields().values():
        for text in one.choices:
            assert form.problem(one.name, text) is None


def test_a_line_is_cut_as_a_shell_does_and_may_begin_with_the_command() -> None:
    values = form.read_line("mswb run --worker_num 2 --env A=1 --env 'B=x y' train.py --lr 0.1 'a b'")
    assert values.given == {"worker_num": ("2",), "env": ("A=1", "B=x y")}
    assert values.text(SCRIPT) == "train.py"
    assert values.text(SCRIPT_ARGUMENTS) == "--lr 0.1 'a b'"
    assert values.text("env") == "A=1 'B=x y'"


def test_fields_change_one_by_one() -> None:
    values = Values().with_text("worker_num", "4").with_text(SCRIPT_ARGUMENTS, "--lr 1").with_text(SCRIPT, "t.py")
    values = values.with_text("env", "A=1 B='2 3'").with_text("detach", "true")
    assert form.line(values) == "--worker_num 4 --env A=1 --env 'B=2 3' --detach t.py --lr 1"
    assert form.line(values.with_text("env", "").with_text("worker_num", "").with_text("detach", "")) == "t.py --lr 1"


def test_an_emptied_script_leaves_no_word_behind() -> None:
    assert Values({}, ("t.py",)).with_text(SCRIPT, "").program == ()
    assert Values().with_text(SCRIPT_ARGUMENTS, "").program == ()


@pytest.mark.parametrize("text", ["--worker_num 2 'train.py", "--env 'A=1"])
def test_an_open_quote_is_one_clear_sentence(text: str) -> None:
    with pytest.raises(MswbError, match="quote"):
        form.read_line(text)


def test_a_problem_is_found_in_the_field_itself() -> None:
    found = form.problem("worker_num", "two")
    assert found is not None and "whole number" in found.title
    assert form.problem("worker_num", "") is None
    assert form.problem("env", "A=1 'B=2'") is None
    assert form.problem("env", "A") is not None
    assert form.problem(SCRIPT_ARGUMENTS, "'") is not None
    assert form.problem(SCRIPT, "'") is None


@pytest.mark.parametrize(
    "argv, name",
    [
        (["--worker_num", "x", "train.py"], "worker_num"),
        (["--worker_num", "0", "train.py"], "worker_num"),
        (["--node_rank", "-5", "train.py"], "node_rank"),
        (["--rank_table_file", "absent.json", "train.py"], "rank_table_file"),
        (["--env", "MS_ROLE=MS_SCHED", "train.py"], "env"),
        (["tran.py"], SCRIPT),
        ([], SCRIPT),
        ([""], SCRIPT),
    ],
)
def test_a_refusal_knows_its_field(argv: list[str], name: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    with pytest.raises(MswbError) as caught:
        parse_flags(argv, {}, str(tmp_path))
    assert form.field_of(caught.value.finding) == name


def test_a_filter_looks_at_names_and_both_languages() -> None:
    found = {one.name for one in form.fields().values() if form.matches(one, "ssl key")}
    assert found == {"ssl_key_path"}
    assert form.matches(form.fields()["bind_numa"], "NUMA 节点")
    assert form.matches(form.fields()["log_dir"], "log-dir")
    assert all(form.matches(one, "") for one in form.fields().values())


@pytest.mark.parametrize("word", ["\x1b]52;c;eA==\x07", "a\nb", "tab\there", "\u202eevil"])
def test_control_characters_are_nothing_for_a_form(word: str) -> None:
    assert not form.can_be_shown(["train.py", word])
    assert form.can_be_shown(["train.py", "训练 é"])
