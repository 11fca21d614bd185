"""jpeg.py DIR: tf.io.decode_jpeg in a tf.data pipeline, on the images of ../jpeg.go in memory."""
import glob
import os
import sys
import time

import tensorflow as tf

import link

tf.config.threading.set_intra_op_parallelism_threads(link.THREADS)
tf.config.threading.set_inter_op_parallelism_threads(link.THREADS)
CASES = sorted(os.listdir(sys.argv[1]))


def read(case):
    images = []
    for name in sorted(glob.glob(os.path.join(sys.argv[1], case, "*.jpg"))):
        with open(name, "rb") as f:
            images.append(f.read())
    return images


def pipeline(images):
    options = tf.data.Options()
    options.threading.private_threadpool_size = link.THREADS
    decode = lambda data: tf.io.decode_jpeg(data, channels=3)
    return iter(tf.data.Dataset.from_tensor_slices(images).cache().repeat().map(decode, num_parallel_calls=link.THREADS).prefetch(2).with_options(options))


images = {case: read(case) for case in CASES}
values = {case: [float(v) for v in tf.io.decode_jpeg(images[case][0], channels=3).numpy().reshape(-1)[::97]] for case in CASES}
pipelines = {case: pipeline(images[case]) for case in CASES}


def run(steps, case):
    it = pipelines[case]
    begun = time.perf_counter()
    for _ in range(steps):
        next(it)
    return time.perf_counter() - begun


link.serve(tf.__version__, values, run)
