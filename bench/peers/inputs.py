"""inputs.py DIR: pyarrow and tf.data on the files of ../inputs.go."""
import json
import os
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet
import tensorflow as tf

import link

BATCH = 512
pa.set_cpu_count(link.THREADS)
pa.set_io_thread_count(link.THREADS)
tf.config.threading.set_intra_op_parallelism_threads(link.THREADS)
tf.config.threading.set_inter_op_parallelism_threads(link.THREADS)
with open(os.path.join(sys.argv[1], "inputs.json")) as f:
    FILES = json.load(f)


def csv(case):
    f = FILES[case]
    types = {n: pa.string() if s else pa.float32() for n, s in zip(f["names"], f["strings"])}
    yield pa.csv.read_csv(f["file"], read_options=pa.csv.ReadOptions(column_names=f["names"], use_threads=link.THREADS > 1),
                          convert_options=pa.csv.ConvertOptions(column_types=types, strings_can_be_null=False))


def parquet(case):
    """The whole table, then rows in random order in batches."""
    table = pa.parquet.read_table(FILES[case]["file"], use_threads=link.THREADS > 1)
    columns = [table[n].to_numpy() for n in table.column_names]
    order = np.random.default_rng(1).permutation(table.num_rows)
    for at in range(0, len(order), BATCH):
        rows = order[at:at + BATCH]
        yield [c[rows] for c in columns]


def tfrecord(case):
    """Examples parsed by the batch, in parallel: the fastest way that tf.data has."""
    f = FILES[case]
    spec = {n: tf.io.FixedLenFeature([], tf.string if s else tf.float32) for n, s in zip(f["names"], f["strings"])}
    options = tf.data.Options()
    options.threading.private_threadpool_size = link.THREADS
    ds = tf.data.TFRecordDataset(f["file"], buffer_size=1 << 20).batch(BATCH).map(
        lambda x: tf.io.parse_example(x, spec), num_parallel_calls=link.THREADS).prefetch(2).with_options(options)
    for batch in ds:
        yield [batch[n] for n in f["names"]]


def jpeg_folder(case):
    """Files of a folder for each class, decoded by the file, in parallel, in batches of 64."""
    folder = FILES[case]["file"]
    names = [(os.path.join(folder, c, n), i) for i, c in enumerate(sorted(os.listdir(folder))) for n in sorted(os.listdir(os.path.join(folder, c)))]
    options = tf.data.Options()
    options.threading.private_threadpool_size = link.THREADS
    ds = tf.data.Dataset.from_tensor_slices(([n for n, _ in names], [i for _, i in names])).map(
        lambda name, label: (tf.io.decode_jpeg(tf.io.read_file(name), channels=3), label), num_parallel_calls=link.THREADS).batch(64).prefetch(2).with_options(options)
    yield from ds


READ = {"csv_adult": csv, "csv_floats": csv, "parquet": parquet, "tfrecord": tfrecord, "tfrecord_ordered": tfrecord, "jpeg_folder": jpeg_folder}


def sums(case):
    out = np.zeros(len(FILES[case]["names"]) + 1)
    for batch in READ[case](case):
        columns = batch.columns if isinstance(batch, pa.Table) else batch
        out[0] += len(columns[0])
        for i, c in enumerate(columns):
            if isinstance(c, pa.ChunkedArray):
                out[i + 1] += (pa.compute.sum(pa.compute.binary_length(c)) if pa.types.is_string(c.type) else pa.compute.sum(c.cast("float64"))).as_py()
            elif isinstance(c, np.ndarray):
                out[i + 1] += c.astype(np.float64).sum()
            elif c.dtype == tf.string:
                out[i + 1] += tf.reduce_sum(tf.strings.length(c)).numpy()
            else:
                out[i + 1] += c.numpy().astype(np.float64).sum()
    return [float(x) for x in out]


def run(steps, case):
    begun = time.perf_counter()
    for _ in range(steps):
        for _ in READ[case](case):
            pass
    return time.perf_counter() - begun


link.serve(f"pyarrow {pa.__version__}, TensorFlow {tf.__version__}", {case: sums(case) for case in FILES}, run)
