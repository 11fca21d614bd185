"""Barriers, staging areas and sparse tensors that are kept between steps: what cluster_data.py runs of these.

Each function takes the target of a session and prints what the steps gave, a line of JSON each.
"""

import json
import re

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
raw = tf.raw_ops


def show(name, value):
    print(json.dumps([name, value]), flush=True)


def plain(v):
    """The value as JSON has it."""
    if isinstance(v, (tuple, list)) and not hasattr(v, "dense_shape"):
        return [plain(x) for x in v]
    if hasattr(v, "dense_shape"):
        return [plain(v.indices), plain(v.values), plain(v.dense_shape)]
    return np.asarray(v).astype(str).tolist()


def reason(message):
    """What the kernel wrote, which is behind the node's name or before the line with it."""
    found = re.search(r"^node \"[^\"]*\" \(\w+\): (.*)$", message, re.MULTILINE) or re.search(r"^(.*)\n\t \[\[", message, re.MULTILINE)
    return found.group(1).split("}} ")[-1] if found else message


def attempt(name, s, get, feeds=None):
    """Shows what a step gives, or how it fails."""
    try:
        show(name, plain(s.run(get, feeds)))
    except tf.errors.OpError as e:
        show(name, [type(e).__name__, reason(e.message)])


def barriers(target):
    from tensorflow.python.ops import data_flow_ops
    with tf1.Graph().as_default(), tf.device("/job:worker/task:0"):
        b = data_flow_ops.Barrier((tf.float32, tf.string), ((2,), ()), shared_name="b")
        keys, numbers, words = tf1.placeholder(tf.string, [None]), tf1.placeholder(tf.float32), tf1.placeholder(tf.string)
        first, second = b.insert_many(0, keys, numbers), b.insert_many(1, keys, words)
        take, few = b.take_many(2), b.take_many(5, allow_small_batch=True)
        sizes = [b.ready_size(), b.incomplete_size()]
        close, cancel = b.close(), b.close(cancel_pending_enqueues=True)
        with tf1.Session(target) as s:
            s.run(first, {keys: ["a", "b", "c"], numbers: [[1, 2], [3, 4], [5, 6]]})
            attempt("barrier sizes", s, sizes)
            s.run(second, {keys: ["c"], words: ["see"]})
            s.run(second, {keys: ["a"], words: ["ay"]})
            attempt("barrier sizes with some", s, sizes)
            attempt("barrier takes", s, take)
            attempt("barrier key twice", s, first, {keys: ["b"], numbers: [[0, 0]]})
            attempt("barrier empty value", s, first, {keys: ["z"], numbers: np.zeros([1, 0])})
            s.run(first, {keys: ["d"], numbers: [[7, 8]]})
            attempt("barrier closes", s, close)
            attempt("barrier new key", s, first, {keys: ["new"], numbers: [[0, 0]]})
            attempt("barrier too many", s, b.take_many(4))
            s.run(second, {keys: ["d"], words: ["dee"]})
            attempt("barrier takes few", s, few)
            s.run(second, {keys: ["b"], words: ["bee"]})
            attempt("barrier takes the last", s, few)
            attempt("barrier is empty", s, few)
            attempt("barrier closes again", s, close)
            attempt("barrier is cancelled", s, cancel)
            attempt("barrier is cancelled again", s, cancel)
            attempt("barrier after the end", s, first, {keys: ["x"], numbers: [[0, 0]]})
        wrong = data_flow_ops.Barrier((tf.int32, tf.string), ((2,), ()), shared_name="b")
        with tf1.Session(target) as s:
            attempt("barrier of other types", s, wrong.ready_size())


def stages(target):
    from tensorflow.python.ops import data_flow_ops
    with tf1.Graph().as_default(), tf.device("/job:worker/task:0"):
        area = data_flow_ops.StagingArea([tf.float32, tf.string], shapes=[[2], []], shared_name="area", capacity=3)
        x, index = tf1.placeholder(tf.float32, [2]), tf1.placeholder(tf.int32, [])
        put, get, size, clear = area.put([x, tf.strings.as_string(x[0])]), area.get(), area.size(), area.clear()
        look = raw.StagePeek(index=index, dtypes=[tf.float32, tf.string], shared_name="area", capacity=3)
        with tf1.Session(target) as s:
            for i in range(3):
                s.run(put, {x: [i, -i]})
            attempt("stage size", s, size)
            attempt("stage peek", s, look, {index: 1})
            attempt("stage get", s, get)
            attempt("stage size less", s, size)
            s.run(clear)
            attempt("stage size after clear", s, size)
            bounded = data_flow_ops.StagingArea([tf.float32], memory_limit=6, shared_name="bounded")
            attempt("stage too large", s, bounded.put([x]), {x: [1, 2]})
        for ordered in (False, True):
            m = data_flow_ops.MapStagingArea([tf.float32, tf.int32], names=["a", "b"], ordered=ordered, shared_name="map%d" % ordered)
            name = "ordered map" if ordered else "map"
            key, whole, part = tf1.placeholder(tf.int64, []), tf1.placeholder(tf.float32), tf1.placeholder(tf.int32)
            put, put_a, put_b = m.put(key, {"a": whole, "b": part}), m.put(key, {"a": whole}), m.put(key, {"b": part})
            peek, get, get_a, first = m.peek(key), m.get(key), m.get(key, ["a"]), m.get()
            sizes = [m.size(), m.incomplete_size()]
            show_map = lambda what, fetch, feeds=None: attempt(name + " " + what, s, fetch, feeds)
            with tf1.Session(target) as s:
                s.run(put, {key: 7, whole: 1.5, part: 3})
                s.run(put_a, {key: 2, whole: 2.5})
                show_map("sizes", sizes)
                show_map("twice", put_a, {key: 2, whole: 2.5})
                s.run(put_b, {key: 2, part: 4})
                show_map("sizes when complete", sizes)
                show_map("peek", [peek["a"], peek["b"]], {key: 7})
                if ordered:
                    show_map("first", [first[0], first[1]["a"], first[1]["b"]])
                else:
                    show_map("get", [get[1]["a"], get[1]["b"]], {key: 2})
                show_map("part", get_a[1]["a"], {key: 7})
                show_map("part again", get_a[1]["a"], {key: 7})
                show_map("sizes in the end", sizes)
                s.run(m.clear())
                show_map("sizes after clear", sizes)


def sparse(target):
    from tensorflow.python.ops import sparse_ops
    with tf1.Graph().as_default(), tf.device("/job:worker/task:0"):
        words = tf1.SparseTensor([[0, 1], [2, 0]], ["x", ""], [3, 4])
        numbers = tf1.SparseTensor([[0, 1], [2, 0], [2, 3]], [1.5, 2.5, 3.5], [4, 5])
        with tf1.Session(target) as s:
            for name, t in {"words": words, "numbers": numbers}.items():
                single, many = tf1.serialize_sparse(t), tf1.serialize_many_sparse(t)
                show(name + " serialized", [x.hex() for x in s.run(single)])
                show(name + " of rows serialized", [[x.hex() for x in row] for row in s.run(many)])
                attempt(name + " back", s, tf1.deserialize_many_sparse(many, t.dtype))
                attempt(name + " back in two dimensions", s, tf.io.deserialize_many_sparse(tf.stack([single, single]), t.dtype))
                attempt(name + " in one", s, raw.DeserializeSparse(serialized_sparse=single, dtype=t.dtype))
                attempt(name + " of a wrong type", s, raw.DeserializeManySparse(serialized_sparse=many, dtype=tf.int32))
                handles = sparse_ops._add_many_sparse_to_tensors_map(t, shared_name="kept " + name)
                took = sparse_ops._take_many_sparse_from_tensors_map(handles.op, handles)
                attempt(name + " kept", s, took)
                handle = sparse_ops._add_sparse_to_tensors_map(t, shared_name="kept " + name)
                attempt(name + " kept whole", s, sparse_ops._take_many_sparse_from_tensors_map(handle.op, tf.stack([handle, sparse_ops._add_sparse_to_tensors_map(t, shared_name="kept " + name)])))
                attempt(name + " never kept", s, sparse_ops._take_many_sparse_from_tensors_map(handle.op, tf.constant([1000], tf.int64)).values)
        batch = tf1.train.batch([numbers, words], batch_size=2)  # through a queue
        with tf1.Session(target) as s:
            coordinator = tf1.train.Coordinator()
            threads = tf1.train.start_queue_runners(s, coordinator)
            attempt("batch of sparse tensors", s, batch)
            coordinator.request_stop()
            coordinator.join(threads)


def keepers(target):
    """What a session within a process keeps, servers do not."""
    with tf1.Graph().as_default(), tf.device("/job:worker/task:0"):
        with tf1.Session(target) as s:
            for name, op in {"handle": tf1.get_session_handle(tf.constant(1.0)), "tensor": raw.GetSessionTensor(handle="x;0;", dtype=tf.float32), "delete": raw.DeleteSessionTensor(handle="x;0;")}.items():
                attempt("session " + name, s, op)


def arrays(target):
    """An array of gradients whose elements have more dimensions than the forward array's."""
    with tf1.Graph().as_default(), tf.device("/job:worker/task:0"):
        handle, flow = raw.TensorArrayV3(size=2, dtype=tf.float32, element_shape=[2])
        flow = raw.TensorArrayWriteV3(handle=handle, index=0, value=[1.0, 2.0], flow_in=flow)
        grad, flow = raw.TensorArrayGradWithShape(handle=handle, flow_in=flow, shape_to_prepend=[3], source="g")
        write = raw.TensorArrayWriteV3(handle=grad, index=0, value=tf.ones([3, 2]), flow_in=flow)
        with tf1.Session(target) as s:
            attempt("wider gradients", s, raw.TensorArrayGatherV3(handle=grad, indices=[0, 1], flow_in=write, dtype=tf.float32))


def examples(target):
    """Datasets of parsed examples, with sparse features, and of elements without repetition; tf.print's text."""
    def example(**features):
        return tf.train.Example(features=tf.train.Features(feature={k: tf.train.Feature(int64_list=tf.train.Int64List(value=v)) for k, v in features.items()})).SerializeToString()

    with tf1.Graph().as_default(), tf.device("/job:worker/task:0"):
        records = [example(a=[1], z=[5, 6], b=[7, 8]), example(a=[2], z=[], b=[9, 10]), example(a=[3], z=[4], b=[0, 0])]
        spec = {"z": tf1.VarLenFeature(tf.int64), "a": tf1.FixedLenFeature([], tf.int64), "b": tf1.FixedLenFeature([2], tf.int64)}
        data = tf1.data.Dataset.from_tensor_slices(records).batch(2)
        parsed = tf1.data.make_one_shot_iterator(data.apply(tf.data.experimental.parse_example_dataset(spec, num_parallel_calls=2))).get_next()
        pairs = tf1.data.make_one_shot_iterator(data.map(lambda x: tf1.parse_example(x, spec)["z"])).get_next()
        rows = tf1.data.make_one_shot_iterator(tf1.data.Dataset.from_tensor_slices(records).map(lambda x: tf1.parse_single_example(x, spec)["z"]).batch(3)).get_next()
        some = {"z": tf.io.RaggedFeature(tf.int64), "b": tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64), "a": tf1.FixedLenFeature([], tf.int64), "s": tf1.VarLenFeature(tf.int64)}
        ragged = tf1.data.make_one_shot_iterator(data.apply(tf.data.experimental.parse_example_dataset(some))).get_next()
        ragged = [ragged["a"], ragged["b"].values, ragged["b"].row_splits, ragged["s"], ragged["z"].values, ragged["z"].row_splits]
        once = tf1.data.make_one_shot_iterator(tf1.data.Dataset.from_tensor_slices([3, 1, 3, 2, 1]).unique()).get_next()
        with tf1.Session(target) as s:
            for _ in range(3):
                attempt("parsed examples", s, [parsed["a"], parsed["b"], parsed["z"]])
            attempt("sparse elements", s, pairs)
            attempt("sparse elements in batches", s, rows)
            for _ in range(3):
                attempt("parsed ragged examples", s, ragged)
            for _ in range(4):
                attempt("unique", s, once)
            attempt("format", s, tf.strings.format("{} and {}", (tf.reshape(tf.range(30), [5, 6]), tf.constant(["a", "it's"]))))


def types(target):
    """Values of each type from one parameter server to the other, and to the worker."""
    kinds = [tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.complex64, tf.complex128, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64, tf.bool, tf.string]
    with tf1.Graph().as_default():
        fed, got = {}, []
        for kind in kinds:
            for value in ([1, 0], [], 1):
                with tf.device("/job:ps/task:0"):
                    x = tf1.placeholder(kind)
                    y = tf.identity(x)
                with tf.device("/job:ps/task:1"):
                    y = tf.identity(y)
                with tf.device("/job:worker/task:0"):
                    got.append((kind.name, tf.identity(y)))
                fed[x] = np.array(np.array(value, np.int32).astype(str).astype("S"), object) if kind == tf.string else np.array(value).astype(kind.as_numpy_dtype)
        with tf1.Session(target) as s:
            for (name, _), v in zip(got, s.run([y for _, y in got], fed)):
                show("sent " + name, [str(np.asarray(v).dtype), np.asarray(v).astype(object).astype(str).tolist()])
        with tf.device("/job:ps/task:0"):
            v = tf1.get_variable("sent_handle", initializer=tf.constant([1.0, 2.0]), use_resource=True)
        with tf.device("/job:ps/task:1"):
            read = tf.raw_ops.ReadVariableOp(resource=v.handle, dtype=tf.float32)
        with tf1.Session(target) as s:
            s.run(v.initializer)
            show("variable by its handle", plain(s.run(read)))


def all_kinds(target):
    for each in (barriers, stages, sparse, keepers, arrays, examples):
        each(target)
