"""One rank or scheduler: rank.py LOG_DIR WORD[+WORD...]; each word is a thing to do, in order.

Before it ends by itself it writes the time into LOG_DIR/died_NAME. ``mark:X`` makes the file LOG_DIR/X, ``wait:X``
waits for it.
"""

import os
import signal
import subprocess
import sys
import time

log_dir, words = sys.argv[1:3]
role = os.environ.get("MS_ROLE")
name = "scheduler" if role == "MS_SCHED" else "worker_" + os.environ.get("RANK_ID", "x")


def path(word):
    return os.path.join(log_dir, word)


def mark(word, text=""):
    with open(path(word) + ".tmp", "w") as file:
        file.write(text or str(os.getpid()))
    os.replace(path(word) + ".tmp", path(word))


def wait(word):
    while not os.path.exists(path(word)):
        time.sleep(0.005)


def forever():
    while True:
        time.sleep(60)


def die(action):
    mark("died_" + name, repr(time.time()))
    action()


def ignore():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def daemon():
    """A double-forked daemon in a session of its own that ignores everything it can."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            ignore()
            mark("daemon_" + name)
            forever()
        os._exit(0)
    os.wait()


def grandchild():
    code = "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-S", "-c", code], start_new_session=True)
    mark("grandchild_" + name, str(child.pid))


def checkpoint():
    """Sleep until Ctrl+C, then take a while to write the checkpoint."""
    mark("ready_" + name)
    try:
        forever()
    except KeyboardInterrupt:
        time.sleep(1.2)
        mark("checkpoint_" + name)
        sys.exit(0)


def slow_end():
    """MindSpore's shutdown after an exception: the traceback stands in the log seconds before the process ends."""
    print("Traceback (most recent call last):", file=sys.stderr, flush=True)
    mark("ready_" + name)
    wait("died_scheduler")
    time.sleep(1.4)


def stacks():
    def handler(number, frame):
        print("STACK OF " + name, flush=True)

    signal.signal(signal.SIGRTMIN + 5, handler)


def standing():
    import faulthandler

    faulthandler.register(signal.SIGRTMIN + 5, file=2, all_threads=True, chain=False)


actions = {
    "slow_end": slow_end,
    "standing": standing,
    "ok": lambda: die(lambda: sys.exit(0)),
    "fail": lambda: die(lambda: sys.exit(3)),
    "sigkill": lambda: die(lambda: os.kill(os.getpid(), signal.SIGKILL)),
    "segv": lambda: die(lambda: os.kill(os.getpid(), signal.SIGSEGV)),
    "forever": lambda: (mark("ready_" + name), forever()),
    "ignore": ignore,
    "daemon": daemon,
    "grandchild": grandchild,
    "checkpoint": checkpoint,
    "stacks": stacks,
    "say": lambda: print("hello from " + name, flush=True),
    "ready": lambda: mark("ready_" + name),
}
for word in words.split("+"):
    verb, _, argument = word.partition(":")
    if verb == "wait":
        wait(argument)
    elif verb == "mark":
        mark(argument)
    else:
        actions[verb]()
