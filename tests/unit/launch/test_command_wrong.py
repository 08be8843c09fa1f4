"""Each wrong command line is one ``usage`` error with exit code 2, before anything starts and nothing is written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.findings import MswbError
from mswb.launch.command import LaunchRequest, parse_flags
from mswb.launch.flags import FLAGS
from mswb.launch.usage import _sentences, refuse
from tests.unit.launch.asking import ask

WRONG: list[tuple[str, str]] = [
    ("--worker_num 0", "worker-num"),
    ("--worker_num -3", "worker-num"),
    ("--worker_num two", "not-a-number"),
    ("--worker_num 2.0", "not-a-number"),
    ("--worker_num 1_000", "not-a-number"),
    ("--worker_num ٣", "not-a-number"),
    ("--worker_num=", "not-a-number"),
    ("--local_worker_num 0", "local-worker-num"),
    ("--worker_num 2 --local_worker_num 4", "local-over-total"),
    ("--worker_num 4 --local_worker_num 16", "local-over-total"),
    ("--master_port 0", "port-range"),
    ("--master_port 70000", "port-range"),
    ("--master_port -1", "port-range"),
    ("--master_port http", "not-a-number"),
    ("--master_addr 127.0.0.1:70000", "port-range"),
    ("--master_addr 127.0.0.1:", "port-range"),
    ("--master_addr host:port", "port-range"),
    ("--master_addr [::1", "address-brackets"),
    ("--master_addr [::1]9000", "address-brackets"),
    ("--master_addr :8118", "address-empty"),
    ("--master_addr=", "value-empty"),
    ("--master_addr 0.0.0.0", "address-unusable"),
    ("--master_addr ::", "address-unusable"),
    ("--master_addr 224.0.0.1", "address-unusable"),
    ("--master_addr no-such-host.invalid", "address-unresolved"),
    ("--master_addr 127.0.1.1", "address-blind"),
    ("--node_rank -2", "node-rank"),
    ("--worker_num 4 --local_worker_num 2 --node_rank 2", "node-rank-over"),
    ("--join ture", "not-true-or-false"),
    ("--join 1", "not-true-or-false"),
    ("--join", "not-true-or-false"),  # the script's name is taken for the value
    ("--join --worker_num 2", "value-is-a-flag"),
    ("--cluster_time_out soon", "not-a-number"),
    ("--tail_worker_log a,b", "tail-not-numbers"),
    ("--tail_worker_log 0,", "tail-not-numbers"),
    ("--tail_worker_log -2", "tail-not-numbers"),
    ("--worker_num 2 --tail_worker_log 2", "tail-absent"),
    ("--worker_num 4 --local_worker_num 2 --node_rank 1 --tail_worker_log 0", "tail-absent"),
    ("--bind_core maybe", "bind-not-a-table"),
    ('--bind_core {"device0":["0"]', "bind-not-a-table"),
    ('--bind_core ["0"]', "bind-not-a-table"),
    ('--bind_core {"gpu0":["0"]}', "bind-key"),
    ('--bind_core {"device0":"0"}', "bind-ids"),
    ('--bind_core {"device0":[0]}', "bind-ids"),
    ('--bind_core {"device0":["a-b"]}', "bind-ids"),
    ('--bind_core {"device0":["1-0"]}', "bind-ids"),
    ('--bind_core {"device0":["0-999999"]}', "bind-absent"),
    ('--bind_core {"scheduler":["999999"]}', "bind-absent"),
    ('--bind_numa {"device0":["4096"]}', "bind-absent"),
    ("--bind_numa absent.json", "bind-not-a-table"),
    ("--sim_level 4", "sim-level"),
    ("--sim_level -1", "sim-level"),
    ("--sim_rank_id 1", "sim-rank-alone"),
    ("--sim_level 1 --sim_rank_id 8", "sim-rank"),
    ("--sim_level 1 --sim_rank_id -2", "sim-rank"),
    ("--rank_table_file absent.json", "file-absent"),
    ("--rank_table_file .", "file-absent"),
    ("--worker_log_name a/b", "log-name"),
    ("--log_dir train.py", "log-dir-file"),
    ("--log_dir train.py/logs", "log-dir-unwritable"),
    ("--log_level LOUD", "log-level"),
    ("--log_level 5", "log-level"),
    ("--log_level -1", "log-level"),
    ("--log_level WARN", "log-level-near"),
    ("--log_level debgu", "log-level-near"),
    ("--enable_ssl", "ssl-path-missing"),
    ("--ssl_ca_path train.py", "ssl-without-enable"),
    ("--ssl_strict_host x", "ssl-without-enable"),
    ("--enable_ssl --ssl_ca_path a --ssl_cert_path b --ssl_key_path c", "file-absent"),
    ("--backend ssh", "not-one-of"),
    ("--format xml", "not-one-of"),
    ("--python=", "value-empty"),
    ("--env NOVALUE", "variable-assignment"),
    ("--env 1A=2", "variable-assignment"),
    ("--env RANK_ID=3", "variable-taken"),
    ("--env MS_ROLE=MS_SCHED", "variable-taken"),
    ("--env A=1 --no_env A", "variable-both"),
    ("--no_env A=1", "variable-name"),
    ("--worker_nm 2", "flag-unknown-near"),
    ("--workers 2", "flag-unknown-near"),
    ("--local_worker 2", "flag-unknown-near"),
    ("--zzz", "flag-unknown"),
    ("-n 2", "flag-unknown"),
    ("-worker_num 2", "flag-unknown-near"),
]


def mistake(error: pytest.ExceptionInfo[MswbError]) -> str:
    assert error.value.exit_code == 2
    assert error.value.finding.code == "usage"
    assert error.value.finding.title and error.value.finding.advice[0]
    assert "\n" not in str(error.value)
    return str(error.value.finding.values["mistake"])


@pytest.mark.parametrize(("line", "key"), WRONG)
def test_a_wrong_combination_is_one_clear_error(line: str, key: str, tmp_path: Path) -> None:
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(MswbError) as error:
        ask(line.split(), tmp_path)
    assert mistake(error) == key
    assert sorted(os.listdir(tmp_path)) == [*before, "train.py"]


def test_a_value_may_be_missing_at_the_very_end(tmp_path: Path) -> None:
    with pytest.raises(MswbError) as error:
        parse_flags(["--worker_num", "2", "--join"], {}, str(tmp_path))
    assert mistake(error) == "value-missing"


def test_every_sentence_has_both_languages_and_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("flag", "value", "metavar", "near", "choices", "local", "total", "first", "last", "ip", "available")
    values = dict.fromkeys((*names, "path", "problem", "reason", "parent", "key"), "VALUE")
    for lang in ("en", "zh"):
        monkeypatch.setenv("MSWB_LANG", lang)
        for key in _sentences():
            finding = refuse(key, **values).finding
            assert "{" not in finding.title.replace('{"device0"', "")
            assert finding.advice[0]


def test_the_sentences_are_all_in_use() -> None:
    folder = Path(__file__).parents[3] / "mswb" / "launch"
    source = "".join(file.read_text(encoding="utf-8") for file in folder.rglob("*.py"))
    assert [key for key in _sentences() if f'"{key}"' not in source] == []


SCRIPTS: list[tuple[list[str], str]] = [
    ([], "script-missing"),
    (["--worker_num", "2"], "script-missing"),
    (["--"], "script-missing"),
    (["python"], "script-missing"),
    (["python", "-u"], "script-missing"),
    (["absent_entirely"], "script-absent"),
    (["-"], "script-absent"),
    (["trian.py"], "script-absent-near"),
    (["train"], "script-absent-near"),
    (["folder"], "script-folder"),
    (["pipe"], "script-not-a-file"),
    (["binary"], "script-binary"),
    (["python", "absent.txt"], "script-absent"),
]


@pytest.mark.parametrize(("words", "key"), SCRIPTS)
def test_a_script_that_cannot_be_started(words: list[str], key: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary").write_bytes(b"\x7fELF\0\0\0")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(MswbError) as error:
        parse_flags(words, {}, str(tmp_path))
    assert mistake(error) == key


def test_the_nearest_names_are_named(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    with pytest.raises(MswbError, match=r"train\.py"):
        parse_flags(["trian.py"], {}, str(tmp_path))
    with pytest.raises(MswbError, match="--worker_num"):
        parse_flags(["--worker_nun=2", "train.py"], {}, str(tmp_path))


BINDING_FILES = [
    ("{", "bind-not-a-table"),
    ("[]", "bind-not-a-table"),
    ("{}", "bind-file-schema"),
    (json.dumps({"bind_config": []}), "bind-file-schema"),
    (json.dumps({"bind_config": {"bind_cpu_mode": "core"}}), "bind-file-schema"),
    (json.dumps({"bind_config": {"bind_memory_mode": "cpu"}}), "bind-file-schema"),
    (json.dumps({"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": "0-3"}}), "bind-file-schema"),
    (json.dumps({"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": 3}), "bind-file-schema"),
]


@pytest.mark.parametrize(("text", "key"), BINDING_FILES)
def test_a_binding_file_of_the_wrong_form(text: str, key: str, tmp_path: Path) -> None:
    (tmp_path / "bind.json").write_text(text)
    with pytest.raises(MswbError) as error:
        ask(["--bind_numa", "bind.json"], tmp_path)
    assert mistake(error) == key


def test_a_simulation_level_of_the_environment_is_checked_too(tmp_path: Path) -> None:
    with pytest.raises(MswbError) as error:
        ask([], tmp_path, {"MS_SIMULATION_LEVEL": "high"})
    assert mistake(error) == "sim-level"


def test_hostile_words_are_made_harmless(tmp_path: Path) -> None:
    with pytest.raises(MswbError) as error:
        parse_flags(["\x1b]0;evil\x07" + "x" * 10_000], {}, str(tmp_path))
    assert "\x1b" not in str(error.value) and len(str(error.value)) < 1000


WORD = st.one_of(st.sampled_from([f"--{name}" for name in FLAGS]), st.text(min_size=0, max_size=12))


@given(st.lists(WORD, max_size=8))
def test_any_command_line_is_understood_or_refused(words: list[str]) -> None:
    lines = [word if not word.startswith("--master_addr") else "--master_port" for word in words]  # no name service
    try:
        assert isinstance(parse_flags(lines, {}, "/"), LaunchRequest)
    except MswbError as error:
        assert error.exit_code == 2
