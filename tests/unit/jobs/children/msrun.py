"""Imitates the process tree and the wait loop of real msrun (mindspore/parallel/cluster/process_entity/_api.py).

msrun.py LOG_DIR WORKERS POLL_SECONDS RANK_SCRIPT SCHEDULER_WORD WORKER_WORD... ; PIDs go to LOG_DIR/launcher.pid.
"""

import os
import signal
import subprocess
import sys
import time

log_dir, count, poll, script, scheduler_word, *words = sys.argv[1:]
count, poll = int(count), float(poll)
with open(os.path.join(log_dir, "launcher.pid"), "w") as file:
    file.write(str(os.getpid()))
for name in os.environ.get("FAKE_IMPORT", "").split():  # slow start: wait for a file
    while not os.path.exists(name):
        time.sleep(0.01)


def start(word, log, **more):
    with open(log, "w") as out:
        return subprocess.Popen([sys.executable, "-S", script, log_dir, word], stdout=out, stderr=out, **more)


os.environ["RANK_ID"] = "0"
os.environ["MS_ROLE"] = "MS_SCHED"
scheduler = start(scheduler_word, os.path.join(log_dir, "scheduler.log"))
workers, tails = [], []
os.environ["MS_ROLE"] = "MS_WORKER"
for rank in range(count):
    os.environ.update(DEVICE_ID=str(rank), RANK_ID=str(rank), MS_NODE_ID=str(rank))
    log = os.path.join(log_dir, f"worker_{rank}.log")
    workers.append(start(words[rank], log, preexec_fn=os.setsid))
    tails.append(subprocess.Popen(["/usr/bin/tail", "-f", log]))
print("started", flush=True)


def kill_workers():
    for worker in workers:
        if worker.poll() is None:
            os.killpg(os.getpgid(worker.pid), signal.SIGKILL)
    for tail in tails:
        tail.kill()


def interrupted(number, frame):
    kill_workers()
    scheduler.kill()
    sys.exit(0)


signal.signal(signal.SIGINT, interrupted)
failed = False
while True:
    codes = [worker.poll() for worker in workers]
    bad = [worker for worker in workers if worker.returncode]
    if bad:
        failed = True
        print(f"Worker process {bad[0].pid} exit with exception. Error code: {bad[0].returncode}.", flush=True)
        kill_workers()
        break
    if all(code == 0 for code in codes):
        kill_workers()
        break
    time.sleep(poll)
failed = scheduler.wait() != 0 or failed
sys.exit(1 if failed else 0)
