"""``mswb doctor``: what this host, its Pythons and the settings are, and what is wrong with them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields

import click

from mswb.cli import output, report
from mswb.cli.sizes import human_bytes
from mswb.env.doctor import DoctorReport
from mswb.env.doctor import report as look
from mswb.env.host import Host
from mswb.findings import language
from mswb.settings import load_settings


@click.command()
@click.option("--python", help="The training interpreter to look at.")
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings too.")
@output.format_option
def doctor(python: str | None, strict: bool, form: str) -> int:
    """Report on this host, the training Python, and every setting with its source."""
    found = look(load_settings(), os.environ, os.getcwd(), python)
    if form == "json":
        keys = {field.name: getattr(found, field.name) for field in fields(found) if field.name != "findings"}
        output.emit("doctor", found.findings, **keys)
    else:
        _show(found)
    return report.exit_code(found.findings, "unknown", strict)


def _show(found: DoctorReport) -> None:
    output.show_table(["", ""], _facts(found))
    print()
    output.show_table(["package", "version"], [(one.name, one.version or "missing") for one in found.dependencies])
    print()
    rows = [(name, str(one.value), one.source) for name, one in found.settings.items()]
    output.show_table(["setting", "value", "from"], rows)
    if found.findings:
        print()
        output.show_findings(found.findings, lang=language())


def _facts(found: DoctorReport) -> Iterator[tuple[str, str]]:
    yield "mswb", f"{found.version} on Python {found.python}, {found.python_path}"
    trainer = found.interpreter
    if trainer is None:
        yield "training Python", "none that can be used"
    else:
        yield "training Python", f"{trainer.path} ({trainer.version}; {trainer.source})"
        yield "MindSpore", f"{trainer.mindspore_version or 'none'} {trainer.mindspore_path or ''}".rstrip()
        yield "numpy there", trainer.numpy_version or "none"
    yield from _host(found.host_name, found.host)
    ascend, nvidia = found.devices.ascend, found.devices.nvidia
    devices = [f"{len(ascend)} Ascend"] * bool(ascend) + [f"{len(nvidia)} NVIDIA"] * bool(nvidia)
    yield "devices", ", ".join(devices) or "none"
    for folder in found.folders:
        free = "unknown space" if folder.bytes_free is None else human_bytes(folder.bytes_free)
        access = "" if folder.writable else ", not writable"
        yield folder.name, f"{folder.path} ({folder.filesystem}, {free} free{access})"


def _host(name: str, host: Host) -> Iterator[tuple[str, str]]:
    quota = "" if host.cpu_quota is None else f", of which the cgroup allows {host.cpu_quota:g}"
    yield "host", f"{name}: {len(host.cpus)} CPUs{quota}, {len(host.numa_nodes)} NUMA nodes"
    yield "memory", f"{_size(host.memory.available)} available of {_size(host.memory.total)}"
    yield "/dev/shm", f"{_size(host.shm_free)} free of {_size(host.shm_total)}"
    yield "limits", f"{host.open_files[0]} open files, {host.processes[0]} processes"
    yield "inotify", f"{host.inotify_watches or 'unknown'} watches, {host.inotify_instances or 'unknown'} instances"
    found = ", ".join(sorted(name for name, path in host.tools.items() if path))
    missing = ", ".join(sorted(name for name, path in host.tools.items() if not path))
    yield "tools", found + (f"; missing: {missing}" if missing else "")


def _size(count: int | None) -> str:
    return "unknown" if count is None else human_bytes(count)
