"""Runs what jobs of TensorFlow 1 have around their models and prints what it gave, a line of JSON each.

Usage: cluster_jobs.py CLUSTER DIR: CLUSTER is a JSON object of jobs and addresses; files go to DIR. Sessions are opened at worker 0,
variables are on two parameter servers.
"""

import json
import os
import random
import sys
import threading

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_v2_behavior()
PS = ["/job:ps/task:0", "/job:ps/task:1"]


def show(name, value):
    print(json.dumps([name, value]), flush=True)


def files(folder):
    return sorted(os.listdir(folder))


def setter():
    return tf1.device(tf1.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:0"))


def losses(target, build, steps=6):
    """Returns the losses of a model's first steps. build returns the loss; the seeds are the same each time."""
    with tf1.Graph().as_default():
        random.seed(5)
        tf1.set_random_seed(5)
        with setter():
            step, loss = tf1.train.get_or_create_global_step(), build(np.random.default_rng(0))
        with tf1.control_dependencies(tf1.get_collection(tf1.GraphKeys.UPDATE_OPS)):
            train = tf1.train.AdagradOptimizer(0.2).minimize(loss, global_step=step)
        with tf1.Session(target) as s:
            s.run([tf1.global_variables_initializer(), tf1.tables_initializer()])
            found = [float(s.run([loss, train])[0]) for _ in range(steps)]
            found += [float(np.sum(v)) for v in s.run(tf1.global_variables())]
    tf1.Session.reset(target)
    return found


def partitioned(rng):
    """Embeddings of sparse ids in four parts, which are on both parameter servers, with each way to combine and to divide them."""
    ids = tf1.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 2], [3, 0], [3, 1]], tf1.constant([3, 11, 5, 0, 19, 3], tf1.int64), [4, 3])
    weights = tf1.SparseTensor(ids.indices, tf1.constant([1.0, 2, 0.5, 1, 3, 0.1]), ids.dense_shape)
    h = []
    for combiner in ("sum", "mean", "sqrtn"):
        for strategy in ("mod", "div"):
            table = tf1.get_variable(combiner + strategy, [20, 3], partitioner=tf1.fixed_size_partitioner(4))
            h.append(tf1.nn.embedding_lookup_sparse(table, ids, weights if strategy == "mod" else None, strategy, combiner=combiner))
    h.append(tf1.nn.safe_embedding_lookup_sparse(table, ids, default_id=2))
    w = tf1.get_variable("w", [21, 40], partitioner=tf1.variable_axis_size_partitioner(600, axis=1))
    h = tf1.matmul(tf1.concat(h, 1), w)
    classes = tf1.get_variable("classes", [30, 40], partitioner=tf1.min_max_variable_partitioner(2, min_slice_size=64))
    bias = tf1.get_variable("bias", [30], initializer=tf1.zeros_initializer())
    y = tf1.constant(rng.integers(0, 30, [4, 1]))
    return tf1.reduce_mean(tf1.nn.sampled_softmax_loss(classes, bias, y, h, 5, 30, seed=3) + tf1.nn.nce_loss(classes, bias, y, h, 4, 30))


def recurrent(rng):
    """Two recurrent layers whose steps are on two parameter servers."""
    x = tf1.constant(rng.standard_normal([3, 5, 4]).astype(np.float32))
    cells = [tf1.nn.rnn_cell.DeviceWrapper(tf1.nn.rnn_cell.LSTMCell(4), PS[0]), tf1.nn.rnn_cell.DeviceWrapper(tf1.nn.rnn_cell.GRUCell(3), PS[1])]
    out, _ = tf1.nn.dynamic_rnn(tf1.nn.rnn_cell.MultiRNNCell(cells), x, sequence_length=tf1.constant([5, 2, 4]), dtype=tf1.float32)
    return tf1.reduce_mean(tf1.square(out - 0.3))


def normalized(rng):
    """Batch normalization, whose moving averages are updated beside the step, and a decaying rate of dropout."""
    h = tf1.layers.dense(tf1.constant(rng.standard_normal([8, 5]).astype(np.float32)), 6)
    h = tf1.nn.relu(tf1.layers.batch_normalization(h, training=True, momentum=0.8))
    step = tf1.cast(tf1.train.get_or_create_global_step(), tf1.float32)
    h = tf1.nn.dropout(h, rate=0.5 * tf1.train.exponential_decay(1.0, step, 2, 0.7))
    return tf1.reduce_mean(tf1.square(tf1.layers.dense(h, 1) - 1.0))


def averaged(rng):
    """Weights with moving averages."""
    x = tf1.constant(rng.standard_normal([8, 3]).astype(np.float32))
    w = tf1.get_variable("w", [3, 2])
    average = tf1.train.ExponentialMovingAverage(0.9, tf1.train.get_or_create_global_step())
    tf1.add_to_collection(tf1.GraphKeys.UPDATE_OPS, average.apply([w]))
    loss = tf1.losses.huber_loss(tf1.ones([8, 2]), tf1.matmul(x, w))
    return loss + tf1.losses.cosine_distance(tf1.ones([8, 2]), tf1.nn.l2_normalize(tf1.matmul(x, w), 1), axis=1)


def linear(rows=8):
    """Returns the loss and the train op of a linear model, and what it is fed."""
    with setter():
        step = tf1.train.get_or_create_global_step()
        x = tf1.placeholder(tf1.float32, [None, 2], name="x")
        w = tf1.get_variable("w", [2, 1], initializer=tf1.ones_initializer())
        b = tf1.get_variable("b", [1], initializer=tf1.zeros_initializer())
        loss = tf1.reduce_mean(tf1.square(tf1.matmul(x, w) + b - 3.0), name="loss")
        train = tf1.train.MomentumOptimizer(0.05, 0.9).minimize(loss, global_step=step, name="train")
    return loss, train, {x: np.random.default_rng(1).standard_normal([rows, 2])}


def savers(target, folder):
    """Checkpoints in a file for each parameter server, read again by a graph that comes from the checkpoint, and in part."""
    path = os.path.join(folder, "model")
    with tf1.Graph().as_default():
        loss, train, feed = linear()
        saver = tf1.train.Saver(sharded=True, max_to_keep=2, save_relative_paths=True)
        with tf1.Session(target) as s:
            s.run(tf1.global_variables_initializer())
            for step in range(4):
                s.run(train, feed)
                saver.save(s, path, global_step=step)
            show("trained", float(s.run(loss, feed)))
    tf1.Session.reset(target)
    show("files of sharded checkpoints", files(folder))
    with tf1.Graph().as_default() as g:
        saver = tf1.train.import_meta_graph(path + "-3.meta")
        with tf1.Session(target) as s:
            saver.restore(s, tf1.train.latest_checkpoint(folder))
            names = {g.get_tensor_by_name("x:0"): list(feed.values())[0]}
            show("restored", float(s.run("loss:0", names)))
            s.run("train", names)
            show("trained on", float(s.run("loss:0", names)))
    tf1.Session.reset(target)
    with tf1.Graph().as_default():
        loss, _, feed = linear()
        tf1.train.init_from_checkpoint(path + "-2", {"w": "w"})
        with tf1.Session(target) as s:
            s.run(tf1.global_variables_initializer())
            show("w of a checkpoint", float(s.run(loss, feed)))
    tf1.Session.reset(target)
    with tf1.Graph().as_default(), tf1.Session(target) as s:
        with setter():
            other = tf1.get_variable("other", initializer=[1.0, 2.0])
        try:
            tf1.train.Saver().restore(s, path + "-3")
        except tf1.errors.NotFoundError as e:
            show("a key that is not there", "Key other not found in checkpoint" in e.message)
        s.run(other.initializer)
        objects = tf1.train.Checkpoint(named=other).save(path, s)
        s.run(other.assign([0.0, 0.0]))
        tf1.train.Saver().restore(s, objects)
        show("a checkpoint of objects", s.run(other).tolist())
    tf1.Session.reset(target)


class Listener(tf1.train.CheckpointSaverListener):
    def __init__(self):
        self.saved = []

    def after_save(self, session, global_step_value):
        self.saved.append(int(global_step_value))


def old_savers(target, folder):
    """Checkpoints of version 1, whole and in a file for each parameter server, which this process reads, too, and whose files it writes."""
    kinds = [tf1.float32, tf1.float64, tf1.int32, tf1.int64, tf1.bool, tf1.half, tf1.string, tf1.complex64]
    with tf1.Graph().as_default():
        with setter():
            all_kinds = [tf1.get_variable("kind%d" % i, initializer=tf1.cast([3, 0, 7], k) if k != tf1.string else tf1.constant(["a", ""])) for i, k in enumerate(kinds)]
            parts = tf1.get_variable("parts", initializer=tf1.reshape(tf1.range(12.0), [4, 3]), partitioner=tf1.fixed_size_partitioner(2))
        whole = tf1.convert_to_tensor(parts)
        clear = [v.assign(tf1.zeros_like(v)) for v in list(parts) + all_kinds[:-2]]
        for sharded in (False, True):
            path = os.path.join(folder, "old%d" % sharded)
            saver = tf1.train.Saver(write_version=tf1.train.SaverDef.V1, sharded=sharded)
            with tf1.Session(target) as s:
                s.run(tf1.global_variables_initializer())
                saver.save(s, path, write_meta_graph=False)
                s.run(clear)
                saver.restore(s, path + ("-?????-of-00002" if sharded else ""))
                show("version 1, sharded %s" % sharded, [np.asarray(v).astype(str).tolist() for v in s.run(all_kinds + [whole])])
                with tf1.Graph().as_default(), tf1.Session() as own:
                    read = [tf1.raw_ops.Restore(file_pattern=path + "*", tensor_name=v.op.name, dt=v.dtype.base_dtype) for v in all_kinds]
                    show("read by this process", [np.asarray(v).astype(str).tolist() for v in own.run(read)])
                    own.run(tf1.raw_ops.Save(filename=path + "own", tensor_names=["x", "y"], data=[tf1.range(5), tf1.constant([1.5, -2.0])]))
                saved = tf1.raw_ops.Restore(file_pattern=path + "own", tensor_name="y", dt=tf1.float32)
                show("written by this process", s.run(saved).tolist())
                texts = ('Tensor name "none" not found in checkpoint files', "Expected to restore a tensor of type float, got a tensor of type int32 instead")
                for name, dtype in (("none", tf1.float32), ("x", tf1.float32)):
                    try:
                        s.run(tf1.raw_ops.Restore(file_pattern=path + "own", tensor_name=name, dt=dtype))
                    except tf1.errors.OpError as e:
                        show("no such tensor", [type(e).__name__, [text for text in texts if text in e.message]])
    tf1.Session.reset(target)


def hooks(target, folder):
    """The hooks that TensorFlow has."""
    with tf1.Graph().as_default():
        loss, train, feed = linear()
        (x, rows), = feed.items()
        tf1.summary.scalar("loss", loss)
        tf1.summary.histogram("rows", x)
        listener, batches = Listener(), iter(range(100))
        final = tf1.train.FinalOpsHook([loss], feed)
        all_hooks = [
            tf1.train.FeedFnHook(lambda: {x: rows + 0.1 * next(batches)}),
            tf1.train.SummarySaverHook(save_steps=2, output_dir=folder, summary_op=tf1.summary.merge_all()),
            tf1.train.StepCounterHook(every_n_steps=3, output_dir=folder),
            tf1.train.CheckpointSaverHook(folder, save_steps=4, listeners=[listener]),
            tf1.train.ProfilerHook(save_steps=3, output_dir=folder, show_memory=True),
            tf1.train.LoggingTensorHook({"loss": loss}, every_n_iter=2),
            tf1.train.NanTensorHook(loss), tf1.train.StopAtStepHook(num_steps=7), final]
        found = []
        with tf1.train.MonitoredSession(tf1.train.ChiefSessionCreator(master=target, checkpoint_dir=folder), hooks=all_hooks) as s:
            while not s.should_stop():
                found.append(float(s.run([loss, train])[0]))
        show("steps under hooks", found + [float(final.final_ops_values[0])])
        show("saved at", listener.saved)
    show("summaries", sorted(
        (e.step, v.tag) for f in tf1.gfile.Glob(os.path.join(folder, "events*")) for e in tf1.train.summary_iterator(f) for v in e.summary.value))
    traced = set()
    for name in (f for f in files(folder) if f.startswith("timeline")):  # which steps these are is luck: the step is read while it is counted
        with open(os.path.join(folder, name)) as f:
            traced.update(e["args"]["name"] for e in json.load(f)["traceEvents"] if e["name"] == "process_name" and "Compute" in e["args"]["name"])
    show("traced", sorted(traced))
    with tf1.Graph().as_default():
        loss, train, feed = linear()
        broken = {next(iter(feed)): np.full([1, 2], np.nan)}
        try:
            with tf1.train.MonitoredSession(tf1.train.ChiefSessionCreator(master=target), hooks=[tf1.train.NanTensorHook(loss)]) as s:
                s.run([loss, train], broken)
        except tf1.train.NanLossDuringTrainingError as e:
            show("loss is NaN", str(e))
    tf1.Session.reset(target)


def supervisor(target, folder):
    """A Supervisor with its threads: summaries, checkpoints, steps per second, and a looper."""
    with tf1.Graph().as_default():
        loss, train, feed = linear()
        tf1.summary.scalar("twice", 2 * tf1.train.get_or_create_global_step())
        s = tf1.train.Supervisor(logdir=folder, save_summaries_secs=1000, save_model_secs=1000, global_step=tf1.train.get_global_step())
        looped = threading.Event()
        with s.managed_session(target) as session:
            tf1.train.LooperThread.loop(s.coord, None, looped.set)
            looped.wait()
            for _ in range(5):
                session.run(train, feed)
            show("supervised", [float(session.run(loss, feed)), s.should_stop()])
            s.request_stop()
    show("its files", sorted({f.split(".")[0] for f in files(folder)}))
    tf1.Session.reset(target)


def queues(target, folder):
    """Input pipelines of queues: names of files, records, batches."""
    for i in range(2):
        with open(os.path.join(folder, "part%d.csv" % i), "w") as f:
            f.writelines("%d,%d.5,r%d\n" % (10 * i + n, n, n) for n in range(6))
    names = [os.path.join(folder, "part%d.csv" % i) for i in range(2)]

    def records():
        reader = tf1.TextLineReader()
        _, line = reader.read(tf1.train.string_input_producer(names, num_epochs=1, shuffle=False))
        return tf1.decode_csv(line, [[0], [0.0], [""]])

    def batches(name, build, order=lambda rows: rows):
        with tf1.Graph().as_default(), tf1.device("/job:worker/task:0"):
            fetch, found = build(), []
            with tf1.Session(target) as s:
                s.run(tf1.local_variables_initializer())
                coordinator = tf1.train.Coordinator()
                threads = tf1.train.start_queue_runners(s, coordinator)
                try:
                    while not coordinator.should_stop():
                        found += zip(*(np.asarray(v).astype(str).tolist() for v in s.run(fetch)))
                except tf1.errors.OutOfRangeError as e:
                    coordinator.request_stop()
                    show(name + " ends with", type(e).__name__)
                coordinator.join(threads)
            show(name, order(found))

    batches("batch", lambda: tf1.train.batch(records(), 5, allow_smaller_final_batch=True))
    batches("shuffle_batch", lambda: tf1.train.shuffle_batch(records(), 4, 20, 4, seed=1), sorted)
    batches("batch_join", lambda: tf1.train.batch_join([records(), records()], 6), sorted)
    batches("slices", lambda: tf1.train.batch(tf1.train.slice_input_producer([tf1.range(6), tf1.range(6) * 2], num_epochs=1, shuffle=False), 3))
    batches("ragged", lambda: tf1.train.batch([tf1.range(n := tf1.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()), n], 2, dynamic_pad=True))
    batches("maybe", lambda: tf1.train.maybe_batch([n := tf1.train.range_input_producer(8, num_epochs=1, shuffle=False).dequeue()], n % 2 > 0, 2))


def refused(target):
    """What needs the client's process; servers of TensorFlow are Python, too, but do not have its functions."""
    for name, op in (("py_func", lambda: tf1.py_func(np.sin, [1.0], tf1.float32)), ("from_generator", lambda: tf1.data.make_one_shot_iterator(
            tf1.data.Dataset.from_generator(lambda: iter([1, 2]), tf1.int32)).get_next())):
        with tf1.Graph().as_default(), tf1.Session(target) as s:
            try:
                show(name, s.run(op()).tolist())
            except tf1.errors.OpError as e:
                show(name, "fails")
                print(name, e.message, file=sys.stderr)


def main():
    cluster, out = json.loads(sys.argv[1]), sys.argv[2]
    target = "grpc://" + cluster["worker"][0]
    for build in (partitioned, recurrent, normalized, averaged):
        show(build.__name__, losses(target, build))
    for job in (savers, old_savers, hooks, supervisor, queues):
        folder = os.path.join(out, job.__name__)
        os.mkdir(folder)
        job(target, folder)
    refused(target)


main()
