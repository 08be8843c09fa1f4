"""What boot.py does to a process, seen in real child processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mswb.jobs import procs
from mswb.launch.environment import site_folder
from tests.waiting import wait_until

STACKS = signal.SIGRTMIN + 5
RANK = {"MS_ROLE": "MS_WORKER"}
PATHS = "import sys; print(sys.path[0]); import helper; print(helper.WHO)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text(PATHS)
    (tmp_path / "code" / "helper.py").write_text("WHO = 'script folder'")
    (tmp_path / "helper.py").write_text("WHO = 'working directory'")
    return tmp_path


def environment(folder: Path, *more: str, **variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MS_", "MSWB_", "PYTHON"))}
    return {**kept, "PYTHONPATH": ":".join((site_folder(), str(folder), *more)), **variables}


def run(folder: Path, *words: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], cwd=folder, env=env, capture_output=True, text=True)


# The search path


def test_the_working_directory_comes_before_the_script_s_folder(folder: Path) -> None:
    env = environment(folder, MSWB_CWD_FIRST=str(folder), **RANK)
    done = run(folder, "code/train.py", env=env)
    assert (done.stdout.split("\n")[:2], done.stderr) == ([str(folder), "working directory"], "")


def test_without_the_wish_python_s_own_order_stays(folder: Path) -> None:
    done = run(folder, "code/train.py", env=environment(folder, **RANK))
    assert done.stdout.split("\n")[:2] == [str(folder / "code"), "script folder"]


def test_only_the_script_gets_it_not_the_programs_it_starts(folder: Path) -> None:
    inner = "import subprocess, sys; subprocess.run([sys.executable, 'code/train.py'])"
    (folder / "code" / "outer.py").write_text(inner)
    done = run(folder, "code/outer.py", env=environment(folder, MSWB_CWD_FIRST=str(folder), **RANK))
    assert done.stdout.split("\n")[:2] == [str(folder / "code"), "script folder"]


def test_the_launcher_hands_it_on_to_its_ranks(folder: Path) -> None:
    launcher = "import os, subprocess, sys; os.environ['MS_ROLE'] = 'MS_WORKER'; "
    launcher += "subprocess.run([sys.executable, 'code/train.py'])"
    done = run(folder, "-c", launcher, env=environment(folder, MSWB_CWD_FIRST=str(folder)))
    assert done.stdout.split("\n")[:2] == [str(folder), "working directory"]


@pytest.mark.parametrize("words", [["-c", "import sys; print(sys.path[0] == '')"], ["-m", "shown"]])
def test_modules_and_texts_run_as_ever(words: list[str], folder: Path) -> None:
    (folder / "shown.py").write_text("import os, sys; print(sys.path[0] == os.getcwd())")
    done = run(folder, *words, env=environment(folder, MSWB_CWD_FIRST="/elsewhere", **RANK))
    assert done.stdout.strip() == "True"


def test_our_folder_is_not_left_on_the_path(folder: Path) -> None:
    done = run(folder, "-c", "import sys; print(*sys.path, sep='\\n')", env=environment(folder, **RANK))
    assert site_folder() not in done.stdout.split("\n") and str(folder) in done.stdout.split("\n")


# The user's own sitecustomize


def test_the_user_s_sitecustomize_runs_too(folder: Path) -> None:
    (folder / "mine").mkdir()
    (folder / "mine" / "sitecustomize.py").write_text("import sys; sys.mine = __name__, __file__")
    done = run(folder, "-c", "import sys; print(sys.mine)", env=environment(folder, str(folder / "mine")))
    assert done.stdout.strip() == str(("sitecustomize", str(folder / "mine" / "sitecustomize.py")))
    assert done.stderr == ""


def test_an_error_of_the_user_s_sitecustomize_stays_theirs(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text("import absent_entirely")
    done = run(folder, "-c", "print('runs')", env=environment(folder))
    assert done.stdout == "runs\n" and "absent_entirely" in done.stderr and done.returncode == 0


def test_without_one_nothing_is_missed(folder: Path) -> None:
    done = run(folder, "-c", "import sitecustomize; print('runs')", env=environment(folder))
    assert (done.stdout, done.stderr) == ("runs\n", "")


# Nothing of ours ends or disturbs a process


def test_a_broken_boot_is_no_reason_to_die(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    source = Path(site_folder(), "sitecustomize.py").read_text(encoding="utf-8")
    (tmp_path / "site" / "sitecustomize.py").write_text(source)
    (tmp_path / "boot.py").write_text("raise OSError('broken')")
    env = {**environment(tmp_path), "PYTHONPATH": str(tmp_path / "site")}
    done = run(tmp_path, "-c", "print('runs')", env=env)
    assert done.stdout == "runs\n" and done.stderr.startswith("mswb: ") and "broken" in done.stderr


def test_boot_loads_no_module_that_python_had_not_loaded(folder: Path) -> None:
    show = "import sys; print(*sorted(sys.modules), sep='\\n')"
    bare = {**environment(folder), "PYTHONPATH": str(folder)}
    before = set(run(folder, "-c", show, env=bare).stdout.split())
    after = set(run(folder, "-c", show, env=environment(folder, MSWB_CWD_FIRST="/x", **RANK)).stdout.split())
    assert after - before <= {"sitecustomize", "faulthandler", "_signal", "__future__"}


# The stack signal

WAIT = """
import sys, threading
def inner():
    print("ready", flush=True)
    sys.stdin.read()
threading.Thread(target=threading.Event().wait, daemon=True).start()
inner()
"""


@pytest.mark.parametrize(
    "role",
    [
        {"MS_ROLE": "MS_WORKER"},
        {"MS_ROLE": "MS_SCHED"},
        {"MSWB_RANK": "0"},
        {"MS_SIMULATION_LEVEL": "1", "DEVICE_ID": "0"},
    ],
)
def test_the_signal_prints_where_every_thread_stands(role: dict[str, str], folder: Path) -> None:
    log = folder / "rank.log"
    with (
        open(log, "wb") as file,
        subprocess.Popen(
            [sys.executable, "-c", WAIT],
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=file,
            env=environment(folder, **role),
            cwd=folder,
        ) as child,
    ):
        assert child.stdin is not None
        wait_until(lambda: b"ready" in log.read_bytes())
        assert procs.catches(child.pid, STACKS)
        os.kill(child.pid, STACKS)
        wait_until(lambda: b"in inner" in log.read_bytes() and b"in wait" in log.read_bytes())
        child.stdin.close()
        assert child.wait() == 0  # it goes on as if nothing had happened
    assert b"(most recent call first):" in log.read_bytes()


def test_a_launcher_does_not_take_the_signal(folder: Path) -> None:
    show = "import signal; print(signal.getsignal(signal.SIGRTMIN + 5) == signal.SIG_DFL)"
    done = run(folder, "-c", show, env=environment(folder))
    assert done.stdout == "True\n"
    caught = "print([line for line in open('/proc/self/status') if line.startswith('SigCgt')][0].split()[1])"
    mask = int(run(folder, "-c", caught, env=environment(folder)).stdout, 16)
    assert not mask >> (STACKS - 1) & 1


def test_a_crash_shows_its_stack(folder: Path) -> None:
    crash = "import ctypes\ndef dies():\n    ctypes.string_at(0)\ndies()\n"
    (folder / "crash.py").write_text(crash)
    done = run(folder, "crash.py", env=environment(folder, PYTHONFAULTHANDLER="1", **RANK))
    assert done.returncode == -signal.SIGSEGV
    assert "Segmentation fault" in done.stderr and 'crash.py", line 3 in dies' in done.stderr


# What a training can import


def test_mswb_cache_can_be_imported_without_an_installation_and_nothing_else(folder: Path) -> None:
    text = (
        "import sys, mswb.cache, mswb.inside.probe\n"
        "print(sorted(name for name in sys.modules if name.startswith('mswb')))\n"
        "for name in ('mswb.launch', 'mswb.cache.check', 'mswb.nothing'):\n"
        "    try:\n        __import__(name)\n    except ImportError as problem:\n        print(problem)\n"
    )
    done = run(folder, "-S", "-c", BOOTED + text, env=environment(folder))
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "['mswb', 'mswb.cache', 'mswb.inside', 'mswb.inside.probe']",
        "No module named 'mswb.launch'",
        "No module named 'mswb.cache.check'",
        "No module named 'mswb.nothing'",
    ]


BOOTED = "import sitecustomize\n"
"""With -S the tests' own installation of mswb is not on the path, and sitecustomize is imported by hand."""


def test_an_installation_comes_first(folder: Path) -> None:
    (folder / "mswb").mkdir()
    (folder / "mswb" / "__init__.py").write_text("WHO = 'installed'")
    done = run(folder, "-S", "-c", BOOTED + "import mswb; print(mswb.WHO)", env=environment(folder))
    assert (done.stdout, done.stderr) == ("installed\n", "")


@pytest.mark.parametrize("broken", [False, True])
def test_datasets_get_a_method_when_they_are_imported(folder: Path, broken: bool) -> None:
    engine = folder / "mindspore" / "dataset" / "engine"
    engine.mkdir(parents=True)
    for path in (engine, engine.parent, engine.parent.parent):
        (path / "__init__.py").write_text("")
    text = "pass" if broken else "class Dataset:\n    def __init__(self, cache=None):\n        self.cache = cache\n"
    (engine / "datasets.py").write_text(text)
    script = BOOTED + (
        "import copy, inspect, sys\n"
        "assert not any(name.startswith('mswb.inside.cached') for name in sys.modules)\n"
        "from mindspore.dataset.engine import datasets\n"
        "if hasattr(datasets, 'Dataset'):\n"
        "    plain, native = datasets.Dataset(), datasets.Dataset(cache={'a': 1})\n"
        "    print(bool(plain.cache), bool(native.cache), list(native.cache.keys()), callable(plain.cache))\n"
        "    print(copy.deepcopy(native).__dict__, copy.copy(plain).__dict__)\n"
        "    plain.cache = native.cache\n"
        "    print(plain.__dict__, 'class Dataset' in inspect.getsource(datasets))\n"
        "    try:\n        plain.cache(cache_size=3)\n    except TypeError as problem:\n        print(problem)\n"
    )
    done = run(folder, "-S", "-c", script, env=environment(folder))
    if broken:
        assert done.stderr.startswith("mswb: no method cache on datasets: AttributeError") and done.returncode == 0
        return
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "False True ['a'] True",
        "{'cache': {'a': 1}} {'cache': None}",
        "{'cache': {'a': 1}} True",
        "cache() needs a name: dataset.cache(cache_size=1024, name='train')",
    ]
