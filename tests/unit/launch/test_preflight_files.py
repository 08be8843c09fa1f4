"""hccn.conf and rank tables: each defect has its finding with file and line, and any bytes are survived."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.launch.preflight import hccn, ranktable
from tests.unit.launch.asking import ask, host, overlay

GOOD_HCCN = """# made by hand
address_0=192.168.100.101
netmask_0=255.255.255.0
gateway_0=192.168.100.1
netdetect_0=192.168.100.1
send_arp_status_0=1
tls_enable_0=0
address_1=192.168.100.102
netmask_1=255.255.255.0
tls_enable_1=0
arp_1=-i eth1 192.168.100.1
"""


def change(old: str, new: str) -> str:
    assert old in GOOD_HCCN
    return GOOD_HCCN.replace(old, new)


HCCN: list[tuple[str, list[tuple[str, int | None]]]] = [
    (GOOD_HCCN, []),
    ("", []),
    (GOOD_HCCN.replace("=", " = "), []),
    (GOOD_HCCN.replace("\n", "\r\n"), []),
    (change("address_1=192.168.100.102", "address_1=192.168.100.101"), [("hccn-address-shared", 8)]),
    (change("address_0=192.168.100.101", "address_0=192.168.100.300"), [("hccn-value", 2)]),
    (
        change("address_0=192.168.100.101", "address_0=127.0.0.1\n#"),
        [("hccn-value", 2), ("hccn-gateway", 5), ("hccn-gateway", 6)],
    ),
    (change("netmask_1=255.255.255.0", "netmask_1=255.0.255.0"), [("hccn-value", 9)]),
    (change("netmask_1=255.255.255.0", "netmask_1=0.0.0.0"), [("hccn-value", 9)]),
    (change("gateway_0=192.168.100.1\n", "gateway_0=192.168.1.1\n"), [("hccn-gateway", 4)]),
    (change("gateway_0=192.168.100.1\n", "gateway_0=192.168.100.101\n"), [("hccn-value", 4)]),
    (change("tls_enable_1=0", "tls_enable_1=1"), [("hccn-tls-mixed", 7)]),
    (change("tls_enable_1=0", "tls_enable_1=on"), [("hccn-value", 10)]),
    (GOOD_HCCN + "address_0=192.168.100.103\n", [("hccn-twice", 12)]),
    (GOOD_HCCN + "address_0=192.168.100.101\n", []),
    (GOOD_HCCN + "nonsense\n", [("hccn-syntax", 12)]),
    (GOOD_HCCN + "colour_0=red\n", [("hccn-syntax", 12)]),
]


@pytest.mark.parametrize(("text", "expected"), HCCN)
def test_hccn_conf(text: str, expected: list[tuple[str, int | None]], tmp_path: Path) -> None:
    path = tmp_path / "hccn.conf"
    path.write_bytes(text.encode())
    found = list(hccn.check_file(str(path), "error"))
    assert [(one.code, one.where.line) for one in found] == expected
    assert all(one.where.file == str(path) for one in found)


def test_devices_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "hccn.conf"
    path.write_text(GOOD_HCCN)
    (one,) = hccn.check_file(str(path), "error", (0,))
    assert (one.code, one.severity, one.values["devices"]) == ("hccn-device-absent", "warning", "1")


def test_the_system_s_and_the_user_s_files_are_found(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "hccn.conf").write_text("address_0=1\n")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".hccn.conf").write_text("address_0=2\n")
    over = overlay(ask([], tmp_path), {"HOME": str(tmp_path / "home")})
    plain = list(hccn.check(over, host(root=str(tmp_path))))
    assert [(one.code, one.severity) for one in plain] == [("hccn-value", "warning")] * 2
    with_npu = list(hccn.check(over, host(root=str(tmp_path), ascend=(0,))))
    assert [one.severity for one in with_npu] == ["error"] * 2


def test_an_hccn_conf_that_cannot_be_read(tmp_path: Path) -> None:
    (one,) = hccn.check_file(str(tmp_path), "error")
    assert one.code == "hccn-unreadable"


@given(st.text(max_size=300))
def test_any_text_as_hccn_conf(text: str) -> None:
    settings, strange = hccn.read(text)
    assert all(one.key in hccn.KNOWN for one in settings)
    assert all(len(content) <= 200 for _, content in strange)


# Rank tables


def table(servers: int = 2, per_server: int = 2, **changes: Any) -> dict[str, Any]:
    rank = iter(range(servers * per_server))
    rows = [
        {
            "server_id": f"10.0.0.{server}",
            "device": [
                {"device_id": str(device), "device_ip": f"192.168.{server}.{device + 1}", "rank_id": str(next(rank))}
                for device in range(per_server)
            ],
        }
        for server in range(servers)
    ]
    return {"version": "1.0", "status": "completed", "server_count": str(servers), "server_list": rows, **changes}


def with_device(server: int, device: int, **changes: Any) -> dict[str, Any]:
    one = table()
    one["server_list"][server]["device"][device].update(changes)
    return one


def without_addresses(servers: int) -> dict[str, Any]:
    one = table(servers, 4 // servers)
    for server in one["server_list"]:
        for device in server["device"]:
            del device["device_ip"]
    return one


TABLES: list[tuple[Any, list[str]]] = [
    (table(), []),
    (table(1, 4), []),
    (without_addresses(1), []),
    (without_addresses(2), ["rank-table-address"] * 4),
    (table(status="initializing"), ["rank-table-status"]),
    (table(server_count="3"), ["rank-table-count"]),
    (table(server_count=2), []),
    (table(1, 2), ["rank-table-count"]),
    (with_device(1, 1, rank_id="7"), ["rank-table-ranks"]),
    (with_device(1, 1, rank_id="0"), ["rank-table-ranks"]),
    (with_device(1, 1, rank_id=None), ["rank-table-ranks"]),
    (with_device(0, 1, device_id="0"), ["rank-table-twice"]),
    (with_device(0, 1, device_ip="192.168.1.1"), ["rank-table-twice"]),
    (with_device(0, 1, device_ip="nowhere"), ["rank-table-address"]),
    (table(server_list=[]), ["rank-table-form"]),
    (table(server_list=[{"server_id": "a"}]), ["rank-table-form"]),
    (table(server_list=[1]), ["rank-table-form"]),
    ([], ["rank-table-form"]),
    ("text", ["rank-table-form"]),
    ({"deploy_mode": "lab", "group_list": []}, ["rank-table-old"]),
]


@pytest.mark.parametrize(("content", "expected"), TABLES)
def test_rank_tables(content: Any, expected: list[str], tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_text(json.dumps(content))
    found = list(ranktable.check_file(str(path), 4))
    assert [one.code for one in found] == expected
    assert all(one.where.file == str(path) and one.severity == "error" for one in found)


def test_two_servers_of_one_name(tmp_path: Path) -> None:
    one = table()
    one["server_list"][1]["server_id"] = "10.0.0.0"
    path = tmp_path / "table.json"
    path.write_text(json.dumps(one))
    (found,) = ranktable.check_file(str(path), 4)
    assert (found.code, found.values["what"]) == ("rank-table-twice", "server_id")


@pytest.mark.parametrize(
    ("text", "line"),
    [(b'{"a": 1,}', 1), (b'{\n"a": 1 // b\n}', 2), (b"", 1), (b"\xff\xfe{", None), (b"[" * 100_000, None)],
)
def test_a_rank_table_that_is_no_json(text: bytes, line: int | None, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_bytes(text)
    (one,) = ranktable.check_file(str(path), 4)
    assert one.code == "rank-table-syntax" and one.where.line == line


def test_the_table_may_come_from_the_environment(tmp_path: Path) -> None:
    request = ask(["--worker_num", "4"], tmp_path)
    (one,) = ranktable.check(request, overlay(request, {"RANK_TABLE_FILE": "absent.json"}))
    assert one.code == "rank-table-unreadable" and one.where.file == str(tmp_path / "absent.json")
    assert list(ranktable.check(request, overlay(request))) == []


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(["server_list", "device", "rank_id", "device_ip", "status", "server_id"]), x
            )
        ),
    )
)
def test_any_json_as_a_rank_table(content: Any) -> None:
    list(ranktable._problems(content, 4))
