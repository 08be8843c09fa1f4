"""Where the scheduler listens: the text of ``--master_addr`` to an address, and whether that address is this host's."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass

from mswb.launch.usage import refuse


@dataclass(frozen=True, slots=True)
class Master:
    """The scheduler's place. ``host`` as it was written, ``ip`` resolved; ``is_local``: this host has that address."""

    host: str
    ip: str
    is_local: bool

    @property
    def is_loopback(self) -> bool:
        """Whether only this host can reach it."""
        return ipaddress.ip_address(self.ip).is_loopback


def split_host_port(text: str) -> tuple[str, int | None]:
    """``HOST``, ``HOST:PORT``, ``[V6]``, ``[V6]:PORT`` or a bare IPv6 address to host and port.

    Raises:
        MswbError: ``usage`` for an unclosed bracket or a port that is no number in 1..65535.
    """
    text = text.strip()
    if text.startswith("["):
        match = re.fullmatch(r"\[([^\[\]]+)\](?::(.*))?", text)
        if match is None:
            raise refuse("address-brackets", value=text)
        return match[1], None if match[2] is None else read_port("master_addr", match[2])
    if text.count(":") != 1:
        return text, None  # none: a plain host; several: an IPv6 address
    host, _, port = text.partition(":")
    if not host:
        raise refuse("address-empty", value=text)
    return host, read_port("master_addr", port)


def read_port(flag: str, text: str) -> int:
    """A port number.

    Raises:
        MswbError: ``usage`` when it is no number in 1..65535 (msrun itself would only fail inside its processes).
    """
    if not re.fullmatch(r"[0-9]{1,5}", text.strip()) or not 1 <= int(text) <= 65535:
        raise refuse("port-range", flag=flag, value=text)
    return int(text)


def resolve(host: str) -> Master:
    """Look the host up as msrun does: the first address that the system's resolver gives.

    Raises:
        MswbError: ``usage`` when it can't be resolved, or is no address that a process can connect to.
    """
    ip = _to_ip(host)
    address = ipaddress.ip_address(ip)
    if address.is_unspecified or address.is_multicast:
        raise refuse("address-unusable", value=host)
    return Master(host, ip, _is_local(ip))


def source_interface(ip: str) -> str | None:
    """The network interface that this host uses to reach ``ip``, or None when there is no route."""
    source = source_address(ip)
    if source is None:
        return None
    import psutil

    for name, addresses in psutil.net_if_addrs().items():
        if any(one.address.partition("%")[0] == source for one in addresses):
            return str(name)
    return None


def msrun_takes_it_for_local(master: Master) -> bool:
    """Whether real msrun would start a scheduler here: the address is an interface's, or the source of its own route.

    127.0.1.1, which Debian writes into /etc/hosts for the host's own name, is neither: msrun starts no scheduler then
    and all workers wait for the cluster time-out (``_is_local_ip`` in _utils.py of 2.10).
    """
    return not master.is_loopback or source_address(master.ip) == master.ip


def _to_ip(host: str) -> str:
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        found = socket.getaddrinfo(host, None, socket.AF_UNSPEC, socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise refuse("address-unresolved", value=host) from None
    return str(found[0][4][0])


def _is_local(ip: str) -> bool:
    """An address is ours when a socket can be bound to it."""
    try:
        with _udp(ip) as probe:
            probe.bind(_endpoint(ip, 0))
    except OSError:
        return False
    return True


def source_address(ip: str) -> str | None:
    """The address that packets to ``ip`` would carry, or None without a route; connecting a UDP socket sends none."""
    try:
        with _udp(ip) as probe:
            probe.connect(_endpoint(ip, 9))
            return str(probe.getsockname()[0])
    except OSError:  # no route, or a host without IPv6
        return None


def _udp(ip: str) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET, socket.SOCK_DGRAM)


def _endpoint(ip: str, port: int) -> tuple[str, int] | tuple[str, int, int, int]:
    host = ip.partition("%")[0]
    return (host, port, 0, _scope(ip)) if ":" in ip else (host, port)


def _scope(ip: str) -> int:
    zone = ip.partition("%")[2]
    try:
        return int(zone) if zone.isdigit() else socket.if_nametoindex(zone) if zone else 0
    except OSError:
        return 0
