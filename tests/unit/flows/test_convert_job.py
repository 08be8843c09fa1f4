"""A conversion in a process of its own: its report, its steps, its end when nobody wants it, and its death."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mswb.findings import MswbError
from mswb.flows import convert_job
from mswb.flows.convert_job import Step, run
from tests.unit.convert.onnx_models import model_of, saved
from tests.waiting import wait_until

NET = "g (float[2] x) => (float[2] y) { y = Neg(x) }"


def test_the_report_and_the_steps(tmp_path: Path) -> None:
    saved(model_of(NET), tmp_path, "net.onnx")
    (tmp_path / "numpy.py").write_text("raise SystemExit('a module of the folder was imported')")
    steps: list[Step] = []
    found = run(("--input_file", "net.onnx"), tmp_path, steps.append)
    assert found is not None and found.code == 0 and found.report is not None
    assert (found.report["verdict"], found.report["output"]) == ("converted", "net.mindir")
    assert steps == [Step("convert", 0, 1)] and (tmp_path / "net.mindir").exists()


def test_what_can_not_be_read_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_text("<html>")
    found = run(("--input_file", "net.onnx"), tmp_path)
    assert found is not None and found.code == 2
    assert [one.code for one in found.findings] == ["not-a-model"]


SLEEPS = 'import os, sys, time; os.write(int(sys.argv[-1]), b\'{"step": "start", "done": 0, "total": 1}\\n\'); '


@pytest.mark.parametrize(
    ("deaf", "code"), [("", -signal.SIGTERM), ("signal.signal(15, signal.SIG_IGN); ", -signal.SIGKILL)]
)
def test_a_cancelled_one_is_interrupted_else_killed(
    deaf: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    end = convert_job._end

    def noted(process: subprocess.Popen[bytes]) -> None:
        end(process)
        ended.append(process.returncode)

    monkeypatch.setattr(convert_job, "_end", noted)
    monkeypatch.setattr(convert_job, "GRACE_S", 0.3 if deaf else 20.0)
    quiet = "import signal; "
    monkeypatch.setattr(convert_job, "_START", quiet + deaf + SLEEPS + "time.sleep(600)")
    steps: list[Step] = []
    assert run(("--input_file", "-"), tmp_path, steps.append, lambda: bool(steps)) is None
    assert ended == [code] and list(tmp_path.iterdir()) == []


def test_what_runs_is_interrupted_when_the_program_ends(tmp_path: Path) -> None:
    script = f"""
import os, pathlib, sys, threading
from mswb.flows import convert_job
convert_job._START = {SLEEPS + "time.sleep(600)"!r}
steps = threading.Event()
arguments = (("--input_file", "-"), pathlib.Path({str(tmp_path)!r}), lambda step: steps.set())
threading.Thread(target=convert_job.run, args=arguments, daemon=True).start()
steps.wait(60)
print(*(process.pid for process in convert_job._running))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    pid = int(done.stdout)
    wait_until(lambda: is_over(pid))


def is_over(pid: int) -> bool:
    """Whether a process runs no more; who is to wait for it does not matter."""
    try:
        return " Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True


def test_a_process_that_dies_is_told_with_what_it_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import os, sys; sys.stderr.write('the last words'); sys.stderr.flush(); os.kill(os.getpid(), 9)"
    monkeypatch.setattr(convert_job, "_START", script)
    found = run(("--input_file", "a b.onnx"), tmp_path)
    assert found is not None and found.report is None and found.code == -signal.SIGKILL
    (finding,) = found.findings
    assert (finding.code, finding.evidence) == ("conversion-died", "the last words")
    assert "mswb convert --input_file 'a b.onnx'" in finding.advice[1]


def test_a_folder_that_has_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MswbError, match="gone"):
        run(("--input_file", "net.onnx"), tmp_path / "gone")


def test_a_sub_command_runs_too(tmp_path: Path) -> None:
    saved(model_of(NET), tmp_path, "net.onnx")
    found = run(("inspect", "net.onnx"), tmp_path)
    assert found is not None and found.report is not None and found.report["schema"] == "mswb.convert_inspect/1"
