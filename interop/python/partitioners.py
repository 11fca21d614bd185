"""Prints, as JSON, how TensorFlow cuts variables and on which parameter servers it puts them."""

import itertools
import json
import socket

import tensorflow as tf

partitioners = tf.distribute.experimental.partitioners

SHAPES = [[1], [2], [3], [5], [7, 3], [13, 2], [10, 64], [64, 0], [1024, 32], [1024, 1024], [4096, 64], [65536], [65537], [131073], [196609], [20000, 4], [16404, 3], [1, 1000000], [3, 500, 700]]
DTYPES = [tf.float32, tf.int64, tf.bool]
CASES = (
    [("fixed_shards", {"shards": n}) for n in (1, 2, 3, 5, 1000)]
    + [("min_size", {"bytes": b, "shards": n}) for b in (1, 4, 1000, 256 << 10, (256 << 10) + 1) for n in (1, 2, 3, 100)]
    + [("max_size", {"bytes": b, "shards": n}) for b in (1, 4, 1000, 64 << 10, 256 << 10, (64 << 20) - 1) for n in (0, 1, 2, 7)]
)


def make(kind, shards=0, bytes=0):
    if kind == "fixed_shards":
        return partitioners.FixedShardsPartitioner(num_shards=shards)
    if kind == "min_size":
        return partitioners.MinSizePartitioner(min_shard_bytes=bytes, max_shards=shards)
    return partitioners.MaxSizePartitioner(max_shard_bytes=bytes, max_shards=shards or None)


def partitions():
    """For each partitioner and type, the partitions of SHAPES; 0 where TensorFlow divides by zero."""
    out = []
    for (kind, args), dtype in itertools.product(CASES, DTYPES):
        got = []
        for shape in SHAPES:
            if kind == "max_size" and 0 in shape:
                got.append(0)
                continue
            n = make(kind, **args)(tf.TensorShape(shape), dtype)
            assert all(i == 1 for i in n[1:])
            got.append(n[0])
        out.append({"kind": kind, "shards": args.get("shards", 0), "bytes": args.get("bytes", 0), "dtype": dtype.name, "partitions": got})
    return out


# Variables in the order in which they are made.
VARIABLES = [["a", [7, 3]], ["b", []], ["c", [3]], ["d", [1, 5]], ["e", [13, 2]], ["f", [2]], ["g", [5]]]


def free_port():
    with socket.socket() as s:
        s.bind(("localhost", 0))
        return s.getsockname()[1]


def cluster(servers):
    """A ParameterServerStrategy's cluster in this process."""
    spec = tf.train.ClusterSpec({"worker": [f"localhost:{free_port()}"], "ps": [f"localhost:{free_port()}" for _ in range(servers)]})
    running = [tf.distribute.Server(spec, job_name=job, task_index=i, protocol="grpc", start=True) for job in spec.jobs for i in range(spec.num_tasks(job))]
    return running, tf.distribute.cluster_resolver.SimpleClusterResolver(spec, rpc_layer="grpc")


def task(device):
    return tf.compat.v1.DeviceSpec.from_string(device).task


def sharded():
    """The shards of VARIABLES under ParameterServerStrategyV2: name, rows, task."""
    running, resolver = cluster(3)
    out = []
    for kind, args in [("none", {}), ("fixed_shards", {"shards": 2}), ("fixed_shards", {"shards": 5}), ("min_size", {"bytes": 16, "shards": 3}), ("max_size", {"bytes": 16, "shards": 0})]:
        strategy = tf.distribute.ParameterServerStrategy(resolver, variable_partitioner=make(kind, **args) if kind != "none" else None)
        places = []
        with strategy.scope():
            for name, shape in VARIABLES:
                v = tf.Variable(tf.zeros(shape), name=name)
                for part in getattr(v, "variables", [v]):
                    places.append([part.name.split(":")[0], part.shape.as_list(), task(part.device)])
        out.append({"kind": kind, "shards": args.get("shards", 0), "bytes": args.get("bytes", 0), "places": places})
    return out


class Greedy:
    """The rule of GreedyLoadBalancingStrategy with byte_size_load_fn, which TensorFlow 2 has no class for."""

    def __init__(self, servers):
        self.loads = [0] * servers

    def __call__(self, op):
        chosen = self.loads.index(min(self.loads))
        shape = tf.TensorShape(op.get_attr("shape"))
        self.loads[chosen] += shape.num_elements() * op.get_attr("dtype").size
        return chosen


def setter(strategy, shapes):
    """The tasks that replica_device_setter gives variables, whose slots are beside them."""
    with tf.Graph().as_default():
        with tf.compat.v1.device(tf.compat.v1.train.replica_device_setter(ps_tasks=3, ps_strategy=strategy)):
            list_ = [tf.compat.v1.get_variable(f"v{i}", shape, use_resource=True) for i, shape in enumerate(shapes)]
            optimizer = tf.compat.v1.train.AdamOptimizer()
            optimizer.apply_gradients([(tf.ones_like(v), v) for v in list_])
            for v in list_:
                for slot in ("m", "v"):
                    assert optimizer.get_slot(v, slot).device == v.device
        return [task(v.device) for v in list_]


SIZES = [[[100], [90], [80], [70], [60], [5], [4], [3], [2], [1]], [[8, 8], [8, 8], [4, 8], [4, 8], [4, 8], [2, 3], []], [[1000, 2], [1], [1], [1], [1]]]


def main():
    print(json.dumps({
        "shapes": SHAPES, "partitions": partitions(), "variables": VARIABLES, "sharded": sharded(),
        "sizes": SIZES, "round_robin": [setter(None, s) for s in SIZES], "greedy": [setter(Greedy(3), s) for s in SIZES],
    }))


main()
