"""What dataset-cache prints, from real captures."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.cache.server import answers, history
from mswb.cache.server.answers import Cached, Info

SAMPLES = Path(__file__).parents[3] / "fixtures" / "cache" / "server"


def sample(name: str) -> str:
    return (SAMPLES / f"{name}.txt").read_text()


def test_the_pid_of_a_started_server() -> None:
    found = answers.started(sample("04_start"))
    assert found is not None and found[1] == 50152 and found[0] > 1
    assert answers.started(sample("05_start_again")) is None


def test_a_session_is_the_last_number_and_never_the_port() -> None:
    assert answers.created(sample("06_generate")) == 2411647281
    assert answers.created(sample("09_wrongport")) is None
    assert answers.created("Session created for server on port 50052:") is None


def test_sessions_with_and_without_caches() -> None:
    assert answers.sessions(sample("07_list")) == (Cached(2411647281, None),)
    assert answers.sessions(sample("18f_list")) == ()
    rows = answers.sessions(sample("14b_list"))
    assert [row.session for row in rows] == [212186783, 2411647281, 2411647281, 2411647281, 3161375982]
    assert rows[0] == Cached(212186783, 2723070247, 0, 89, 786587, None)
    assert (rows[0].rows, rows[0].size_bytes) == (89, 89 * 786587)
    assert rows[4] == Cached(3161375982, 2723070247)


def test_information_names_each_session_once() -> None:
    expected = Info("127.0.0.1", 50152, 2, 1, "/home/user/project/spill", (2411647281,))
    assert answers.info(sample("08_info")) == expected
    assert answers.info(sample("12_info")) == expected
    assert answers.info("").sessions == ()
    assert answers.info(sample("08_info").replace("/home/user/project/spill", "None")).spill is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("09_wrongport", "unreachable"),
        ("18d_stop", "unreachable"),
        ("05_start_again", "running"),
        ("04a_start_spilldir_missing", "spill"),
        ("17c_destroy_again", "session-unknown"),
        ("15_bad_session", "session-unknown"),
        ("17_destroy_midrun_client", "cache-unknown"),
        ("04_start", ""),
        ("19_stop", ""),
    ],
)
def test_failures_are_told_apart(name: str, kind: str) -> None:
    assert answers.failure(sample(name)) == kind


def test_a_reason_holds_no_places_in_the_sources_of_mindspore() -> None:
    assert answers.reason(sample("05_start_again")) == "Duplicate key. Cache server is already up and running"
    assert answers.reason(sample("04a_start_spilldir_missing")).startswith("Spilling directory is not writable Unable")
    assert answers.reason("\n\nLine of code : 3\n") == "it said nothing"


def test_the_folder_and_errno_of_a_spill_folder() -> None:
    found = answers.spill_problem(sample("04a_start_spilldir_missing"))
    assert found is not None and found[0].startswith("/home/user/project/spill/") and found[1] == 2
    assert answers.spill_problem(sample("05_start_again")) is None


def test_a_lost_cache_is_taken_apart() -> None:
    session, cache = answers.split_id(17464776743149768529)
    assert session << 32 | cache == 17464776743149768529
    assert answers.lost_cache(sample("17_destroy_midrun_client")) == (session, cache)
    assert session == 4066335210
    assert answers.lost_cache("Cache id x not found") is None


@given(st.text())
def test_no_text_breaks_a_parser(text: str) -> None:
    answers.started(text)
    answers.created(text)
    answers.info(text)
    answers.failure(text)
    assert answers.reason(text)
    assert all(row.session >= 0 for row in answers.sessions(text))
    history.read(text.splitlines())


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_an_id_is_its_two_halves(session: int, cache: int) -> None:
    assert answers.split_id(session << 32 | cache) == (session, cache)


def test_the_log_of_a_server_tells_its_life() -> None:
    lines = sample("server_log_INFO_start_stop").splitlines()
    made = (
        "[INFO] MD(7,7f,dataset-cache-server):2026-11-30-20:34:54.164.152 [mindspore/ccsrc/x.cc:671] "
        "GenerateClientSessionID] Server generated new session id 1047087129"
    )
    found = history.read([*lines, made])
    assert (found.port, found.spill, found.shm_key) == (50152, "/home/user/project/spill", 1627439725)
    assert list(found.sessions) == [1047087129]
    assert found.sessions[1047087129] % 60 == pytest.approx(54.164152)
