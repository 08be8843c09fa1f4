"""Live trainings of this host that mswb did not start, whatever launched them.

They are found by what every MindSpore process shows: MS_ROLE in /proc/PID/environ, or libmindspore among its mapped
files. Everything here only reads, and takes a process that is gone or not readable as one that says less.
"""

from mswb.launch.foreign.find import Finder, find_foreign
from mswb.launch.foreign.run import ForeignProcess, ForeignRun

__all__ = ["Finder", "ForeignProcess", "ForeignRun", "find_foreign"]
