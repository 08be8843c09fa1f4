"""A training as far as /proc shows it: trainee.py FOLDER WORD[+WORD...]; each word is a thing to do, in order.

``load`` maps a library of MindSpore's name, ``spawn:WORDS`` starts another of itself with the words joined by commas,
``open:PATH`` holds a file open for writing, ``read:PATH`` for reading, ``ready:NAME`` makes FOLDER/NAME, ``wait:NAME``
waits for it.
"""

import mmap
import os
import subprocess
import sys
import time

folder, words = sys.argv[1:3]
held = []


def load(_):
    path = os.path.join(folder, "libmindspore_core.so")
    with open(path, "a+b") as file:
        file.truncate(4096)
        held.append(mmap.mmap(file.fileno(), 4096))


def spawn(argument):
    held.append(subprocess.Popen([sys.executable, "-S", __file__, folder, argument.replace(",", "+")]))


def hold(path, flags):
    held.append(os.open(path, flags))


def ready(name):
    with open(os.path.join(folder, name), "w") as file:
        file.write(str(os.getpid()))


def wait(name):
    while not os.path.exists(os.path.join(folder, name)):
        time.sleep(0.01)


def become(argument):
    os.execv(sys.executable, [sys.executable, "-S", __file__, folder, argument.replace(",", "+")])


actions = {
    "load": load,
    "spawn": spawn,
    "open": lambda path: hold(path, os.O_WRONLY | os.O_CREAT),
    "read": lambda path: hold(path, os.O_RDONLY),
    "remove": os.unlink,
    "ready": ready,
    "wait": wait,
    "become": become,
    "say": lambda text: print(text, flush=True),
    "exit": lambda code: sys.exit(int(code)),
    "forever": lambda _: time.sleep(600),
}
for word in words.split("+"):
    verb, _, rest = word.partition(":")
    actions[verb](rest)
