"""What every launched Python process does before its script: the search path, and a signal that prints its stacks.

Run by ``site/sitecustomize.py`` at the start of every process, so it imports only what is built in; Python 3.9+.

* The working directory comes first on ``sys.path``, before the script's own folder (MSWB_CWD_FIRST holds it, when the
  two differ). Python puts the script's folder in front only after sitecustomize, so an audit hook waits for that.
* In a rank (MS_ROLE or MSWB_RANK is set, or it is a dry run) SIGRTMIN+5 writes the stacks of all threads to standard
  error, whatever the process is doing.
* ``mswb.cache`` (and no more of mswb) can be imported where mswb is not installed, and MindSpore's datasets get the
  method ``cache`` when they are imported; pipelines with a ``ds.DatasetCache`` are noted beside the run.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

CWD_FIRST = "MSWB_CWD_FIRST"
STACK_SIGNAL_OFFSET = 5
"""SIGRTMIN + 5: mswb/jobs/ending.py sends it."""
OFFERED = {"mswb": "", "mswb.cache": "cache", "mswb.inside": "inside"}
"""The packages of ours that a training can import, and their folders; what lies below ``mswb.inside`` comes with it."""
DATASETS = "mindspore.dataset.engine.datasets"


def boot() -> None:
    """Prepare this process."""
    in_rank = is_rank()
    if in_rank:
        print_stacks_on_signal()
    # Only the script itself gets it, not the programs that the script starts.
    folder = os.environ.pop(CWD_FIRST, "") if in_rank else os.environ.get(CWD_FIRST, "")
    if folder and not getattr(sys.flags, "safe_path", False):
        sys.addaudithook(FirstOnPath(folder))
    # Last, so that a real installation comes before it; first, so that no other finder hides the import from it.
    sys.meta_path.append(Offered(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    sys.meta_path.insert(0, AfterImport(DATASETS))


def is_rank() -> bool:
    """Whether this process is a scheduler or a worker, and not the launcher."""
    dry_run = "MS_SIMULATION_LEVEL" in os.environ and "DEVICE_ID" in os.environ
    return "MS_ROLE" in os.environ or "MSWB_RANK" in os.environ or dry_run


def print_stacks_on_signal() -> None:
    """Let SIGRTMIN+5 print where every thread stands, from the signal handler itself, even in a blocked call."""
    # The signal module proper costs milliseconds for its enumerations.
    import _signal  # type: ignore[import-not-found]
    import faulthandler

    faulthandler.register(_signal.SIGRTMIN + STACK_SIGNAL_OFFSET, file=2, all_threads=True, chain=False)


class FirstOnPath:
    """An audit hook that puts ``folder`` before the script's folder at the moment the script starts, and then rests."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, event: str, arguments: object) -> None:
        if event == "cpython.run_file" and self.folder:
            sys.path.insert(0, self.folder)
            self.folder = ""


class Offered:
    """A finder of :data:`OFFERED` below ``folder``."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        """The spec of a package that is offered; None for everything else."""
        if name not in OFFERED:
            return None
        folder = os.path.join(self.folder, OFFERED[name])
        external: Any = sys.modules["_frozen_importlib_external"]
        file = os.path.join(folder, "__init__.py")
        spec = external.spec_from_file_location(name, file, submodule_search_locations=[folder])
        if name != "mswb.inside":
            spec.submodule_search_locations = []
        return spec


class AfterImport:
    """A finder that finds nothing itself, but lets :func:`add_method` follow the import of one module."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        """The spec that the other finders have for the module, with our step behind its execution."""
        if name != self.name:
            return None
        finders: Any = [finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec")]
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
        spec: Optional[Any] = next(filter(None, (finder.find_spec(name, path, target) for finder in finders)), None)
        execute = getattr(getattr(spec, "loader", None), "exec_module", None)
        if spec is None or execute is None:
            return spec

        def execute_and_add(module: object) -> None:
            execute(module)
            add_method(module)

        spec.loader.exec_module = execute_and_add
        return spec


def add_method(datasets: object) -> None:
    """Give MindSpore's datasets the method ``cache``, and note the pipelines behind its cache server.

    The program goes on whatever comes of it.
    """
    try:
        from mswb.inside import server_cache
        from mswb.inside.cached.method import patch

        patch(datasets)
        server_cache.install(datasets)
    except Exception as problem:
        sys.stderr.write("mswb: no method cache on datasets: %r\n" % (problem,))


if __name__ == "mswb_boot":
    boot()
