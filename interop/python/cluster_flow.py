"""Runs branches, loops and functions over the tasks of a cluster and prints what they gave, a line of JSON each.

Usage: cluster_flow.py CLUSTER DIR: CLUSTER is a JSON object of jobs and addresses. Sessions are opened at worker 0.
"""

import json
import sys

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import function as tf1_defun

tf1 = tf.compat.v1
tf1.disable_eager_execution()
PS = ["/job:ps/task:0", "/job:ps/task:1"]


def show(name, value):
    print(json.dumps([name, np.asarray(value).astype(str).tolist()]), flush=True)


def refused(name, call):
    """Shows the class of the error."""
    try:
        call()
        show(name, "no error")
    except Exception as e:  # pylint: disable=broad-except
        show(name, type(e).__name__)


def on(task, f):
    """Returns f as it runs on a parameter server."""
    def there(*args):
        with tf1.device(PS[task]):
            return f(*args)
    return there


def loops(x):
    """Returns loops whose conditions and bodies are on several tasks."""
    with tf1.device(PS[1]):
        far = x * 2.0
    counter = lambda i, *_: i < 6
    body = tf1.while_loop(counter, lambda i, a: (i + 1, on(0, lambda: a * 1.5)() + 1.0), [0, x])
    both = tf1.while_loop(counter, lambda i, a, b: (i + 1, on(0, lambda: a + b)(), on(1, lambda: b * 0.5 + a)()), [0, x, x])
    cond = tf1.while_loop(on(1, lambda i, a: a < 40.0), lambda i, a: (i + 1, on(0, lambda: a * 2.0 + tf1.abs(far))()), [0, tf1.abs(x) + 1.0])

    def outer(i, a):
        inner = tf1.while_loop(lambda j, _: j < 3, lambda j, b: (j + 1, on(0, lambda: b + a)()), [0, x])[1]
        return i + 1, on(1, lambda: inner * 0.25)()

    nested = tf1.while_loop(counter, outer, [0, far])
    choice = tf1.while_loop(counter, lambda i, a: (i + 1, tf1.cond(a > 3.0, on(0, lambda: a - far), on(1, lambda: a * 2.0 + i_to_float(i)))), [0, x])
    never = tf1.cond(x > 100.0, lambda: tf1.while_loop(counter, lambda i, a: (i + 1, on(0, lambda: a + 1.0)()), [0, x])[1], lambda: far)
    one = tf1.while_loop(counter, lambda i, a: (i + 1, on(0, lambda: a * 1.1)()), [0, x], parallel_iterations=1)
    return {"body": body, "both": both, "cond": cond, "nested": nested, "choice": choice, "never": never, "one": one}


def i_to_float(i):
    return tf1.cast(i, tf.float32)


def control_flow(target, name):
    with tf1.Graph().as_default():
        x = tf1.placeholder(tf.float32, [])
        all_loops = loops(x)
        with tf1.Session(target) as s:
            for v in (2.0, -3.5, 0.25):
                for key, loop in all_loops.items():
                    show("%s %s" % (name, key), s.run(loop, {x: v}))


def variables_in_loops(target, version, resource):
    """The counter of a loop is a variable on a parameter server."""
    name = version + (" resource" if resource else " ref")
    names = name.replace(" ", "_")
    with tf1.Graph().as_default():
        with tf1.device(PS[0]):
            limit = tf1.get_variable("limit_" + names, initializer=4, use_resource=resource)
            count = tf1.get_variable("count_" + names, initializer=0, use_resource=resource)
        with tf1.device(PS[1]):
            w = tf1.get_variable("w_" + names, initializer=[1.0, 2.0], use_resource=resource)

        def body(i):
            with tf1.control_dependencies([tf1.assign_add(w, [0.5, 0.25])]):
                return tf1.assign_add(count, 1) + 0 * i

        loop = tf1.while_loop(lambda i: i < limit, body, [tf1.identity(count)], parallel_iterations=1)
        with tf1.Session(target) as s:
            s.run(tf1.global_variables_initializer())
            show("%s variables" % name, s.run(loop))
            show("%s variables after" % name, np.concatenate([[s.run(count)], s.run(w)]))


def functions(target, name):
    """Functions whose nodes are on several tasks."""
    with tf1.Graph().as_default():
        x = tf1.placeholder(tf.float32, [])
        with tf1.device(PS[0]):
            variable = tf1.get_variable("v_" + name, initializer=2.0, use_resource=True)
            v = variable.read_value()  # TensorFlow's servers take no variables of other tasks into functions

        @tf.function
        def inner(a):
            with tf1.device(PS[1]):
                b = a * 3.0
            return b, a

        @tf.function
        def outer(a):
            b, c = inner(a + 1.0)
            if b > 6.0:
                d = b - v
            else:
                d = on(1, lambda: c * v)()
            return d, a

        @tf1_defun.Defun(tf.float32, tf.float32)
        def old(a, b):
            return on(1, lambda: a * b)() + 1.0

        y, same = outer(x)
        z = old(x, y)
        with tf1.device(PS[0]):
            index = tf1.cast(x, tf.int32)
        chosen = tf.switch_case(index, [on(0, lambda: x + 1.0), on(1, lambda: y * 2.0), lambda: z], default=on(0, lambda: v * x))
        with tf1.control_dependencies([tf1.assert_greater(x, -5.0)]):
            late, _ = outer(x)
        with tf1.Session(target) as s:
            s.run(variable.initializer)
            for value in (0.0, 1.0, 2.5, 7.0, -2.0):
                show("%s functions" % name, s.run([y, same, z, chosen], {x: value}))
            show("%s functions late" % name, s.run(late, {x: 3.0}))
            show("%s functions fed" % name, s.run([z, chosen], {x: 1.0, y: 5.0}))


def gradients(target):
    """Gradients of a loop of TensorFlow 2 whose body is on several tasks."""
    with tf1.Graph().as_default():
        with tf1.device(PS[0]):
            w = tf1.get_variable("g", initializer=1.5, use_resource=True)
        x = tf1.placeholder(tf.float32, [])
        loop = tf1.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, on(1, lambda: a * w)() + x), [0, x])[1]
        grads = tf1.gradients(loop, [x, w])
        with tf1.Session(target) as s:
            s.run(w.initializer)
            for value in (2.0, -0.5):
                show("v2 gradients", s.run([loop] + grads, {x: value}))


def said(name, call):
    """Shows the class of the error and its first line, without the parts that name a server."""
    try:
        call()
        show(name, "no error")
    except Exception as e:  # pylint: disable=broad-except
        line = [l for l in str(e).splitlines() if "error" not in l.lower() and l.strip() and not l.startswith("From ")][:1]
        show(name, [type(e).__name__] + line)


def partial_runs(target):
    """A step is fed and fetched part by part, over three tasks."""
    with tf1.Graph().as_default():
        a, b, c = (tf1.placeholder(tf.float32, [], name=n) for n in ("a", "b", "c"))
        r1 = on(0, lambda: a + b)()
        r2 = on(1, lambda: r1 * c)()
        r3 = tf1.identity(r2 + a)
        with tf1.Session(target) as s:
            for _ in range(2):
                h = s.partial_run_setup([r1, r2, r3], [a, b, c])
                show("partial 1", s.partial_run(h, r1, {a: 1.0, b: 2.0}))
                said("partial fed twice", lambda: s.partial_run(h, r2, {a: 1.0, c: 1.0}))
                said("partial fetched twice", lambda: s.partial_run(h, r1))
                said("partial without feeds", lambda: s.partial_run(h, r2))
                show("partial 2", s.partial_run(h, [r2, r3], {c: 17.0}))
                said("partial is over", lambda: s.partial_run(h, r2, {c: 17.0}))
            h = s.partial_run_setup([r1], [a, b])
            said("partial of others", lambda: s.partial_run(h, r2, {a: 1.0}))
            left = s.partial_run_setup([r1, r2], [a, b, c])
            show("partial left", s.partial_run(left, r1, {a: 2.0, b: 2.0}))


def cancelled(target):
    """A step that waits ends with its time or its session."""
    with tf1.Graph().as_default():
        with tf1.device(PS[1]):
            queue = tf1.FIFOQueue(1, tf.float32, shapes=[[]])
            got = queue.dequeue()
        with tf1.device(PS[0]):
            got = got + 1.0
        s = tf1.Session(target)
        refused("timeout", lambda: s.run(got, options=tf1.RunOptions(timeout_in_ms=300)))
        s.close()
        with tf1.Session(target, config=tf1.ConfigProto(operation_timeout_in_ms=300)) as s:
            refused("operation timeout", lambda: s.run(got))


def main():
    target = "grpc://" + json.loads(sys.argv[1])["worker"][0]
    for name, choose, resources in (
            ("v1", tf1.disable_control_flow_v2, (False, True)),
            ("v2", tf1.enable_control_flow_v2, (True,))):  # a body of TensorFlow 2 takes no reference variables
        choose()
        control_flow(target, name)
        for resource in resources:
            variables_in_loops(target, name, resource)
        functions(target, name)
    gradients(target)
    partial_runs(target)
    cancelled(target)


main()
