"""Runs datasets and iterators on a cluster and prints what they gave, a line of JSON each.

Usage: cluster_data.py CLUSTER DIR: CLUSTER is a JSON object of jobs and addresses. Sessions are opened at worker 0. DIR is for files.
"""

import json
import os
import sys

import numpy as np
import tensorflow as tf
from tensorflow.python.data.ops import multi_device_iterator_ops
from tensorflow.python.ops import gen_dataset_ops

import cluster_kinds

tf1 = tf.compat.v1
tf1.disable_eager_execution()
Dataset = tf1.data.Dataset


def show(name, value):
    print(json.dumps([name, value]), flush=True)


def plain(v):
    """The value as JSON has it."""
    if isinstance(v, (tuple, list)) and not hasattr(v, "dense_shape"):
        return [plain(x) for x in v]
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items()}
    if hasattr(v, "dense_shape"):
        return [plain(v.indices), plain(v.values), plain(v.dense_shape)]
    return np.asarray(v).astype(str).tolist()


def drain(s, get, most=100):
    """All elements; the class of an error in its place."""
    out = []
    for _ in range(most):
        try:
            out.append(plain(s.run(get)))
        except tf.errors.OutOfRangeError as e:
            out.append("end" if "End of sequence" in e.message else e.message)
            break
        except tf.errors.OpError as e:
            out.append(type(e).__name__)
    return out


def pipelines():
    """Each returns a dataset."""
    r = Dataset.range
    even = lambda x: tf.equal(x % 2, 0)
    fails = lambda x: tf.debugging.check_numerics(tf.where(tf.equal(x, 3), np.nan, 1.0), "three")
    words = ["a", "bb", "ccc", "", "e"]
    unknown = lambda x: tf.fill([x], x)
    autotune = tf.data.AUTOTUNE
    return {
        "tensors": lambda: Dataset.from_tensors((1, "x", [1.5, 2.5])),
        "slices": lambda: Dataset.from_tensor_slices({"a": np.arange(6).reshape(3, 2), "b": ["x", "y", "z"]}),
        "range": lambda: r(10, 0, -3),
        "map": lambda: r(5).map(lambda x: (x * 2, tf.strings.as_string(x))),
        "map captures": lambda: r(5).map(lambda x: x + tf1.constant(7, tf.int64)),
        "parallel map": lambda: r(20).map(lambda x: x * x, num_parallel_calls=4),
        "filter": lambda: r(10).filter(even),
        "errors": lambda: r(6).map(fails),
        "errors in parallel": lambda: r(6).map(fails, num_parallel_calls=3),
        "ignored errors": lambda: r(6).map(fails).apply(tf.data.experimental.ignore_errors()),
        "flat map": lambda: r(4).flat_map(lambda x: Dataset.range(x)),
        "interleave": lambda: r(5).interleave(lambda x: Dataset.range(10 * x, 10 * x + x), cycle_length=3, block_length=2),
        "parallel interleave": lambda: r(5).interleave(lambda x: Dataset.range(10 * x, 10 * x + x), cycle_length=2, block_length=2, num_parallel_calls=2),
        "experimental interleave": lambda: r(5).apply(tf1.data.experimental.parallel_interleave(lambda x: Dataset.range(10 * x, 10 * x + 4), cycle_length=2, block_length=2)),
        "batch": lambda: r(7).batch(3),
        "batch without the rest": lambda: r(7).batch(3, drop_remainder=True),
        "parallel batch": lambda: r(7).batch(3, num_parallel_calls=2),
        "batch of words": lambda: Dataset.from_tensor_slices(words).batch(2),
        "batch of shapes": lambda: r(4).map(unknown).batch(2),
        "padded batch": lambda: r(5).map(lambda x: (unknown(x), tf.fill([x, 2], "w"))).padded_batch(2, ([None], [None, 3]), (np.int64(-1), "pad")),
        "padded too small": lambda: r(5).map(unknown).padded_batch(2, [2]),
        "map and batch": lambda: r(7).apply(tf1.data.experimental.map_and_batch(lambda x: x + 1, 3)),
        "unbatch": lambda: r(7).batch(3).unbatch(),
        "window": lambda: r(7).window(3, shift=2, stride=2).flat_map(lambda w: w.batch(3)),
        "window without the rest": lambda: r(7).window(3, shift=1, drop_remainder=True).flat_map(lambda w: w.batch(3)),
        "window with gaps": lambda: r(9).window(2, shift=4).flat_map(lambda w: w.batch(3)),
        "take": lambda: r(5).take(2),
        "take all": lambda: r(3).take(-1),
        "skip": lambda: r(5).skip(3),
        "shard": lambda: r(10).shard(3, 1),
        "repeat": lambda: r(2).repeat(3),
        "repeat forever": lambda: r(3).repeat().take(7),
        "repeat nothing": lambda: r(0).repeat(),
        "zip": lambda: Dataset.zip((r(3), Dataset.from_tensor_slices(words))),
        "concatenate": lambda: r(2).concatenate(r(5, 7)),
        "scan": lambda: r(6).apply(tf.data.experimental.scan(np.int64(0), lambda s, x: (s + x, s * 10 + x))),
        "take while": lambda: r(10).apply(tf.data.experimental.take_while(lambda x: x < 4)),
        "prefetch": lambda: r(5).prefetch(2),
        "prefetch by itself": lambda: r(5).map(lambda x: x, num_parallel_calls=autotune).prefetch(autotune),
        "cache": lambda: r(4).shuffle(4, seed=3).cache().repeat(3),
        "group by window": lambda: r(10).apply(tf.data.experimental.group_by_window(lambda x: x % 3, lambda k, d: d.batch(2), 2)),
        "bucket": lambda: r(1, 9).map(unknown).apply(tf.data.experimental.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3, 6], [2, 2, 2])),
        "rebatch": lambda: r(10).batch(4).rebatch(3),
        "choose": lambda: tf1.data.experimental.choose_from_datasets([r(3), r(10, 15)], Dataset.from_tensor_slices(np.array([1, 0, 1, 1, 0, 0, 0, 1, 1, 1], np.int64))),
        "sparse slices": lambda: Dataset.from_sparse_tensor_slices(tf1.SparseTensor([[0, 1], [2, 0], [2, 3]], ["x", "y", "z"], [4, 5])),
        "shuffle": lambda: r(20).shuffle(5, seed=7),
        "shuffle all": lambda: r(20).shuffle(100, seed=7),
        "shuffle and repeat": lambda: r(6).shuffle(4, seed=11).repeat(3),
        "shuffle once": lambda: r(6).shuffle(4, seed=11, reshuffle_each_iteration=False).repeat(3),
        "repeat and shuffle": lambda: r(4).repeat(6).shuffle(9, seed=5),
        "shuffled batches": lambda: r(12).shuffle(12, seed=2).batch(4).shuffle(3, seed=9).repeat(2),
        "experimental shuffle and repeat": lambda: r(5).apply(tf.data.experimental.shuffle_and_repeat(4, 3, seed=6)),
        "random": lambda: tf1.data.experimental.RandomDataset(seed=4).take(5),
    }


def all_pipelines(target):
    with tf1.Graph().as_default():
        tf1.set_random_seed(42)
        gets = {}
        for name, make in pipelines().items():
            it = tf1.data.make_initializable_iterator(make())
            gets[name] = (it.initializer, it.get_next())
        with tf1.Session(target) as s:
            for name, (init, get) in gets.items():
                s.run(init)
                show(name, drain(s, get))
            for name in ("shuffle", "shuffle and repeat", "map"):
                init, get = gets[name]
                s.run(init)
                show(name + " again", drain(s, get))


def iterators(target):
    """One-shot, reinitializable and feedable iterators; errors of use; iterators of two sessions."""
    with tf1.Graph().as_default():
        once = tf1.data.make_one_shot_iterator(Dataset.range(3)).get_next()
        it = tf1.data.make_initializable_iterator(Dataset.range(2))
        get = it.get_next()
        either = tf1.data.Iterator.from_structure(tf.int64, [])
        a, b = either.make_initializer(Dataset.range(3)), either.make_initializer(Dataset.range(10, 12).map(lambda x: x + 1))
        element = either.get_next()
        handle = tf1.placeholder(tf.string, [])
        fed = tf1.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
        wrong = tf1.data.Iterator.from_string_handle(handle, tf.float32, []).get_next()
        shared = tf1.data.make_initializable_iterator(Dataset.range(5), shared_name="shared data")
        both = shared.get_next()
        with tf1.Session(target) as s:
            show("one shot", drain(s, once))
            show("uninitialized", drain(s, get, 1))
            s.run(a)
            show("first", [drain(s, element, 2)])
            s.run(b)
            show("second", drain(s, element))
            h = s.run(it.string_handle())
            s.run(it.initializer)
            show("by handle", drain(s, tf.identity(get), 1))
            try:
                for _ in range(3):
                    show("fed", plain(s.run(fed, {handle: h})))
            except tf.errors.OutOfRangeError:
                show("fed", "end")
            try:
                s.run(wrong, {handle: h})
                show("wrong type", "no error")
            except tf.errors.InvalidArgumentError:
                show("wrong type", "InvalidArgumentError")
            s.run(shared.initializer)
            show("shared", drain(s, both, 2))
        with tf1.Session(target) as s:
            show("shared by the next session", drain(s, both, 2))
            show("own of the next session", drain(s, get, 1))


def devices(target):
    """What several devices take in turn: by the class that strategies use, and by the ops, which may ask out of order."""
    cpu = "/job:worker/replica:0/task:0/device:CPU:0"
    with tf1.Graph().as_default(), tf.device(cpu):
        numbers = Dataset.range(7).map(lambda x: (x, tf.strings.as_string(x * x)))
        both = multi_device_iterator_ops.MultiDeviceIterator(numbers, [cpu, cpu], max_buffer_size=2, source_device=cpu)
        get = both.get_next()
        flat = dict(output_types=[tf.int64], output_shapes=[[]])
        it = gen_dataset_ops.multi_device_iterator(devices=[cpu, cpu], shared_name="", container="", **flat)
        begin = gen_dataset_ops.multi_device_iterator_init(Dataset.range(5)._variant_tensor, it, max_buffer_size=3)
        shard, begun = tf1.placeholder(tf.int32, []), tf1.placeholder(tf.int64, [])
        element = gen_dataset_ops.multi_device_iterator_get_next_from_shard(it, shard, begun, **flat)
        with tf1.Session(target) as s:
            for _ in range(2):
                s.run(both.initializer)
                show("devices in turn", drain(s, get))
            for n in range(1, 3):
                show("pass", plain(s.run(begin)))
                show("shards", [shards(s, element, {shard: i, begun: n}) for i in (1, 1, 0, 0, 0, 0, 1)])
            show("a pass that is over", shards(s, element, {shard: 0, begun: 1}))


def shards(s, get, feeds):
    """An element, or why there is none."""
    try:
        return plain(s.run(get, feeds))
    except tf.errors.OpError as e:
        return [type(e).__name__, [text for text in ("End of sequence", "Invalid incarnation id. Provided: 1; Expected: 2") if text in e.message]]


def optionals(target):
    with tf1.Graph().as_default():
        it = tf1.data.make_initializable_iterator(Dataset.range(2).map(lambda x: (x, tf.strings.as_string(x))))
        o = tf.data.experimental.get_next_as_optional(it)
        value = tf.cond(o.has_value(), lambda: o.get_value()[1], lambda: tf1.constant("nothing"))
        total = Dataset.range(10).map(lambda x: x * x).reduce(np.int64(0), lambda s, x: s + x)
        size = tf.data.experimental.cardinality(Dataset.range(10).batch(3).repeat(2))
        single = tf.data.experimental.get_single_element(Dataset.range(5).batch(5))
        with tf1.Session(target) as s:
            s.run(it.initializer)
            show("optionals", [plain(s.run(value)) for _ in range(3)])
            show("reduce", plain(s.run([total, size, single])))


def loops(target):
    """A loop over a dataset in a function of TensorFlow 2, and iterators that it makes."""

    @tf.function
    def total(n):
        out = tf.constant(0, tf.int64)
        for x in tf.data.Dataset.range(n).map(lambda x: x + 1).batch(2):
            if tf.reduce_sum(x) > 100:
                break
            out += tf.reduce_sum(x)
        return out

    @tf.function
    def first():
        it = iter(tf.data.Dataset.range(5, 10).shuffle(5, seed=3))
        return next(it), next(it)

    with tf1.Graph().as_default():
        n = tf1.placeholder(tf.int64, [])
        t, f = total(n), first()
        with tf1.Session(target) as s:
            show("loop over a dataset", plain([s.run(t, {n: 7}), s.run(t, {n: 100})]))
            show("iterator in a function", plain(s.run(f)))


def variables(target):
    """A dataset whose function reads a variable and a table, on a parameter server."""
    with tf1.Graph().as_default(), tf1.device("/job:ps/task:0"):
        v = tf1.get_variable("scale", initializer=np.int64(3), use_resource=True)
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
        d = Dataset.from_tensor_slices(["a", "b", "c"]).map(lambda w: tf.cast(table.lookup(w), tf.int64) * v)
        it = tf1.data.make_initializable_iterator(d)
        get, more = it.get_next(), tf1.assign_add(v, 10)
        with tf1.Session(target) as s:
            s.run([tf1.global_variables_initializer(), tf1.tables_initializer()])
            for name in ("variables", "variables changed"):
                s.run(it.initializer)
                show(name, drain(s, get))
                s.run(more)


def write_files(folder):
    """Files of all kinds, and paths that do not exist or are damaged."""
    at = lambda name: os.path.join(folder, name)
    for name, compression in (("a.tfrecord", ""), ("b.tfrecord", ""), ("z.tfrecord", "GZIP")):
        with tf1.io.TFRecordWriter(at(name), compression) as w:
            for i in range(3):
                w.write(("%s %d" % (name, i)).encode())
    with open(at("a.tfrecord"), "rb") as f:
        whole = f.read()
    for name, content in (("bad.tfrecord", whole[:30] + b"x" + whole[31:]), ("cut.tfrecord", whole[:-3]), ("lines.txt", b"head\n1\r\n\n2 \r3\nlast"), ("more.txt", b"x\ny\n"),
                          ("fixed.bin", b"hhaaabbbcccf"), ("odd.bin", b"hhaaabbbccf"), ("t.csv", b'id,x,name\n1,0.5,"a ""b"", c"\n2,,d\r\n3,1e3,"two\nlines"\n'), ("bad.csv", b"1,2,3\nx,2,3\n1,2\n4,5,6\n")):
        with open(at(name), "wb") as f:
            f.write(content)
    return at


def files(target, folder):
    at = write_files(folder)
    names = lambda *all: [at(n) for n in all]
    csv = tf1.data.experimental.CsvDataset
    data = {
        "tfrecords": lambda: tf1.data.TFRecordDataset(names("a.tfrecord", "b.tfrecord")),
        "tfrecords in parallel": lambda: tf1.data.TFRecordDataset(names("a.tfrecord", "b.tfrecord"), num_parallel_reads=2),
        "gzip": lambda: tf1.data.TFRecordDataset(at("z.tfrecord"), "GZIP"),
        "a damaged tfrecord": lambda: tf1.data.TFRecordDataset(names("bad.tfrecord", "cut.tfrecord", "b.tfrecord")),
        "no file": lambda: tf1.data.TFRecordDataset(at("nothing")).take(1),
        "lines": lambda: tf1.data.TextLineDataset(names("lines.txt", "more.txt")),
        "fixed": lambda: tf1.data.FixedLengthRecordDataset(at("fixed.bin"), 3, 2, 1),
        "fixed that does not fit": lambda: tf1.data.FixedLengthRecordDataset(at("odd.bin"), 3, 2, 1),
        "csv": lambda: csv(at("t.csv"), [tf.int32, tf.constant([7.5]), tf.string], header=True),
        "csv columns": lambda: csv(at("t.csv"), [tf.constant([7.5]), tf.string], header=True, select_cols=[1, 2]),
        "csv errors": lambda: csv(at("bad.csv"), [tf.int32] * 3),
        "matching": lambda: tf1.data.Dataset.list_files(at("?.tfrec*"), shuffle=False).map(lambda p: tf.strings.split(p, "/")[-1]),
    }
    with tf1.Graph().as_default():
        gets = {}
        for name, make in data.items():
            it = tf1.data.make_initializable_iterator(make())
            gets[name] = (it.initializer, it.get_next())
        with tf1.Session(target) as s:
            for name, (init, get) in gets.items():
                s.run(init)
                show(name, drain(s, get, 1 if name in ("no file", "fixed that does not fit") else 20))
            show("decoded csv", plain(s.run(tf.io.decode_csv(["1,a,", "2,\"b,c\",3.5"], [[0], [""], [9.5]]))))
            show("decoded csv columns", plain(s.run(tf.io.decode_csv(["1;a;NA"], [[""], [9.5]], field_delim=";", na_value="NA", select_cols=[1, 2]))))
            for bad in (["1"], ["x,2"], ['"1"2,2']):
                show("csv refused", drain(s, tf.io.decode_csv(bad, [[0], [0]]), 1))
            s.run(tf1.write_file(at("new/file"), "content"))
            show("read", plain(s.run([tf1.read_file(at("new/file")), tf.size(tf1.matching_files(at("*.tfrecord"))), tf.size(tf1.matching_files(at("n*/f*")))])))
            show("not there", drain(s, tf1.read_file(at("nothing")), 1))


def readers(target, folder):
    at = lambda name: os.path.join(folder, name)
    made = {
        "tfrecord": (tf1.TFRecordReader, ["a.tfrecord", "b.tfrecord"]), "lines": (lambda: tf1.TextLineReader(skip_header_lines=1), ["lines.txt", "more.txt"]),
        "fixed": (lambda: tf1.FixedLengthRecordReader(3, 2, 1), ["fixed.bin"]), "whole": (tf1.WholeFileReader, ["more.txt", "fixed.bin"]), "identity": (tf1.IdentityReader, ["a", "b"]),
    }
    with tf1.Graph().as_default():
        for name in made:
            reader, names = made[name][0](), made[name][1]
            queue = tf1.FIFOQueue(10, tf.string, shapes=[()])
            work = [at(n) if name != "identity" else n for n in names]
            fill, close = queue.enqueue_many([work]), queue.close()
            read, many = reader.read(queue), reader.read_up_to(queue, 2)
            counts = [reader.num_records_produced(), reader.num_work_units_completed()]
            with tf1.Session(target) as s:
                s.run(fill)
                got = [s.run(read)] + [s.run(many)]
                s.run(close)
                while True:
                    try:
                        got.append(s.run(read))
                    except tf.errors.OutOfRangeError:
                        break
                show("reader " + name, json.loads(json.dumps(plain(got)).replace(folder, "DIR")))
                show("counts", plain(s.run(counts)))
                s.run(reader.reset())
                show("counts", plain(s.run(counts)))


def values(serialized):
    """A summary's values, with floats and pictures as numbers."""
    out = []
    for v in tf1.Summary.FromString(serialized).value:
        kind = v.WhichOneof("value")
        got = getattr(v, kind)
        if kind == "image":
            got = [got.height, got.width, got.colorspace, tf1.Session("").run(tf.io.decode_png(got.encoded_image_string)).tolist()]
        elif kind == "tensor":
            got = plain(tf.make_ndarray(got))
        elif kind == "histo":
            got = [[got.min, got.max, got.num, got.sum, got.sum_squares]] + [["%.6g" % x for x in list(got.bucket_limit) + list(got.bucket)]]
        else:
            got = str(got)
        out.append([v.tag, v.node_name, str(v.metadata), kind, got])
    return out


def summaries(target, folder):
    """Summary ops, a hook that saves summaries, and TensorFlow 2's writers."""
    with tf1.Graph().as_default():
        x = tf1.constant([[1.5, -2, 0.25], [1e-3, 7, -7]])
        pixels = tf.reshape(tf.range(24, dtype=tf.float32), [2, 2, 2, 3]) - 3
        sound = tf.stack([tf.sin(tf.range(6, dtype=tf.float32)), 2 * tf.cos(tf.range(6, dtype=tf.float32))], 1)[None]
        all_of_them = {
            "scalar": tf1.summary.scalar("loss", x[0, 0]), "histogram": tf1.summary.histogram("weights", x), "integers": tf1.summary.histogram("ids", [1, 1, 5]),
            "images": tf1.summary.image("pictures", pixels, max_outputs=2), "bytes": tf1.summary.image("grey", tf.cast(pixels[:, :, :, :1] + 3, tf.uint8), max_outputs=1),
            "audio": tf1.summary.audio("sound", sound, 8000), "tensor": tf1.summary.tensor_summary("any", x), "text": tf1.summary.text("words", tf1.constant(["a", "b"])),
        }
        all_of_them["merged"] = tf1.summary.merge(list(all_of_them.values()))
        twice = tf1.summary.merge([all_of_them["scalar"], all_of_them["scalar"]])
        nan = tf1.summary.histogram("nan", x / 0 * 0)
        with tf1.Session(target) as s:
            for name, get in all_of_them.items():
                show("summary of " + name, values(s.run(get)))
            for get in (twice, nan):
                show("refused", drain(s, get, 1))
    with tf1.Graph().as_default():
        step = tf1.train.get_or_create_global_step()
        add = tf1.assign_add(step, 1)
        tf1.summary.scalar("step", add)
        with tf1.train.MonitoredTrainingSession(target, checkpoint_dir=os.path.join(folder, "hook"), save_summaries_steps=2, save_summaries_secs=None, save_checkpoint_secs=None) as s:
            for _ in range(5):
                s.run(add)
        events = [e for f in sorted(tf.io.gfile.glob(os.path.join(folder, "hook", "events*"))) for e in tf1.train.summary_iterator(f)]
        show("hook", [[e.step, v.tag, v.simple_value] for e in events for v in e.summary.value if v.tag == "step"])
    with tf1.Graph().as_default():
        dir2 = os.path.join(folder, "writer")
        writer = tf.compat.v2.summary.create_file_writer(dir2)
        step = tf1.placeholder(tf.int64, [])
        with writer.as_default():
            scalar = tf.compat.v2.summary.scalar("x", tf.cast(step, tf.float32) / 2, step=step)
            histogram = tf.compat.v2.summary.histogram("h", tf.range(4), step=step)
        with tf1.Session(target) as s:
            s.run(writer.init())
            for i in range(2):
                s.run(scalar, {step: i})
                s.run(histogram, {step: i})
            s.run(writer.close())
        events = [e for f in sorted(tf.io.gfile.glob(os.path.join(dir2, "events*"))) for e in tf1.train.summary_iterator(f)]
        show("writer", [[e.step, v.tag, v.metadata.plugin_data.plugin_name, plain(tf.make_ndarray(v.tensor))] for e in events for v in e.summary.value])


def main():
    cluster, folder = json.loads(sys.argv[1]), sys.argv[2]
    target = "grpc://" + cluster["worker"][0]
    cluster_kinds.all_kinds(target)
    all_pipelines(target)
    iterators(target)
    devices(target)
    optionals(target)
    loops(target)
    variables(target)
    summaries(target, folder)
    files(target, folder)
    readers(target, folder)


main()
