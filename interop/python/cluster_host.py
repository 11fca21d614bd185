"""Loads TensorFlow once and runs each script in a process of its own, which costs a fork instead of a start of TensorFlow.

A line of JSON on the standard input starts a script: {"id", "script", "args", "env", "out", "err"}; out and err are files.
It is answered by {"id", "pid"}, and by {"id", "code"} when the script has ended; a code below 0 is a signal.
SIGQUIT has a script write the stacks of its threads to err.
All end with the standard input.
"""

import faulthandler
import json
import os
import runpy
import select
import signal
import sys
import traceback

import tensorflow as tf  # pylint: disable=unused-import


def run(order):
    """Is the new process: it runs the script as `python script args` does."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for fd, path, mode in ((0, os.devnull, os.O_RDONLY), (1, order["out"], os.O_WRONLY | os.O_CREAT), (2, order["err"], os.O_WRONLY | os.O_CREAT)):
        file = os.open(path, mode, 0o600)
        os.dup2(file, fd)
        os.close(file)
    faulthandler.register(signal.SIGQUIT)
    os.environ.update(order["env"] or {})
    sys.argv = [order["script"]] + order["args"]
    sys.path[0] = os.path.dirname(os.path.abspath(order["script"]))
    code = 0
    try:
        runpy.run_path(order["script"], run_name="__main__")
    except SystemExit as e:
        code = e.code if isinstance(e.code, int) else int(e.code is not None)
    except BaseException:  # pylint: disable=broad-except
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def tell(**fields):
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def main():
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running, text = {}, b""
    tell(id=0, pid=os.getpid())
    while True:
        ready = select.select([0, woken], [], [])[0]
        if woken in ready:
            os.read(woken, 4096)
            for pid in list(running):
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended:
                    tell(id=running.pop(pid), code=os.waitstatus_to_exitcode(status))
        if 0 in ready:
            part = os.read(0, 1 << 16)
            if not part:
                break
            *lines, text = (text + part).split(b"\n")
            for order in map(json.loads, lines):
                pid = os.fork()
                if pid == 0:
                    os.close(woken)
                    os.close(wake)
                    run(order)
                running[pid] = order["id"]
                tell(id=order["id"], pid=pid)
    for pid in running:
        os.kill(pid, signal.SIGKILL)


main()
