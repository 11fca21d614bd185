#!/usr/bin/env python3
"""Runs the tasks of a goestimator job as actors of Ray. Printed by `goestimator launch --on ray`.

Each task is an actor in a bundle of one placement group. Ray places the tasks and notices lost nodes; this driver
starts the whole job again, from its newest checkpoint, when a task is lost or ends with a code of 128 or more.
"""
import ctypes
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time

import ray
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

JOB = json.loads(r"""@JOB@""")


@ray.remote(max_concurrency=2, max_restarts=0)
class Task:
    """A task of the job on the node that Ray has chosen."""

    def __init__(self, name):
        self.name, self.process, self.stopping = name, None, False

    def __repr__(self):
        return self.name

    def address(self):
        """A free port of this node, which stays free for the moment until the task listens there."""
        with socket.socket() as s:
            s.bind(("", 0))
            host = ray.util.get_node_ip_address()
            return "%s:%d" % ("[%s]" % host if ":" in host else host, s.getsockname()[1])

    def run(self, command, env):
        """Runs the command to its end and returns its exit code, as a shell tells it."""
        if self.stopping:
            return 143
        pr_set_pdeathsig = 1  # the process ends with this actor
        die = lambda: ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
        self.process = subprocess.Popen(command, env={**os.environ, **env}, preexec_fn=die)
        code = self.process.wait()
        return 128 - code if code < 0 else code

    def stop(self, grace):
        """Asks the command to write a checkpoint and end, and waits for that."""
        self.stopping = True
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(grace)
            except subprocess.TimeoutExpired:
                pass


def tf_config(addresses, task):
    """TF_CONFIG as Kubeflow's TFJob writes it; nothing where the job is one task."""
    if len(addresses) == 1:
        return {}
    cluster = {}
    for (kind, _), address in addresses.items():
        cluster.setdefault(kind, []).append(address)
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": task[0], "index": task[1]}, "environment": "cloud"})}


def run_once(shared, interrupted):
    """Runs the job once and returns the exit code that decides: of the leader, or of a task that failed."""
    group = placement_group(JOB["bundles"], strategy="SPREAD")
    actors = {}
    try:
        if not placed(group, interrupted):
            return 143
        tasks = [tuple(t) for t in JOB["tasks"]]
        for i, task in enumerate(tasks):
            bundle = JOB["bundles"][i]
            actors[task] = Task.options(
                num_cpus=bundle["CPU"], num_gpus=bundle.get("GPU", 0),
                scheduling_strategy=PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=i),
            ).remote("%s-%d" % task)
        addresses = {task: ray.get(a.address.remote()) for task, a in actors.items()}
        runs = {a.run.remote(JOB["command"], {**shared, **tf_config(addresses, task)}): task for task, a in actors.items()}
        return follow(runs, actors, interrupted)
    except ray.exceptions.RayError as e:
        print("a task was lost: %s" % str(e).splitlines()[0], file=sys.stderr)
        return 138
    finally:
        stop(actors.values())
        remove_placement_group(group)


def placed(group, interrupted):
    """Waits until there is room for all tasks, which may be never, or for a signal."""
    ready = group.ready()
    while not interrupted.is_set():
        if ray.wait([ready], timeout=0.2)[0]:
            ray.get(ready)
            return True
    return False


def follow(runs, actors, interrupted):
    """Waits for the leader's success, or the first failure."""
    told = False
    until = None
    code = None
    while runs:
        if interrupted.is_set() and not told:
            told, until = True, time.time() + JOB["grace"]
            for a in actors.values():
                a.stop.remote(JOB["grace"])
        if until is not None and time.time() > until:
            break
        done, _ = ray.wait(list(runs), num_returns=1, timeout=0.2)
        for ref in done:
            task = runs.pop(ref)
            ended = ray.get(ref)
            print("%s-%d ended with %d" % (*task, ended), file=sys.stderr)
            if ended != 0 and not told and code is None:
                return ended
            if list(task) == JOB["leader"] and not told:
                code, until = 0, time.time() + JOB["finish"]
    return 143 if told else code if code is not None else 0


def stop(actors):
    """Ends what still runs: SIGTERM, and SIGKILL after the time of grace."""
    actors = list(actors)
    pending = [a.stop.remote(JOB["grace"]) for a in actors]
    if pending:
        ray.wait(pending, num_returns=len(pending), timeout=JOB["grace"])
    for a in actors:
        ray.kill(a)


def main():
    ray.init(address=os.environ.get("RAY_ADDRESS", "auto"))
    interrupted = threading.Event()
    for s in (signal.SIGTERM, signal.SIGINT):  # after ray.init, which sets a handler of its own
        signal.signal(s, lambda *_: interrupted.set())
    name = "%s-%s" % (JOB["name"], secrets.token_hex(4))
    shared = {
        "GOESTIMATOR_JOB_TOKEN": os.environ.get("GOESTIMATOR_JOB_TOKEN") or secrets.token_hex(32),
        "GOESTIMATOR_RUN_JOB_ID": os.environ.get("GOESTIMATOR_RUN_JOB_ID") or name,
        **JOB["env"],
    }
    for start in range(JOB["restarts"] + 1):
        code = run_once(shared, interrupted)
        if code < 128 or interrupted.is_set():
            break
        print("start %d of the job ended with %d" % (start + 1, code), file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
