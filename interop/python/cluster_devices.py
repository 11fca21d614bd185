"""Runs graphs on tasks with two CPU devices each and prints what they gave, a line of JSON each.

Usage: cluster_devices.py CLUSTER DIR: CLUSTER is a JSON object of jobs and addresses. The session is opened at worker 0.
"""

import json
import sys

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_v2_behavior()


def show(name, value):
    print(json.dumps([name, value]), flush=True)


def ps(task, cpu):
    return tf1.device("/job:ps/task:%d/cpu:%d" % (task, cpu))


def across():
    """Values, loops, conditions, a queue, a list and variables that go from one device of a task to the other one, and to other tasks."""
    parts = []
    for task in range(2):
        for cpu in range(2):
            with ps(task, cpu):
                parts.append(tf1.get_variable("v%d%d" % (task, cpu), initializer=tf1.constant(float(1 + 2 * task + cpu)), use_resource=cpu == 1))
    with ps(0, 1):
        total = tf1.add_n([p * p for p in parts], name="total")
    with ps(0, 0):
        loop = tf1.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, step(x)), [0, total])[1]
    chosen = tf1.cond(total > 3.0, lambda: on(0, 1, loop), lambda: on(1, 0, -loop))
    with ps(1, 1):
        queue = tf1.FIFOQueue(4, tf1.float32, shared_name="queue")
    with ps(1, 0):
        put = queue.enqueue(chosen)
    with tf1.control_dependencies([put]), ps(0, 1):
        got = queue.dequeue() + 0.5
    return {"total": total, "loop": loop, "chosen": chosen, "through a queue": got, "through lists": listed(total)}


def listed(x):
    """A list of tensors that is made on one task, gets longer on another one and is read on the first."""
    raw = tf1.raw_ops
    with ps(0, 1):
        made = raw.TensorListFromTensor(tensor=tf1.stack([x, 2.0 * x]), element_shape=tf1.constant([], tf1.int32))
    with ps(1, 0):
        longer = raw.TensorListPushBack(input_handle=made, tensor=x + 1.0)
    with ps(0, 0):
        return tf1.tensordot(raw.TensorListStack(input_handle=longer, element_shape=tf1.constant([], tf1.int32), element_dtype=tf1.float32), [1.0, 10.0, 100.0], 1)


def step(x):
    with ps(0, 1):
        return x * 0.5 + 1.0


def on(task, cpu, x):
    with ps(task, cpu):
        return x + 10.0


def train(target):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal([32, 4]).astype(np.float32), rng.standard_normal([32, 1]).astype(np.float32)
    with tf1.Graph().as_default():
        tf1.set_random_seed(3)
        with ps(0, 0):
            w = tf1.get_variable("w", [4, 8])
        with ps(0, 1):
            b = tf1.get_variable("b", [8], initializer=tf1.zeros_initializer())
        with ps(1, 1):
            u = tf1.get_variable("u", [8, 1])
        with tf1.device("/job:worker/cpu:1"):
            loss = tf1.reduce_mean(tf1.square(tf1.matmul(tf1.tanh(tf1.matmul(x, w) + b), u) - y))
        minimize = tf1.train.AdamOptimizer(0.05).minimize(loss)
        with tf1.Session(target) as s:
            s.run(tf1.global_variables_initializer())
            show("trained", [round(float(s.run([loss, minimize])[0]), 5) for _ in range(20)])


def main():
    target = "grpc://" + json.loads(sys.argv[1])["worker"][0]
    with tf1.Graph().as_default(), tf1.Session(target) as s:
        show("devices", sorted(d.name for d in s.list_devices() if d.device_type == "CPU"))
        fetches = across()
        s.run(tf1.global_variables_initializer())
        for _ in range(4):  # the engine's programs run from the third step on
            show("across", {k: float(v) for k, v in s.run(fetches).items()})
        with tf1.device("/job:ps/task:0/cpu:2"):
            nowhere = tf1.constant(1.0) + 1.0
        try:
            s.run(nowhere)
        except tf1.errors.InvalidArgumentError as e:
            show("no such device", "Cannot assign a device" in e.message)
    with tf1.Session(target, graph=nowhere.graph, config=tf1.ConfigProto(allow_soft_placement=True)) as s:
        show("soft placement", float(s.run(nowhere)))
    train(target)


main()
