"""Several clients of one cluster with containers, sessions of their own and queues of all kinds; prints a line of JSON each.

Usage: cluster_containers.py CLUSTER DIR: CLUSTER is a JSON object of jobs and addresses.
"""

import json
import sys
import threading

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()


def show(name, value):
    print(json.dumps([name, np.asarray(value).astype(str).tolist()]), flush=True)


def attempt(s, fetch):
    """Returns what fetch gives, or the class of the error."""
    try:
        return s.run(fetch)
    except tf.errors.OpError as e:
        return type(e).__name__


def containers(target, resource):
    """Reset of a container leaves what is in others."""
    with tf1.Graph().as_default() as graph:
        variables = []
        for task, name in enumerate(("a", "b", "")):
            with tf1.device("/job:ps/task:%d" % (task % 2)), tf1.container(name):
                variables.append(tf1.get_variable("v%s%d" % (name, resource), initializer=float(task), use_resource=resource))
        with tf1.Session(target) as s:
            s.run(tf1.global_variables_initializer())
        for reset in ("a", "localhost", "ps"):
            tf1.Session.reset(target, [reset])
            with tf1.Session(target, graph=graph) as s:
                show("reset %s" % reset, [attempt(s, v) for v in variables])


def isolated(target):
    """A session with isolate_session_state has variables and queues of its own, which go with it."""
    with tf1.Graph().as_default() as graph:
        with tf1.device("/job:ps/task:1"):
            v = tf1.get_variable("own", initializer=1.0)
            q = tf1.FIFOQueue(3, [tf.int64], shapes=[[]], shared_name="own")
        init, more, put, size = tf1.global_variables_initializer(), v.assign_add(1.0), q.enqueue(1), q.size()
        config = tf1.ConfigProto(isolate_session_state=True)
        with tf1.Session(target) as both, tf1.Session(target, config=config) as one, tf1.Session(target, config=config) as two:
            both.run([init, put])
            show("before", [attempt(s, v) for s in (both, one, two)] + [int(s.run(size)) for s in (both, one, two)])
            one.run([init, put])
            one.run([more, put])
            two.run(init)
            show("apart", [s.run(v) for s in (both, one, two)] + [int(s.run(size)) for s in (both, one, two)])
        with tf1.Session(target) as both, tf1.Session(target, config=config) as one:
            show("after", [attempt(s, v) for s in (both, one)] + [int(s.run(size)) for s in (both, one)])


def clients(target):
    """Threads with sessions and graphs of their own add to one variable and hand tokens around."""
    def client(number, totals):
        with tf1.Graph().as_default():
            with tf1.device("/job:ps/task:0"):
                total = tf1.get_variable("total", initializer=0, use_resource=True)
                done = tf1.FIFOQueue(10, [tf.int64], shapes=[[]], shared_name="done")
                ready = tf1.FIFOQueue(10, [tf.int64], shapes=[[]], shared_name="ready")
            add, wait, tell = total.assign_add(number), ready.dequeue(), done.enqueue(number)
            everyone, start = done.dequeue_many(4), ready.enqueue_many([[0] * 4])
            with tf1.Session(target) as s:
                if number == 0:
                    s.run(total.initializer)
                    s.run(start)
                s.run(wait)
                for _ in range(5):
                    s.run(add)
                s.run(tell)
                if number == 0:
                    totals.append(sorted(s.run(everyone).tolist()))
                    totals.append([int(s.run(total))])

    totals = []
    threads = [threading.Thread(target=client, args=(i, totals)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    show("clients", totals[0] + totals[1])


def kinds(target):
    """Queues of all kinds, with seeds and equal priorities."""
    with tf1.Graph().as_default(), tf1.device("/job:ps/task:1"):
        shuffled = tf1.RandomShuffleQueue(30, 2, [tf.int64], shapes=[[]], seed=5)
        ranked = tf1.PriorityQueue(30, [tf.string], shapes=[[]])
        padded = tf1.PaddingFIFOQueue(30, [tf.float32], shapes=[[None, 2]])
        accumulator = tf1.SparseConditionalAccumulator(tf.float32, shape=[5, 2])
        fill = [shuffled.enqueue_many([list(range(20))]), ranked.enqueue_many([np.arange(20) % 3, [str(i) for i in range(20)]])]
        pads = [padded.enqueue([np.full([n, 2], n, np.float32)]) for n in (1, 3, 2)]
        apply = [accumulator.apply_grad([i, 4], np.full([2, 2], i, np.float32), [5, 2], local_step=0) for i in (1, 2)]
        taken = accumulator.take_indexed_slices_grad(2)
        outs = [shuffled.dequeue_many(5), shuffled.dequeue(), shuffled.dequeue_up_to(4), ranked.dequeue_many(7), padded.dequeue_many(3), taken.indices, taken.values]
        with tf1.Session(target) as s:
            s.run(fill)
            for p in pads + apply:
                s.run(p)
            for i, o in enumerate(outs[:5]):
                show("kind %d" % i, s.run(o)[-1] if i == 3 else s.run(o))
            show("slices", np.concatenate([v.ravel() for v in s.run(outs[5:])]))


def runners(target):
    """tf.train.QueueRunner and Coordinator."""
    with tf1.Graph().as_default():
        with tf1.device("/job:ps/task:0"):
            q = tf1.FIFOQueue(4, [tf.int64], shapes=[[]])
            n = tf1.get_variable("n", initializer=tf1.constant(0, tf.int64), use_resource=True)
        put = q.enqueue(n.count_up_to(12))
        tf1.train.add_queue_runner(tf1.train.QueueRunner(q, [put]))
        take, init = q.dequeue_up_to(5), tf1.global_variables_initializer()
        with tf1.Session(target) as s:
            s.run(init)
            coordinator, got = tf1.train.Coordinator(), []
            threads = tf1.train.start_queue_runners(s, coordinator)
            try:
                while not coordinator.should_stop():
                    got += s.run(take).tolist()
            except tf.errors.OutOfRangeError:
                coordinator.request_stop()
            coordinator.join(threads)
            show("runners", got)


def loops(target):
    """Gradients of loops of TensorFlow 1: stacks and TensorArrays. The variable is on another task."""
    tf1.disable_control_flow_v2()
    with tf1.Graph().as_default():
        with tf1.device("/job:ps/task:1"):
            w = tf1.get_variable("w", initializer=np.array([[0.5, -0.3], [0.2, 0.7]], np.float32), use_resource=False)
        xs = tf1.constant(np.arange(12, dtype=np.float32).reshape(6, 2) / 10)
        inputs = tf1.TensorArray(tf.float32, 6, clear_after_read=False).unstack(xs)

        def body(i, h, out):
            h = tf1.tanh(tf1.matmul(h, w) + inputs.read(i))
            return i + 1, h, out.write(i, h)

        _, _, out = tf1.while_loop(lambda i, h, o: i < 6, body, [0, tf1.ones([1, 2]), tf1.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[1, 2])])
        y = tf1.reduce_sum(tf1.square(out.stack()) * 0.5)
        lengths = tf1.TensorArray(tf.float32, 3, infer_shape=False, clear_after_read=False).split(tf1.reshape(xs, [12]), [2, 3, 7])
        joined, gx = lengths.concat(), tf1.gradients(lengths.concat() ** 2, xs)[0]
        g = tf1.gradients(y, [w, xs])
        step = tf1.train.GradientDescentOptimizer(0.1).minimize(y)
        with tf1.Session(target) as s:
            s.run(w.initializer)
            show("arrays", np.concatenate([v.ravel() for v in s.run([joined, gx])]).round(4))
            show("gradients", np.concatenate([v.ravel() for v in s.run([y] + g)]).round(4))
            for _ in range(5):
                s.run(step)
            show("trained", np.concatenate([s.run([y]), s.run(w).ravel()]).round(4))
            late = tf1.TensorArray(tf.float32, 2, element_shape=[])
            show("beyond", attempt(s, late.write(2, 1.0).flow))
            show("twice", attempt(s, late.write(1, 1.0).write(1, 2.0).flow))


def main():
    target = "grpc://" + json.loads(sys.argv[1])["worker"][0]
    kinds(target)
    containers(target, True)
    containers(target, False)
    isolated(target)
    clients(target)
    runners(target)
    loops(target)


main()
