"""Runs sessions on a cluster and prints what they gave, a line of JSON each.

Usage: cluster_sessions.py CLUSTER DIR: CLUSTER is a JSON object of jobs and addresses. Sessions are opened at worker 0.
"""

import json
import re
import sys
import threading

import numpy as np
import tensorflow as tf

import cluster_kinds

tf1 = tf.compat.v1
tf1.disable_eager_execution()


def show(name, value):
    """Shows numbers with a fraction as they are, since their last digit depends on the processor, and all else as text."""
    value = np.asarray(value)
    print(json.dumps([name, value.astype(np.float64 if value.dtype == np.float32 else str).tolist()]), flush=True)


def refused(name, call):
    """Shows the class of the error."""
    try:
        call()
        show(name, "no error")
    except Exception as e:  # pylint: disable=broad-except
        show(name, type(e).__name__)


def hello(target):
    with tf1.Graph().as_default(), tf1.Session(target) as s:
        show("hello", s.run(tf1.constant("hello")))
        show("devices", sorted(d.name for d in s.list_devices()))


def variables(target, resource):
    """w and b are on two parameter servers, and trained by hand: the gradient is written out."""
    with tf1.Graph().as_default():
        x = tf1.placeholder(tf.float32, [None, 3])
        with tf1.device("/job:ps/task:0"):
            w = tf1.get_variable("w%d" % resource, initializer=np.ones([3, 2], np.float32), use_resource=resource)
        with tf1.device("/job:ps/task:1"):
            b = tf1.get_variable("b%d" % resource, initializer=np.arange(2, dtype=np.float32), use_resource=resource)
        y = tf1.matmul(x, w) + b
        error = y - 1.0
        step = tf1.group(tf1.assign(w, w - 0.1 * tf1.matmul(x, error, transpose_a=True)), tf1.assign(b, b - 0.1 * tf1.reduce_sum(error, 0)))
        init = tf1.global_variables_initializer()
        feed = {x: [[1, 2, 3], [-1, 0.5, 2]]}
        with tf1.Session(target) as s:
            refused("uninitialized", lambda: s.run(y, feed))
            s.run(init)
            show("y", s.run(y, feed))
            for _ in range(3):
                s.run(step, feed)
            show("y trained", s.run(y, feed))
        with tf1.Session(target) as s:
            show("the next session", s.run(y, feed))
            refused("not fed", lambda: s.run(y))
            refused("shapes", lambda: s.run(tf1.matmul(x, x), feed))
            with tf1.device("/job:nowhere"):
                nowhere = tf1.constant(1)
            refused("no such job", lambda: s.run(nowhere))
            show("fed in between", s.run(y, {y: [[5.0, 6.0]]}))


def control_flow(target):
    with tf1.Graph().as_default():
        x = tf1.placeholder(tf.float32, [])
        total = tf1.while_loop(lambda i, a: i < 10, lambda i, a: (i + 1, a + tf1.cond(a > 20.0, lambda: x * 2.0, lambda: x * 3.0)), [0, x])
        with tf1.device("/job:ps/task:1"):
            z = x * 2
        with tf1.device("/job:ps/task:0"):
            c = tf1.cond(x > 0, lambda: z + 1, lambda: z - 1)
        with tf1.device("/job:ps/task:1"):
            q = c * 10
        with tf1.Session(target) as s:
            for v in (2.0, -3.0):
                show("loop", s.run(total, {x: v}))
                show("branch", s.run(q, {x: v}))


def queue_barrier(target):
    """Each of three clients puts a token in when it is done; the last one goes on when all have."""
    with tf1.Graph().as_default() as graph:
        with tf1.device("/job:ps/task:0"):
            q = tf1.FIFOQueue(2, [tf.int64, tf.string], shapes=[[], [2]], shared_name="barrier")
        k = tf1.placeholder(tf.int64, [])
        done = q.enqueue([k * 2, tf1.fill([2], tf1.as_string(k))])
        tokens, texts = q.dequeue_many(3)
        with tf1.device("/job:ps/task:1"):
            total = tf1.reduce_sum(tokens)
        size, closed, close, one = q.size(), q.is_closed(), q.close(), q.dequeue()
        some, several = q.dequeue_up_to(5), q.enqueue_many([[1, 2], [["a", "b"], ["c", "d"]]])

        def client(number):
            with tf1.Session(target, graph=graph) as s:
                s.run(done, {k: number})

        clients = [threading.Thread(target=client, args=(i,)) for i in (1, 2, 3)]
        with tf1.Session(target) as s:
            show("empty", s.run([size, closed]))
            for c in clients:
                c.start()
            show("all came", s.run([total, tf1.size(texts)]))
            for c in clients:
                c.join()
            s.run(several)
            show("first", s.run(one)[0])
            show("closed", [s.run(closed), s.run(close), s.run(closed)])
            for name, call in (("some", some), ("none", one), ("no more", done), ("closed twice", close)):
                try:
                    show(name, str([np.asarray(v).tolist() for v in s.run(call, {k: 1})]))
                except tf.errors.OpError as e:
                    show(name, [type(e).__name__, re.search(r"(FIFO)?Queue '[^\n\t\\\"]*|$", e.message).group(0)])
        with tf1.Session(target) as s:
            late = tf1.RunOptions(timeout_in_ms=200)
            q = tf1.FIFOQueue(2, [tf.int64], shapes=[[]])
            refused("nobody comes", lambda: s.run(q.dequeue(), options=late))
            with tf1.device("/job:ps/task:0"):
                other = tf1.FIFOQueue(2, [tf.float32], shapes=[[]], shared_name="barrier")
            refused("another kind", lambda: s.run(other.size()))


def main():
    target = "grpc://" + json.loads(sys.argv[1])["worker"][0]
    hello(target)
    variables(target, False)
    variables(target, True)
    queue_barrier(target)
    cluster_kinds.types(target)
    for v2 in (True, False):
        tf1.enable_control_flow_v2() if v2 else tf1.disable_control_flow_v2()
        control_flow(target)


main()
