"""Runs TensorFlow's own test files against servers of ours, and tells which tests pass.

Usage: tensorflow_tests.py --folder FOLDER --program PROGRAM --list LIST [--only TEXT] [--table FILE]

FOLDER has TensorFlow's sources: FOLDER/tensorflow/python/... . tf.distribute.Server starts PROGRAM server instead of TensorFlow's
server; in files that LIST marks `local`, sessions without a target are opened at a server, too. Each test runs twice, in a
process of its own: on TensorFlow's servers and on ours.

LIST has a line for each file, and indented below it a line `Class.test: reason` for each test that fails on ours alone.
--only runs the tests whose `file Class.test` has TEXT. --table writes the result as Markdown. The exit status is 1 if another
test fails, or one of these passes.
"""

import argparse
import collections
import faulthandler
import importlib.abc
import importlib.util
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import types
import unittest

import tensorflow as tf
from tensorflow.core.protobuf import tensorflow_server_pb2
from tensorflow.python.client import session
from tensorflow.python.framework import errors_impl
from tensorflow.python.training import server_lib
from tensorflow.tsl.protobuf import rpc_options_pb2

TIME = 60  # seconds of a test

HEAD = """# TensorFlow's own tests on our servers

`make tensorflow-tests TENSORFLOW=FOLDER` wrote this page. It runs test files of TensorFlow's sources (FOLDER/tensorflow/python/...)
with TensorFlow 2.15, in TensorFlow 1's mode: each test on TensorFlow's servers, and then on servers of `goestimator server` that
take their place. In files marked \"local\" sessions without a target are opened at such a server, too. The files are listed in
interop/testdata/tensorflow_tests.txt. A test that TensorFlow skips, or that fails on TensorFlow's servers, is not run on ours.
"""


def free_port():
    with socket.socket() as s:
        s.bind(("localhost", 0))
        return s.getsockname()[1]


class Server:
    """A process of PROGRAM that stands for the server of a ServerDef. Its first start is TF_ServerStart."""

    def __init__(self, program, text):
        definition = tensorflow_server_pb2.ServerDef.FromString(text)
        self.program, self.process = program, None
        self.job, self.task = definition.job_name, definition.task_index
        self.cpus = dict(definition.default_session_config.device_count).get("CPU", 1)
        self.jobs = {job.name: dict(job.tasks) for job in definition.cluster.job if job.tasks}
        self.target = "grpc://" + self._bind()

    def _bind(self):
        """Returns the address of the task, whose port 0 becomes a free one."""
        address = self.jobs[self.job][self.task]
        host, colon, port = address.rpartition(":")
        if not colon or not port.isdigit():
            raise errors_impl.InvalidArgumentError(None, None, "Could not parse port for local server from %r" % address)
        if int(port) == 0:
            with socket.socket() as s:
                s.bind(("localhost", 0))
                address = self.jobs[self.job][self.task] = "%s:%d" % (host, s.getsockname()[1])
        return address

    def start(self):
        if self.process:
            return
        config = {"cluster": {name: {str(i): a for i, a in tasks.items()} if sorted(tasks) != list(range(len(tasks))) else [tasks[i] for i in sorted(tasks)]
                              for name, tasks in self.jobs.items()}, "task": {"type": self.job, "index": self.task}}
        flags = ["--allow-path", tempfile.gettempdir(), "--cpu-devices=%d" % max(1, self.cpus)]
        if all(isinstance(tasks, list) for tasks in config["cluster"].values()):
            spec = ",".join(name + "|" + ";".join(tasks) for name, tasks in config["cluster"].items())
            flags += ["--cluster_spec", spec, "--job_name", self.job, "--task_id", str(self.task)]
        self.process = subprocess.Popen([self.program, "server"] + flags, stderr=subprocess.PIPE, text=True,
                                        env=dict(os.environ, TF_CONFIG=json.dumps(config)))
        said = []
        for line in self.process.stderr:
            said.append(line)
            if line.startswith("serving sessions"):
                return
        raise errors_impl.UnknownError(None, None, "Could not start gRPC server: " + "".join(said))


def use_servers(program):
    """Makes tf.distribute.Server start the program: the five functions of TensorFlow's C API that it calls are replaced."""
    server_lib.c_api = types.SimpleNamespace(
        TF_NewServer=lambda text: Server(program, text), TF_ServerStart=lambda s: s.start(), TF_ServerStop=lambda s: None,
        TF_ServerJoin=lambda s: s.process.wait(), TF_ServerTarget=lambda s: s.target)


def use_server_for_local_sessions():
    """Opens sessions that have no target at a server."""
    server, create, reset = server_lib.Server.create_local_server(), session.BaseSession.__init__, session.Session.reset

    def init(self, target="", graph=None, config=None):
        create(self, target or server.target, graph, config)

    session.BaseSession.__init__ = init
    session.Session.reset = staticmethod(lambda target, *args, **kwargs: reset(target or server.target, *args, **kwargs))


class Sources(importlib.abc.MetaPathFinder):
    """Finds modules in TensorFlow's sources that its package lacks: of tests alone, or newer than TensorFlow 2.15."""

    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, fullname, path, target=None):
        file = os.path.join(self.folder, *fullname.split(".")) + ".py"
        return importlib.util.spec_from_file_location(fullname, file) if fullname.startswith("tensorflow.") and os.path.exists(file) else None


def load(path):
    """Loads a test file as a test of TensorFlow 1."""
    for name in ("xla", "xla.tsl", "xla.tsl.protobuf"):  # where files that are newer than TensorFlow 2.15 look
        sys.modules.setdefault(name, types.ModuleType(name))
    sys.modules.setdefault("xla.tsl.protobuf.rpc_options_pb2", rpc_options_pb2)
    sys.modules["xla.tsl.protobuf"].rpc_options_pb2 = rpc_options_pb2
    portpicker = sys.modules.setdefault("portpicker", types.ModuleType("portpicker"))  # a dependency of tests alone
    portpicker.pick_unused_port = free_port
    tf.compat.v1.disable_v2_behavior()
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.argv = [path]
    tf.compat.v1.flags.FLAGS(sys.argv)
    spec.loader.exec_module(module)
    return module


def names(path):
    """Returns the names of the tests of a file."""
    suite = [unittest.defaultTestLoader.loadTestsFromModule(load(path))]
    found = []
    while suite:
        t = suite.pop()
        if isinstance(t, unittest.TestSuite):
            suite.extend(t)
        elif not t.id().endswith("test_session"):
            found.append(".".join(t.id().split(".")[-2:]))
    return sorted(found)


def run_test(path, test, program, local):
    """Runs a test and returns "passed", "skipped: why" or "failed: why"."""
    if program:
        use_servers(program)
    if local:
        use_server_for_local_sessions()
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromName(test, load(path)).run(result)
    if result.skipped:
        return "skipped: " + result.skipped[0][1]
    wrong = result.failures + result.errors
    if not wrong:
        return "passed"
    lines = wrong[0][1].strip().splitlines()
    print("\n".join(lines), file=sys.stderr)
    reason = [l for l in lines if not l.startswith(" ") and ":" in l and not l.startswith("Traceback")] or lines[-1:]
    return "failed: " + reason[0][:300]


def apart(call):
    """Calls a function in a process of its own, and returns its text."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os.close(read)
        faulthandler.enable()
        try:
            text = call()
        except BaseException as e:  # pylint: disable=broad-except
            text = "failed: %s: %s" % (type(e).__name__, str(e).strip()[:300])
        os.write(write, text.encode()[:60000])
        os._exit(0)
    os.close(write)
    text, end = b"", time.monotonic() + TIME
    while True:
        if not select.select([read], [], [], max(0, end - time.monotonic()))[0]:
            text = b"failed: still running after %d s" % TIME
            break
        part = os.read(read, 1 << 16)
        if not part:
            break
        text += part
    os.close(read)
    os.killpg(pid, signal.SIGKILL)  # the servers, too
    os.waitpid(pid, 0)
    return text.decode() or "failed: the process of the test ended"


def read_list(path):
    """Returns the files, each with its mark and the tests that are known to fail."""
    files = []
    for line in open(path):
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace():
            test, reason = line.strip().split(": ", 1)
            files[-1][2][test] = reason
        else:
            name, *mark = line.split()
            files.append((name, mark == ["local"], {}))
    return files


Row = collections.namedtuple("Row", "file mark test theirs ours reason")


def write_table(path, rows):
    """Writes a line for each file, and one for each test that passes on TensorFlow's servers alone."""
    with open(path, "w") as out:
        print(HEAD, file=out)
        print("| file | tests | skip | fail on TensorFlow's servers, too | pass on ours |\n|---|---|---|---|---|", file=out)
        for file in dict.fromkeys(r.file for r in rows):
            mine = [r for r in rows if r.file == file]
            skipped = sum(r.theirs.startswith("skipped") for r in mine)
            failed = sum(r.theirs.startswith("failed") for r in mine)
            print("| %s | %d | %d | %d | %d |" % (file.removeprefix("tensorflow/python/") + mine[0].mark, len(mine), skipped, failed,
                                                   sum(r.ours == "passed" and r.theirs == "passed" for r in mine)), file=out)
        ours = [r for r in rows if r.theirs == "passed" and r.ours != "passed"]
        if ours:
            print("\n| test | why it fails on ours |\n|---|---|", file=out)
        for r in ours:
            print("| %s: %s | %s |" % (os.path.basename(r.file), r.test, r.reason or r.ours.replace("|", "\\|")), file=out)


def main():
    parser = argparse.ArgumentParser()
    for flag in ("folder", "program", "list"):
        parser.add_argument("--" + flag, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--table")
    args = parser.parse_args()
    sys.meta_path.append(Sources(args.folder))
    rows, wrong = [], 0
    for file, local, known in read_list(args.list):
        path = os.path.join(args.folder, file)
        tests = apart(lambda: "\n".join(names(path))).split("\n")  # pylint: disable=cell-var-from-loop
        for test in tests:
            if args.only not in file + " " + test:
                continue
            theirs = ours = apart(lambda: run_test(path, test, None, local))  # pylint: disable=cell-var-from-loop
            if theirs == "passed":
                ours = apart(lambda: run_test(path, test, args.program, local))  # pylint: disable=cell-var-from-loop
            row = Row(file, " (local)" * local, test, theirs, ours, known.get(test, ""))
            rows.append(row)
            bad = theirs == "passed" and (ours != "passed") != bool(row.reason)
            wrong += bad
            print("%s %s %s: %s" % ("!" if bad else " ", os.path.basename(file), test, ours), flush=True)
    if args.table:
        write_table(args.table, rows)
    print("%d tests, %d pass on our servers, %d are not as the list says" % (len(rows), sum(r.ours == "passed" for r in rows), wrong))
    sys.exit(wrong > 0)


main()
