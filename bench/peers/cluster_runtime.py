"""TensorFlow's servers, and a client in Python with servers of its own.

Usage: cluster_runtime.py serve JOB WORKER PS: a task of a cluster with these two addresses, until standard input ends.
       cluster_runtime.py client: a cluster and its client.
"""
import os
import socket
import subprocess
import sys
import time
import traceback

import link

import tensorflow as tf

tf1 = tf.compat.v1


def server(job, worker, ps):
    return tf.distribute.Server({"worker": [worker], "ps": [ps]}, job_name=job, task_index=0, protocol="grpc",
                                config=tf1.ConfigProto(intra_op_parallelism_threads=link.THREADS))


def serve(job, worker, ps):
    keep = server(job, worker, ps)
    link.send(version=tf.__version__)
    sys.stdin.read()
    del keep
    os._exit(0)


def reserve(n):
    """Sockets that keep ports of 127.0.0.1 for servers, which set SO_REUSEADDR: nobody else gets them."""
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("127.0.0.1", 0))
    return sockets


def started(task):
    """Waits until a server listens."""
    for line in task.stdout:
        if line.startswith(b"{"):
            return
    raise RuntimeError("a server ended at its start: " + " ".join(task.args))


def client():
    kept = reserve(2)
    worker, ps = ["127.0.0.1:%d" % s.getsockname()[1] for s in kept]
    tasks = [subprocess.Popen([sys.executable, os.path.abspath(__file__), "serve", job, worker, ps], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
             for job in ("worker", "ps")]
    try:
        for t in tasks:
            started(t)
        tf1.disable_eager_execution()
        with tf1.device("/job:worker/task:0"):
            x = tf1.placeholder(tf.float32, [])
            near = x + 1
        with tf1.device("/job:ps/task:0"):
            far = x + 1
        cases = {"step-1-task": near, "step-2-tasks": far}
        with tf1.Session("grpc://" + worker) as session:
            def run(steps, case):
                fetch, begun = cases[case], time.perf_counter()
                for _ in range(steps):
                    session.run(fetch, {x: 41})
                return time.perf_counter() - begun

            link.serve(tf.__version__, {name: [float(session.run(c, {x: 41}))] for name, c in cases.items()}, run)
    except BaseException:
        traceback.print_exc()
    finally:
        for t in tasks:
            t.kill()
        os._exit(0)


if sys.argv[1] == "serve":
    serve(*sys.argv[2:])
else:
    client()
