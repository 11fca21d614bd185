"""TensorFlow's servers, and a client in Python with servers of its own.

Usage: cluster_runtime.py serve JOB WORKER PS: a task of a cluster with these two addresses, until standard input ends.
       cluster_runtime.py client: a cluster and its client.
"""
import os
import subprocess
import sys
import time

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


def ports(n):
    import socket
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    found = ["127.0.0.1:%d" % s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return found


def client():
    worker, ps = ports(2)
    tasks = [subprocess.Popen([sys.executable, os.path.abspath(__file__), "serve", job, worker, ps], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
             for job in ("worker", "ps")]
    try:
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
    finally:
        for t in tasks:
            t.kill()
        os._exit(0)


if sys.argv[1] == "serve":
    serve(*sys.argv[2:])
else:
    client()
