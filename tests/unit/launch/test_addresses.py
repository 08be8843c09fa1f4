"""Where the scheduler listens, and whether that is here."""

from __future__ import annotations

import socket

import pytest

from mswb.launch import addresses
from mswb.launch.addresses import Master, msrun_takes_it_for_local, resolve, source_address, source_interface


def test_loopback_is_this_host() -> None:
    master = resolve("127.0.0.1")
    assert master == Master("127.0.0.1", "127.0.0.1", True)
    assert master.is_loopback and msrun_takes_it_for_local(master)


def test_the_whole_loopback_net_is_here_but_msrun_only_knows_one_address() -> None:
    master = resolve("127.0.1.1")
    assert master.is_local and not msrun_takes_it_for_local(master)


def test_a_documentation_address_is_not_here() -> None:
    master = resolve("203.0.113.7")
    assert not master.is_local and not master.is_loopback


def test_a_name_is_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("203.0.113.9", 0))]
    monkeypatch.setattr(addresses.socket, "getaddrinfo", lambda *arguments: answer)
    assert resolve("master") == Master("master", "203.0.113.9", False)


def test_the_way_to_loopback() -> None:
    assert source_address("127.0.0.1") == "127.0.0.1"
    assert source_interface("127.0.0.1") == "lo"


def test_no_route_is_no_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "source_address", lambda ip: None)
    assert source_interface("203.0.113.7") is None


def test_a_zone_that_does_not_exist_is_no_crash() -> None:
    assert not resolve("fe80::1%nowhere0").is_local
