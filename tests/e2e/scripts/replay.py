"""Processes of a recorded run say again what they said; one of them fails as it did then.

Arguments: the folder of the recorded logs, the process that fails (worker_0, scheduler ...), others that speak.
"""

import os
import sys
import time
from pathlib import Path

folder, failing, *others = sys.argv[1:]
mine = "scheduler" if os.environ.get("MS_ROLE") == "MS_SCHED" else f"worker_{os.environ.get('MSWB_RANK')}"
if mine in (failing, *others):
    print((Path(folder) / f"{mine}.log").read_text(errors="replace"), flush=True)
if mine == failing:
    sys.exit(1)
time.sleep(600)
