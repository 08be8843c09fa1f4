"""From an error text or a failed run to the data file or cache that is to blame, and to its record.

The words of an error lead to rules (:mod:`mswb.cache.triage.rules`), the rules to kinds of files, and the text, the
script and the folder of the run to the files themselves. These are verified; what is damaged is named with record and
offset, and the plain meaning of the words stands beside it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mswb.cache import staleness
from mswb.cache.entries import Entry
from mswb.cache.locate import cache_root
from mswb.cache.sniff import KINDS
from mswb.cache.triage import rules, slow
from mswb.cache.triage.rules import Hit
from mswb.files.safety import open_regular
from mswb.findings import Finding, Language, MswbError, Where, language, make
from mswb.flows import inventory
from mswb.flows.cache_checks import Told, can_verify, verify
from mswb.flows.cache_evidence import Evidence, Text
from mswb.flows.caches import at_file, beside, collect
from mswb.inside.cached.filesystem import mount_of

MAX_ENTRIES = 500
"""Entries that are verified when no text names one; more are counted in a note."""
MAX_NAMED = 20
"""Files that words name and that are looked at one by one."""
_PIPELINE: Mapping[Language, str] = {"en": "the data pipeline", "zh": "数据管道"}
STATS = "stats.json"
STATS_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Triage:
    """The answer. ``root`` is the index of the guilty one in ``findings``, None when nothing was found.

    ``entries`` are those that were verified, the damaged ones first. ``blamed`` are other files that the words name.
    """

    findings: tuple[Finding, ...]
    root: int | None
    hits: tuple[Hit, ...]
    entries: tuple[Entry, ...]
    blamed: tuple[str, ...] = ()


@dataclass
class _Case:
    """What is being worked on."""

    evidence: Evidence
    environ: Mapping[str, str]
    told: Told
    cancelled: Callable[[], bool]
    notes: list[Finding] = field(default_factory=list)
    blamed: list[str] = field(default_factory=list)


def triage(
    evidence: Evidence,
    environ: Mapping[str, str] | None = None,
    told: Told = lambda step: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Triage:
    """Find out what is to blame.

    Args:
        evidence: texts, folders and hints; see :mod:`mswb.flows.cache_evidence`.
        environ: HOME and MSWB_CACHE_ROOT; the run's own environment counts before it.
    """
    case = _Case(evidence, {**(os.environ if environ is None else environ), **evidence.environ}, told, cancelled)
    hits = [_numbered(hit, text) for text in evidence.texts for hit in rules.find(text.lines, text.file)]
    hits = _first_of_each(hits)
    if evidence.elsewhere:
        values = {"run": evidence.run, "folder": evidence.started_in, "here": os.getcwd()}
        case.notes.append(make("triage-elsewhere", where=Where(file=evidence.started_in), values=values))
    entries = _suspects(case, hits)
    checked = [_aged(entry) for _, entry, _ in verify(entries, cancelled=cancelled, told=told)] if entries else []
    checked.sort(key=lambda entry: (entry.status == "ok", entry.path))
    guilty = [finding for entry in checked for finding in entry.findings if finding.severity != "note"]
    slow_ones = _slow(case, hits)
    told_hits = [hit for hit in hits if _matters(case, hit, (*guilty, *slow_ones))]
    symptoms = [finding for hit in told_hits for finding in _symptom(case, hit, checked)]
    rest = _ending(case, told_hits, checked, bool(guilty or slow_ones))
    findings = (*guilty, *symptoms, *slow_ones, *rest, *case.notes)
    root = next((index for index, one in enumerate(findings) if one.severity != "note"), None)
    return Triage(findings, root, tuple(told_hits), tuple(checked), tuple(case.blamed))


def _matters(case: _Case, hit: Hit, guilty: Sequence[Finding]) -> bool:
    """Whether words are told: not those that have harmless causes too, while nothing points to what they are about."""
    if hit.rule.aside and case.evidence.is_run:
        return any(f"/{hit.values.get('name')}/" in f"{finding.where.file}/" for finding in guilty)
    return bool(guilty) or not hit.rule.quiet


def _numbered(hit: Hit, text: Text) -> Hit:
    """The hit with its line, where the text is whole."""
    return hit if text.whole else replace(hit, line=None)


def _first_of_each(hits: Iterable[Hit]) -> list[Hit]:
    """One hit of each rule, with the files that all of them name."""
    found: dict[str, Hit] = {}
    for hit in hits:
        found[hit.rule.id] = rules.joined(found.get(hit.rule.id), hit)
    return list(found.values())


def _suspects(case: _Case, hits: Sequence[Hit]) -> list[Entry]:
    """What is to be verified.

    What the person named; else what the text names; else what the script reads; else what lies in the run's folder.
    Where the words are about a file that is not there, or is no data, other files have no part in it.
    """
    evidence = case.evidence
    forms = frozenset[str]().union(*(hit.rule.forms for hit in hits)) if hits else frozenset()
    if evidence.data:
        return _at(case, evidence.data, frozenset())
    told = rules.resolve([path for hit in hits if hit.rule.ask == "file" for path in hit.paths], evidence.folders)
    exact = _at(case, told, frozenset())
    if exact or not forms:
        return exact
    named = rules.resolve([path for hit in hits for path in hit.paths], evidence.folders)
    found = _at(case, named, forms)
    if found:
        return found
    about = [path for hit in hits if hit.rule.ask != "file" for path in hit.named]
    for paths in (_around(case, about),) if about else (evidence.hints, _folders(case, forms)):
        found = _at(case, paths, forms)
        if found:
            return found
    return []


def _around(case: _Case, names: Sequence[str]) -> list[str]:
    """Notes on names that lead to no data; and what may be meant by them: the cache or the files in the same folder."""
    found: list[str] = []
    for name in dict.fromkeys(names):
        path = next(iter(rules.resolve([name], case.evidence.folders)), None)
        if path is not None:
            case.notes.append(make("triage-no-data", values={"path": path}))
            continue
        case.notes.append(make("triage-file-gone", values={"path": name}))
        folder = os.path.dirname(name)
        if os.path.isabs(folder) and os.path.isdir(folder):
            found += [entry.path for entry in beside(folder) if entry.path == folder or _is_renamed(entry)]
    return found


def _is_renamed(entry: Entry) -> bool:
    """Whether a file says of itself that it had another name."""
    return entry.status == "renamed"


def _folders(case: _Case, forms: frozenset[str]) -> list[str]:
    root = cache_root(case.environ)
    own = [root] if "file-cache" in forms and os.path.isdir(root) else []
    return [*own, *case.evidence.folders[:1]]


def _at(case: _Case, paths: Sequence[str], forms: frozenset[str]) -> list[Entry]:
    """The entries at some paths that can be verified; of ``forms`` only, when there are any."""
    found: dict[str, Entry] = {}
    for path in paths:
        try:
            entries = collect([path], case.cancelled)[0] if os.path.isdir(path) else [at_file(path)]
        except MswbError:  # it is no data file: a name that only looked like one
            continue
        found.update({entry.path: entry for entry in entries if can_verify(entry) and _fits(entry, forms)})
    chosen = list(found.values())[:MAX_ENTRIES]
    if len(found) > len(chosen):
        case.notes.append(make("triage-many", values={"count": len(found) - len(chosen), "shown": len(chosen)}))
    return chosen


def _aged(entry: Entry) -> Entry:
    """A file cache that is whole, with what speaks for its being older than its source or its code."""
    found = staleness.look(entry.path) if entry.form == "file-cache" and entry.status == "ok" else None
    if found is None:
        return entry
    values = {"what": KINDS[entry.form], "path": entry.path, "reason": found.reason}
    finding = make(found.status, where=Where(file=entry.path), values=values)
    return replace(entry, status=found.status, findings=(*entry.findings, finding))


def _fits(entry: Entry, forms: frozenset[str]) -> bool:
    return not forms or entry.form in forms or (entry.form == "mindrecord-index" and "mindrecord" in forms)


def _symptom(case: _Case, hit: Hit, checked: Sequence[Entry]) -> list[Finding]:
    """What the words mean, with what was looked at for it."""
    ask = _ASKED.get(hit.rule.ask)
    where = Where(file=hit.file, line=hit.line if hit.file else None)
    values = {"path": hit.paths[0] if hit.paths else "", **hit.values}
    if ask is not None:
        more = ask(case, hit, values, checked)
        if isinstance(more, list):
            return more
        values.update(more)
    return [make(hit.rule.code, where=where, evidence=hit.text[:600], values=values)]


def _server(case: _Case, hit: Hit, values: dict[str, Any], checked: Sequence[Entry]) -> list[Finding] | dict[str, Any]:
    """Which server there is now for the port that the text names."""
    from mswb.cache.server import answers, explain
    from mswb.cache.server.running import look

    lost = answers.lost_cache(hit.text)
    if lost is not None:
        return [explain.lost_cache(*lost, None)]
    host, uid = look(), os.getuid()
    port = int(values.get("port") or case.environ.get("MS_CACHE_PORT") or 50052)
    mine = [one.port for one in host.servers if one.uid == uid]
    if hit.rule.code == "triage-server" and port not in mine:
        return [explain.unreachable(port, host, uid)]
    return {"port": port, "ports": ", ".join(map(str, mine)) or "none"}


def _file(case: _Case, hit: Hit, values: dict[str, Any], checked: Sequence[Entry]) -> list[Finding]:
    """The files that a line names, each with what its bytes say of it where it is no kind that is verified."""
    from mswb.cache.triage import images

    verified = {entry.path for entry in checked}
    found: list[Finding] = []
    for name in hit.paths[:MAX_NAMED]:
        path = next(iter(rules.resolve([name], case.evidence.folders)), None)
        case.blamed.append(path or name)
        if path in verified:
            continue
        if path is None:
            found.append(make("triage-file-gone", values={"path": name}))
            continue
        where = Where(file=path)
        try:
            image = images.look(path)
        except MswbError as problem:
            found.append(problem.finding)
            continue
        if image is not None:
            seen = {"path": path, "what": image.form, "reason": image.reason}
            found.append(make(image.code or "triage-image-whole", where=where, values=seen))
    where = Where(file=hit.file, line=hit.line if hit.file else None)
    values = {"operation": _PIPELINE[language()], **values}
    faults = [one for one in found if one.severity == "error"]
    notes = [one for one in found if one.severity != "error"]
    return [*faults, make(hit.rule.code, where=where, evidence=hit.text[:600], values=values), *notes]


def _shm(case: _Case, hit: Hit, values: dict[str, Any], checked: Sequence[Entry]) -> dict[str, Any]:
    return _room("/dev/shm")


def _disk(case: _Case, hit: Hit, values: dict[str, Any], checked: Sequence[Entry]) -> dict[str, Any]:
    named = str(values.get("path") or "")
    folder = named if os.path.exists(named) else os.path.dirname(named)
    return _room(folder if os.path.exists(folder) else case.evidence.folders[0] if case.evidence.folders else "/")


def _room(folder: str) -> dict[str, Any]:
    try:
        found = os.statvfs(folder)
    except OSError:
        return {"folder": folder, "free_mib": "?", "total_mib": "?"}
    size = found.f_frsize
    free, total = found.f_bavail * size >> 20, found.f_blocks * size >> 20
    return {"folder": folder, "free_mib": free, "total_mib": total}


def _locks(case: _Case, hit: Hit, values: dict[str, Any], checked: Sequence[Entry]) -> dict[str, Any]:
    """Which caches have a lock that does not hold, by what trainings noted of them."""
    caches = [entry for entry in _file_caches(case) if "lock-unsafe" in (_stats(entry.path).get("notes") or {})]
    return {"caches": ", ".join(entry.path for entry in caches[:3]) or "none", "unsafe": len(caches)}


_ASKED: Mapping[str, Callable[[_Case, Hit, dict[str, Any], Sequence[Entry]], list[Finding] | dict[str, Any]]] = {
    "server": _server,
    "shm": _shm,
    "disk": _disk,
    "locks": _locks,
    "file": _file,
}


def _slow(case: _Case, hits: Sequence[Hit]) -> list[Finding]:
    """Caches that take longer than their source; looked at when a text says so, a cache was named, or no error was."""
    wanted = case.evidence.is_run or bool(case.evidence.data) or any(hit.rule.ask == "slow" for hit in hits)
    if not wanted:
        return []
    found: list[Finding] = []
    for entry in _file_caches(case):
        found += slow.judge(entry.path, entry.name or entry.path, _stats(entry.path), mount_of(entry.path))
    return found


def _file_caches(case: _Case) -> list[Entry]:
    """The file caches that were named, else those of the root."""
    root = cache_root(case.environ)
    paths = case.evidence.data or ([root] if os.path.isdir(root) else [])
    found: list[Entry] = []
    for path in paths:
        if os.path.isdir(path):
            for batch in inventory.scan(path, ["cache"], case.cancelled):
                found += [Entry(item.path, item.kind) for item in batch.items if item.kind == "file-cache"]
    return found


def _stats(folder: str) -> Mapping[str, Any]:
    try:
        with open(open_regular(os.path.join(folder, STATS)), "rb") as file:
            found = json.loads(file.read(STATS_BYTES))
    except (MswbError, OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _ending(case: _Case, hits: Sequence[Hit], checked: Sequence[Entry], found: bool) -> list[Finding]:
    """What is said when nothing is to blame: all is whole, no file was found, or no words are known."""
    whole = [entry for entry in checked if entry.status == "ok"]
    if found or any(note.code in ("triage-file-gone", "triage-no-data") for note in case.notes):
        return []
    if checked:
        named = ", ".join(os.path.basename(entry.path) for entry in whole[:3])
        return [make("triage-whole", values={"count": len(whole), "names": named})]
    if any(hit.rule.forms and hit.rule.ask != "locks" for hit in hits):
        return [make("triage-no-file", values={"folder": case.evidence.folders[0] if case.evidence.folders else "."})]
    return [] if hits else [make("triage-unknown")]
