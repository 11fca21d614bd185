"""Writes internal/imported/eager/testdata/sequences.json.gz: what TensorFlow computes by ops on variables, tables and lists of tensors.

    python interop/eager_sequences.py internal/imported/eager/testdata/sequences.json.gz

A sequence is ops that run one after the other; an input is a tensor or an earlier op's output. Each is recorded as it is
written below and with the inputs of one of its ops changed as eager_edges.py changes them. The first op that fails ends it.
"""

import functools
import os
import sys

import numpy as np

import eager_golden as base  # before TensorFlow, which it configures
import tensorflow as tf
from eager_edges import shapes, values
from eager_golden import f32, i32, i64, s, scalar, text

SEQUENCES = []
BUILT = []  # ops with a name that no other sequence shares
ANY = scalar(-1)
SIZED = ("TensorListReserve", "TensorListResize", "TensorListScatter", "TensorListScatterV2")  # the memory of some limits ends the process


class Of:
    """An output of an earlier op of the sequence."""

    def __init__(self, step, output=0):
        self.step, self.output = step, output


def unnamed(op, **kwargs):
    """Adds an op that only TensorFlow's optimizers make and that has no function in Python."""
    from tensorflow.python.framework import op_def_library, op_def_registry
    for a in op_def_registry.get(op).attr:
        kind = a.default_value.WhichOneof("value")
        if kind and a.name not in kwargs and a.name != "num_host_args":
            kwargs[a.name] = getattr(a.default_value, kind) if kind != "list" else list(a.default_value.list.i) or list(a.default_value.list.s)
    return op_def_library.apply_op(op, name=op.strip("_"), **kwargs)


def build(graph, steps):
    """Adds the ops, each after the one before it, and returns them with what is fed."""
    from tensorflow.python.framework import op_def_registry
    nodes, feed = [], {}

    def place(a):
        if isinstance(a, Of):
            return nodes[a.step].outputs[a.output]
        if a is ANY:
            return tf.constant(a)  # a shape that is not known must be a constant
        p = tf.compat.v1.placeholder(tf.string if a.dtype == object else tf.as_dtype(a.dtype), a.shape)
        feed[p] = a
        return p

    with graph.as_default():
        for op, inputs, attrs in steps:
            args = op_def_registry.get(op).input_arg
            kwargs = {d.name: [place(x) for x in a] if isinstance(a, list) else place(a) for d, a in zip(args, inputs)}
            with graph.control_dependencies(nodes[-1:]):
                if "shared_name" in [a.name for a in op_def_registry.get(op).attr]:  # resources outlive sessions
                    BUILT.append(op)
                    kwargs["shared_name"] = "%s_%d" % (op, len(BUILT))
                out = (getattr(base.RAW, op, None) or functools.partial(unnamed, op))(**kwargs, **attrs)
                while isinstance(out, (list, tuple)):
                    out = next(x for x in out if not isinstance(x, (list, tuple)) or x)
                nodes.append(out.op if hasattr(out, "op") else out)
    return nodes, feed


def plain(t):
    return t.dtype not in (tf.resource, tf.variant) and not t.dtype._is_ref_dtype


def run(steps):
    graph = tf.Graph()
    nodes, feed = build(graph, steps)
    with tf.compat.v1.Session(graph=graph) as session:
        fetched = session.run([[t for t in n.outputs if plain(t)] or n for n in nodes], feed)
    return nodes, fetched


def record(name, *steps):
    last, failed, before = len(steps), None, []
    taken = [[{"step": a.step, "output": a.output} if isinstance(a, Of) else {"tensor": base.tensor(a)} for x in inputs for a in (x if isinstance(x, list) else [x])] for _, inputs, _ in steps]
    try:
        nodes, fetched = run(steps)
    except (tf.errors.OpError, ValueError, TypeError):
        for last in range(1, len(steps) + 1):
            try:
                before = run(steps[:last])[1]
            except tf.errors.OpError as e:
                failed = base.reason(e)
                break
            except (ValueError, TypeError):
                return  # no graph of TensorFlow's
        try:
            nodes, _ = build(tf.Graph(), steps[:last])
        except (tf.errors.OpError, ValueError, TypeError):
            return
        fetched = before + [None]
    out = []
    for (op, _, _), node, values, inputs in zip(steps, nodes, fetched, taken):
        values = iter(values if isinstance(values, list) else [])
        out.append({"op": op, "node": node.name, "attrs": {k: base.attr(v) for k, v in node.node_def.attr.items() if not k.startswith("_")}, "inputs": inputs,
                    "outputs": [base.tensor(next(values)) if plain(t) and (failed is None or node is not nodes[-1]) else None for t in node.outputs]})
    c = {"name": name, "steps": out}
    if failed:
        c["error"] = failed
    SEQUENCES.append(c)


def vary(name, *steps):
    """Records the sequence, and it with one tensor of one op at the edges."""
    record(name, *steps)
    for k, (op, inputs, attrs) in enumerate(steps):
        for i, a in enumerate(inputs):
            if isinstance(a, np.ndarray):
                for edge, v in [*values(a), *shapes(a)]:
                    if edge == "limits" and op in SIZED:
                        continue
                    changed = (op, inputs[:i] + [v] + inputs[i + 1:], attrs)
                    record("%s, %s %s" % (name, op, edge), *steps[:k], changed, *steps[k + 1:])


def lists():
    f = dict(element_dtype=tf.float32)
    for row, name in [(f32(4, 5), "rows"), (s("a", "b"), "words"), (i64(4, 5), "numbers")]:
        d = dict(element_dtype=tf.as_dtype(row.dtype) if row.dtype != object else tf.string)
        reserved = ("TensorListReserve", [i64(2), scalar(3)], d)
        vary("set " + name, reserved, ("TensorListSetItem", [Of(0), scalar(1), row], {}), ("TensorListStack", [Of(1), ANY], d), ("TensorListGetItem", [Of(1), scalar(1), ANY], d))
        vary("gather " + name, ("TensorListFromTensor", [np.stack([row, row]), i64(2)], {}), ("TensorListGather", [Of(0), i32(1, 0, 1), ANY], d), ("TensorListLength", [Of(0)], {}),
             ("TensorListElementShape", [Of(0)], dict(shape_type=tf.int64)))
        vary("push " + name, ("EmptyTensorList", [i64(2), scalar(10)], d), ("TensorListPushBack", [Of(0), row], {}), ("TensorListPushBack", [Of(1), row], {}), ("TensorListPopBack", [Of(2), i32(2)], d),
             ("TensorListLength", [Of(3)], {}))
        vary("scatter " + name, ("TensorListScatterV2", [np.stack([row, row]), i32(2, 0), i64(2), ANY], {}), ("TensorListStack", [Of(0), ANY], d))
        vary("first scatter " + name, ("TensorListScatter", [np.stack([row, row]), i32(1, 0), i64(2)], {}), ("TensorListStack", [Of(0), ANY], d))
        vary("concat " + name, ("TensorListFromTensor", [np.stack([row, row]), i64(2)], {}), ("TensorListConcatV2", [Of(0), ANY, i64()], d))
        vary("first concat " + name, ("TensorListFromTensor", [np.stack([row, row]), i64(2)], {}), ("TensorListConcat", [Of(0)], dict(d, element_shape=[2])))
    record("first concat of any shape", ("TensorListFromTensor", [f32([1, 2]), i64(2)], {}), ("TensorListConcat", [Of(0)], f))
    vary("resize", ("TensorListReserve", [i64(2), scalar(3)], f), ("TensorListResize", [Of(0), scalar(2)], {}), ("TensorListStack", [Of(1), ANY], f))
    record("pop of an empty list", ("EmptyTensorList", [i64(2), ANY], f), ("TensorListPopBack", [Of(0), ANY], f))
    record("concat of an empty list", ("EmptyTensorList", [ANY, ANY], f), ("TensorListConcat", [Of(0)], f))
    record("length of no list", ("VarHandleOp", [], dict(dtype=tf.float32, shape=[])), ("TensorListLength", [Of(0)], {}))


def tables():
    words, ids = s("a", b"\xff", ""), i64(1, -2, 3)
    for keys, vals, missing in [(words, ids, scalar(-1, np.int64)), (ids, words, text("?"))]:
        d = dict(key_dtype=tf.string if keys.dtype == object else tf.int64, value_dtype=tf.string if vals.dtype == object else tf.int64)
        name = "words" if keys is words else "numbers"
        for v in ("", "V2"):
            vary("table of %s%s" % (name, v), ("HashTable" + v, [], d), ("InitializeTable" + v, [Of(0), keys, vals], {}), ("LookupTableFind" + v, [Of(0), keys[::-1].copy(), missing], {}), ("LookupTableSize" + v, [Of(0)], {}),
                 ("InitializeTable" + v, [Of(0), keys, vals], {}))
            vary("mutable table of %s%s" % (name, v), ("MutableHashTable" + v, [], d), ("LookupTableInsert" + v, [Of(0), keys[:1].copy(), vals[:1].copy()], {}), ("LookupTableFind" + v, [Of(0), keys, missing], {}),
                 ("LookupTableExport" + v, [Of(0)], dict(Tkeys=d["key_dtype"], Tvalues=d["value_dtype"])), ("LookupTableImport" + v, [Of(0), keys[1:2].copy(), vals[1:2].copy()], {}),
                 ("LookupTableSize" + v, [Of(0)], {}), ("LookupTableFind" + v, [Of(0), keys, missing], {}))
            record("find in an empty table " + v, ("HashTable" + v, [], d), ("LookupTableFind" + v, [Of(0), keys, missing], {}))
            record("size of an empty table " + v, ("HashTable" + v, [], d), ("LookupTableSize" + v, [Of(0)], {}))
            record("export of an empty table " + v, ("MutableHashTable" + v, [], d), ("LookupTableExport" + v, [Of(0)], dict(Tkeys=d["key_dtype"], Tvalues=d["value_dtype"])))
    d = dict(key_dtype=tf.string, value_dtype=tf.int64)
    for v in ("", "V2"):
        vary("table from a file" + v, ("HashTable" + v, [], d), ("InitializeTableFromTextFile" + v, [Of(0), text("testdata/vocabulary.txt")], dict(key_index=-2, value_index=-1)), ("LookupTableFind" + v, [Of(0), words, scalar(-1, np.int64)], {}),
             ("LookupTableSize" + v, [Of(0)], {}))
        record("table from a file with an empty line" + v, ("HashTable" + v, [], d), ("InitializeTableFromTextFile" + v, [Of(0), text("testdata/vocabulary_empty_line.txt")], dict(key_index=-2, value_index=-1)))
    vectors = f32([1, 2], [3, 4])
    d = dict(key_dtype=tf.int64, value_dtype=tf.float32)
    for op, inputs in [("MutableHashTableOfTensors", []), ("MutableHashTableOfTensorsV2", []), ("AnonymousMutableHashTableOfTensors", []), ("MutableDenseHashTableV2", [scalar(-1, np.int64), scalar(-2, np.int64)]),
                       ("AnonymousMutableDenseHashTable", [scalar(-1, np.int64), scalar(-2, np.int64)])]:
        v = "V2" if op != "MutableHashTableOfTensors" else ""
        vary("vectors in " + op, (op, inputs, dict({"value_dtype": tf.float32} if inputs else d, value_shape=[2])), ("LookupTableInsert" + v, [Of(0), i64(5, 6), vectors], {}), ("LookupTableFind" + v, [Of(0), i64(6, 7), f32(0, 9)], {}), ("LookupTableSize" + v, [Of(0)], {}))
    for op in ["AnonymousHashTable", "AnonymousMutableHashTable"]:
        fill = "InitializeTableV2" if op == "AnonymousHashTable" else "LookupTableInsertV2"
        record(op, (op, [], dict(key_dtype=tf.string, value_dtype=tf.int64)), (fill, [Of(0), words, ids], {}), ("LookupTableFindV2", [Of(0), words, scalar(0, np.int64)], {}))


def variables():
    for x, name in [(f32([1, 2], [3, 4]), "floats"), (i32([1, 2], [3, 4]), "integers"), (s("a", "b"), "words")]:
        d = dict(dtype=tf.string if x.dtype == object else tf.as_dtype(x.dtype))
        handle, read = ("VarHandleOp", [], dict(d, shape=None)), ("ReadVariableOp", [Of(0)], d)
        vary("assign " + name, handle, ("VarIsInitializedOp", [Of(0)], {}), ("AssignVariableOp", [Of(0), x], {}), read, ("VariableShape", [Of(0)], dict(out_type=tf.int64)), ("VarIsInitializedOp", [Of(0)], {}))
        vary("rows of " + name, handle, ("AssignVariableOp", [Of(0), x], {}), ("ResourceGather", [Of(0), i32(1, 1, 0)], d))
        vary("elements of " + name, handle, ("AssignVariableOp", [Of(0), x], {}), ("ResourceGatherNd", [Of(0), i32([1], [0])], d))
        if x.dtype != object:
            for op in ["AssignAddVariableOp", "AssignSubVariableOp"]:
                vary(op + " " + name, handle, ("AssignVariableOp", [Of(0), x], {}), (op, [Of(0), x], {}), read)
        read_ref = [("StringLength" if x.dtype == object else "Neg", [Of(k)], {}) for k in (0, 2)]
        for op in ["Variable", "VariableV2"]:
            record("ref %s %s" % (op, name), (op, [], dict(d, shape=x.shape)), ("IsVariableInitialized", [Of(0)], {}), ("Assign", [Of(0), x], {}), ("RefIdentity", [Of(2)], {}), read_ref[1], ("IsVariableInitialized", [Of(0)], {}))
            record("ref %s of other %s" % (op, name), (op, [], dict(d, shape=[7])), ("Assign", [Of(0), x], {}))
            record("ref %s of no %s" % (op, name), (op, [], dict(d, shape=x.shape)), read_ref[0])
        record("read of no " + name, handle, read)
        record("shape of no " + name, handle, ("VariableShape", [Of(0)], {}))
        record("destroyed " + name, handle, ("AssignVariableOp", [Of(0), x], {}), ("DestroyResourceOp", [Of(0)], {}), ("VarIsInitializedOp", [Of(0)], {}))
    for x in [f32(0.0, -0.0, base.nan, base.inf, -base.inf), np.zeros((0, 2), np.float32), np.float32(3), i32(2**31 - 1, -2**31), s("", b"\xff")]:
        x = np.asarray(x)
        record("ref of %s %s" % (x.dtype, x.shape), ("VariableV2", [], dict(dtype=tf.string if x.dtype == object else tf.as_dtype(x.dtype), shape=x.shape)), ("Assign", [Of(0), x], {}), ("RefIdentity", [Of(1)], {}), ("StringLength" if x.dtype == object else "Neg", [Of(1)], {}))


def others():
    for yes in (True, False):
        vary("Assert %s" % yes, ("Assert", [np.array(yes), [f32(1, base.nan), s("a", b"\xff", "")]], {}))
    edges = [f32(0.0, -0.0, base.nan, base.inf), np.zeros((0, 2), np.float32), s("", b"\xff"), i64(2**63 - 1, -2**63)]
    record("Assert of edges", ("Assert", [np.array(False), edges], {}))
    record("Print of edges", ("Print", [edges[0], edges], {}))
    record("PrintV2 of no UTF-8", ("PrintV2", [text(b"\xff")], dict(output_stream="file:///dev/null")))
    record("PrintV2 of nothing", ("PrintV2", [text("")], dict(output_stream="file:///dev/null")))
    vary("Print", ("Print", [f32(1, 2), [s("x")]], dict(message="")))
    vary("PrintV2", ("PrintV2", [text("x")], dict(output_stream="file:///dev/null")))
    record("NoOp", ("NoOp", [], {}), ("ControlTrigger", [], {}))
    record("Placeholder", ("PlaceholderWithDefault", [f32(1), ], dict(shape=[1])))


def main():
    to = os.path.abspath(sys.argv[1])
    os.chdir(os.path.dirname(os.path.dirname(to)))  # for testdata/vocabulary.txt
    for group in [lists, tables, variables, others]:
        group()
    base.write(to, SEQUENCES)
    print(len(SEQUENCES), "sequences,", sum("error" in c for c in SEQUENCES), "errors")


if __name__ == "__main__":
    main()
