"""Rows/s of TensorFlow 2.15's feature columns on Adult: python benchmark.py .../adult.data.gz

The columns are those of adultColumns in bench_test.go; the features are in memory, the computation is one tf.function.
"""
import gzip
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf
from tensorflow.python.feature_column import feature_column_v2 as v2

fc = tf.feature_column
NAMES = "age workclass fnlwgt education education_num marital_status occupation relationship race sex capital_gain capital_loss hours_per_week native_country".split()
NUMBERS = {"age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week"}


def main():
    rows = [line.decode().rstrip("\n").split(", ") for line in gzip.open(sys.argv[1])]
    rows = [r for r in rows if len(r) == 15]
    data = {n: np.array([r[i] for r in rows], np.float32 if n in NUMBERS else object) for i, n in enumerate(NAMES)}
    ages = fc.bucketized_column(fc.numeric_column("age"), [18, 25, 30, 35, 40, 45, 50, 55, 60, 65])
    columns = [fc.categorical_column_with_hash_bucket(n, 1000) for n in NAMES if n not in NUMBERS] + [
        ages, fc.crossed_column(["education", "occupation"], 10000), fc.crossed_column(["native_country", "occupation"], 10000),
        fc.crossed_column([ages, "education", "occupation"], 10000)]

    @tf.function
    def transform(features):
        cache = v2.FeatureTransformationCache(features)
        manager = v2._StateManagerImpl(tf.Module(), False)
        return [c.get_sparse_tensors(cache, manager).id_tensor.values for c in columns]

    for size in (128, 4096, len(rows)):
        batches = [{k: tf.constant(v[i:i + size]) for k, v in data.items()} for i in range(0, len(rows) - size + 1, size)]
        transform(batches[0])
        done, start, cpu = 0, time.perf_counter(), time.process_time()
        while time.perf_counter() - start < 3:
            for b in batches:
                transform(b)
                done += size
        print("batch=%d: %.0f rows/s, %.2f us of CPU a row" % (size, done / (time.perf_counter() - start), 1e6 * (time.process_time() - cpu) / done))


if __name__ == "__main__":
    main()
