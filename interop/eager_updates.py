"""Writes internal/imported/eager/testdata/updates.json.gz: how TensorFlow's optimizers and scatters update variables.

    python interop/eager_updates.py internal/imported/eager/testdata/updates.json.gz

Each op is recorded on resource variables and, where there is a form for them, on reference variables.
"""

import sys

import numpy as np

import eager_golden as base
import eager_sequences as sequences
from eager_sequences import Of, record
from tensorflow.python.framework import op_def_registry

rng = np.random.default_rng(3)
RULES = {  # the slots' first values and the scalars, by name
    "GradientDescent": ([], dict(alpha=0.1)),
    "Momentum": ([0.2], dict(lr=0.1, momentum=0.9)),
    "KerasMomentum": ([0.2], dict(lr=0.1, momentum=0.9)),
    "Adagrad": ([0.1], dict(lr=0.1)),
    "AdagradV2": ([0.1], dict(lr=0.1, epsilon=1e-3)),
    "Adam": ([0.1, 0.2], dict(beta1_power=0.81, beta2_power=0.98, lr=0.1, beta1=0.9, beta2=0.99, epsilon=1e-3)),
    "RMSProp": ([0.3, 0.1], dict(lr=0.1, rho=0.9, momentum=0.5, epsilon=1e-3)),
    "CenteredRMSProp": ([0.1, 2.0, 0.1], dict(lr=0.1, rho=0.9, momentum=0.5, epsilon=1e-3)),
    "Ftrl": ([0.1, 0.2], dict(lr=0.1, l1=0.05, l2=0.1, lr_power=-0.5)),
    "FtrlV2": ([0.1, 0.2], dict(lr=0.1, l1=0.05, l2=0.1, l2_shrinkage=0.2, lr_power=-0.4)),
    "AdaMax": ([0.1, 0.2], dict(beta1_power=0.81, lr=0.1, beta1=0.9, beta2=0.99, epsilon=1e-3)),
    "AdamWithAmsgrad": ([0.1, 0.2, 0.25], dict(beta1_power=0.81, beta2_power=0.98, lr=0.1, beta1=0.9, beta2=0.99, epsilon=1e-3)),
    "AdagradDA": ([0.1, 0.2], dict(lr=0.1, l1=0.05, l2=0.1, global_step=np.int64(3))),
    "PowerSign": ([0.1], dict(lr=0.1, logbase=1.1, sign_decay=0.9, beta=0.9)),
    "AddSign": ([0.1], dict(lr=0.1, alpha=1.2, sign_decay=0.9, beta=0.9)),
    "Adadelta": ([0.1, 0.2], dict(lr=0.5, rho=0.9, epsilon=1e-3)),
    "ProximalGradientDescent": ([], dict(alpha=0.1, l1=0.3, l2=0.1)),
    "ProximalAdagrad": ([0.1], dict(lr=0.1, l1=0.3, l2=0.1)),
}


def update(name, op, values, inputs, **attrs):
    """Records an op on new variables of the values, and the variables after it."""
    definition = op_def_registry.get(op)
    ref, steps = definition.input_arg[0].is_ref, []
    for v in values:
        kind = dict(shape=v.shape, dtype=v.dtype)
        if ref:
            steps += [("VariableV2", [], kind), ("Assign", [Of(len(steps)), v], {})]
        else:
            steps += [("VarHandleOp", [], kind), ("AssignVariableOp", [Of(len(steps)), v], {})]
    steps.append((op, [Of(2 * i) for i in range(len(values))] + inputs, attrs))
    for i, v in enumerate(values):
        steps.append(("Neg", [Of(2 * i)], {}) if ref else ("ReadVariableOp", [Of(2 * i)], dict(dtype=v.dtype)))
    record(name, *steps)


def rule(form, rows, t, shape, indices=None, name="", **attrs):
    """Records a rule; the gradient and the indices go where the op's definition has them."""
    op = form + rows
    if op_def_registry.get(op) is None:
        return
    slots, scalars = RULES[rows.split("Apply")[-1]]
    w = rng.standard_normal(shape).astype(t)
    values = [w] + [np.full(shape, v, t) + rng.random(shape).astype(t) * t(0.1) for v in slots]
    grad = rng.standard_normal(shape if indices is None else np.shape(indices) + shape[1:]).astype(t)
    inputs = []
    for a in op_def_registry.get(op).input_arg[len(values):]:
        inputs.append(grad if a.name in ("grad", "delta") else indices if a.name == "indices" else np.array(scalars[a.name], np.int64 if a.name == "global_step" else t))
    update("%s %s" % (op, name), op, values, inputs, **attrs)
    if not name:  # what does not fit
        update(op + " wrong gradient", op, values, [np.ones([7, 7], t) if x is grad else x for x in inputs])
        update(op + " rate of rank 1", op, values, [x.reshape([1]) if x.shape == () else x for x in inputs])


def rules():
    for r in RULES:
        for form in ("", "Resource"):
            for t in (np.float32, np.float64):
                rule(form, "Apply" + r, t, (5, 3), name="" if t == np.float32 else "double")
                rule(form, "SparseApply" + r, t, (5, 3), np.array([4, 0, 4], np.int32), name="" if t == np.float32 else "double")
            rule(form, "Apply" + r, np.float32, (0, 3), name="empty")
            rule(form, "Apply" + r, np.float32, (), name="scalar")
            rule(form, "Apply" + r, np.float32, (37,), name="odd size")
            rule(form, "SparseApply" + r, np.float32, (5, 3), np.zeros([0], np.int64), name="no rows")
            rule(form, "SparseApply" + r, np.float32, (5,), np.array([1, 1, 3], np.int64), name="rows of one")
            rule(form, "SparseApply" + r, np.float32, (5, 3), np.array([5], np.int64), name="beyond the end")
            rule(form, "SparseApply" + r, np.float32, (5, 3), np.array([-1], np.int64), name="negative")
            for attr in ("update_slots", "multiply_linear_by_lr"):
                if attr in [a.name for a in op_def_registry.get("ResourceApply" + r).attr]:
                    value = attr != "update_slots"
                    rule(form, "Apply" + r, np.float32, (5, 3), name="%s=%s" % (attr, value), **{attr: value})
                    rule(form, "SparseApply" + r, np.float32, (5, 3), np.array([4, 0, 4], np.int64), name="%s=%s" % (attr, value), **{attr: value})
            if "Momentum" in r or r == "Adam":
                rule(form, "Apply" + r, np.float32, (5, 3), name="nesterov", use_nesterov=True)
                if r != "Adam":
                    rule(form, "SparseApply" + r, np.float32, (5, 3), np.array([4, 0], np.int64), name="nesterov", use_nesterov=True)


def scatters():
    for form in ("", "Resource"):
        for how in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Update"):
            op = form + "Scatter" + how
            for t in (np.float32, np.float64, np.int32, np.int64):
                v, u = (rng.random((5, 3)) * 20 + 2).astype(t), (rng.random((2, 2, 3)) * 3 + 1).astype(t)
                update("%s %s" % (op, t.__name__), op, [v], [np.array([[4, 0], [4, 1]], np.int64), u])
                update("%s %s, a scalar" % (op, t.__name__), op, [v], [np.array([3, 1, 3], np.int32), np.array(3, t)])
            update(op + " no rows", op, [v], [np.zeros([0], np.int32), np.zeros([0, 3], t)])
            update(op + " one row", op, [v], [np.array(2, np.int32), u[0, 0]])
            update(op + " beyond the end", op, [v], [np.array([0, 5], np.int32), u[0]])
            update(op + " negative", op, [v], [np.array([0, -1], np.int32), u[0]])
            update(op + " wrong shape", op, [v], [np.array([0, 1], np.int32), u[:, :, :2]])
        update(form + "ScatterDiv by zero", form + "ScatterDiv", [v.astype(np.float32)], [np.array([0], np.int32), np.zeros([1, 3], np.float32)])  # integers end the process
        for how in ("Add", "Sub", "Update"):
            op = form + "ScatterNd" + how
            for t in (np.float32, np.int64):
                v, u = (rng.random((5, 3)) * 20).astype(t), (rng.random((3,)) * 9).astype(t)
                update("%s %s" % (op, t.__name__), op, [v], [np.array([[4, 1], [0, 0], [4, 1]], np.int64), u])
                update("%s %s, rows" % (op, t.__name__), op, [v], [np.array([[4], [0]], np.int32), np.stack([u, u + 1])])
            update(op + " beyond the end", op, [v], [np.array([[5]], np.int32), np.stack([u])])
            update(op + " wrong shape", op, [v], [np.array([[4]], np.int32), u])


def extremes():
    """The larger and the smaller number of slices, which TensorFlow has for floats alone."""
    v, u = np.float32([[5, -1, 2], [0, 3, 9], [4, 4, np.nan]]), np.float32([7, -2, 3])
    for form in ("", "Resource"):
        for how in ("Max", "Min"):
            op = form + "ScatterNd" + how
            update(op + " cells", op, [v], [np.array([[0, 1], [1, 0], [0, 1]], np.int64), u])
            update(op + " rows", op, [v], [np.array([[1], [2]], np.int32), np.stack([u, u + 1])])
            update(op + " beyond the end", op, [v], [np.array([[5]], np.int32), np.stack([u])])


def counters():
    for t in (np.float32, np.float64, np.int32, np.int64):
        v, u = (rng.random((2, 3)) * 9).astype(t), (rng.random((2, 3)) * 9).astype(t)
        for op in ("AssignAdd", "AssignSub", "AssignAddVariableOp", "AssignSubVariableOp"):
            update("%s %s" % (op, t.__name__), op, [v], [u])
            update("%s %s, wrong shape" % (op, t.__name__), op, [v], [u[0]])
    for op in ("CountUpTo", "ResourceCountUpTo"):
        for limit in (3, 4, 5):
            attrs = dict(limit=limit, T=np.int64) if op != "CountUpTo" else dict(limit=limit)
            update("%s %d" % (op, limit), op, [np.array(4, np.int64)], [], **attrs)


def pure(name, op, *inputs, **attrs):
    record(name, (op, list(inputs), attrs))


def gradients():
    for t in (np.float32, np.float64):
        g, x = rng.standard_normal([3, 4]).astype(t), np.array([[0, -0.0, 1e-3, -1e-3], [6, 7, -6, 0.5], [-0.5, 2, -2, 20]], t)
        for op in ("ReluGrad", "Relu6Grad", "LeakyReluGrad", "EluGrad", "SeluGrad", "SoftplusGrad", "SoftsignGrad"):
            pure("%s %s" % (op, t.__name__), op, g, x)
            pure("%s wrong shape" % op, op, g, x[0])
            pure("%s empty" % op, op, g[:0], x[:0])
        for op in ("SigmoidGrad", "TanhGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"):
            y = np.abs(x) / 30 + t(0.01)
            pure("%s %s" % (op, t.__name__), op, y, g)
            pure("%s empty" % op, op, y[:0], g[:0])
        for shape, form in (([3, 4], "NHWC"), ([2, 3, 4, 5], "NHWC"), ([2, 3, 4, 5], "NCHW"), ([0, 3], "NHWC"), ([3], "NHWC")):
            pure("BiasAddGrad %s %s" % (shape, form), "BiasAddGrad", rng.standard_normal(shape).astype(t), data_format=form)
        x = rng.standard_normal([3, 4]).astype(t)
        labels = rng.dirichlet([1] * 4, 3).astype(t)
        for a, b in ((x, labels), (x, labels[:1]), (x[:1], labels), (x[:0], labels[:0]), (x * 100, np.eye(4)[:3].astype(t)), (x, labels[:, :3]), (x[0], labels[0])):
            pure("SoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits", a, b)
    for a, b in (([2, 3], [2, 3]), ([2, 3], [3]), ([2, 3], [1]), ([], [2, 3]), ([1, 3], [2, 1]), ([1, 1], [1, 1]), ([1, 2], [1, 1]), ([1], [1, 1]), ([2], [3]), ([5, 1, 2], [1, 4, 1])):
        for t in (np.int32, np.int64):
            pure("BroadcastGradientArgs %s %s" % (a, b), "BroadcastGradientArgs", np.array(a, t), np.array(b, t))


def images():
    x = rng.standard_normal([2, 6, 5, 3]).astype(np.float32)
    for padding, stride in (("SAME", 1), ("VALID", 2), ("SAME", 2)):
        window = dict(strides=[1, stride, stride, 1], padding=padding)
        f, d = rng.standard_normal([3, 2, 3, 4]).astype(np.float32), rng.standard_normal([3, 2, 3, 2]).astype(np.float32)
        dy = rng.standard_normal(base.tf.nn.conv2d(x, f, stride, padding).shape).astype(np.float32)
        pure("Conv2DBackpropFilter " + padding, "Conv2DBackpropFilter", x, np.array(f.shape, np.int32), dy, **window)
        pure("Conv2DBackpropFilter wrong", "Conv2DBackpropFilter", x, np.array(f.shape, np.int32), dy[:, 1:], **window)
        dd = rng.standard_normal(dy.shape[:3] + (6,)).astype(np.float32)
        pure("DepthwiseConv2dNativeBackpropFilter " + padding, "DepthwiseConv2dNativeBackpropFilter", x, np.array(d.shape, np.int32), dd, **window)
        pure("DepthwiseConv2dNativeBackpropInput " + padding, "DepthwiseConv2dNativeBackpropInput", np.array(x.shape, np.int32), d, dd, **window)
        pool = dict(ksize=[1, 2, 2, 1], **window)
        y = base.tf.raw_ops.MaxPool(input=x, **pool).numpy()
        g = rng.standard_normal(y.shape).astype(np.float32)
        pure("MaxPoolGrad " + padding, "MaxPoolGrad", x, y, g, **pool)
        pure("MaxPoolGrad wrong", "MaxPoolGrad", x, y[:, 1:], g, **pool)
        pure("AvgPoolGrad " + padding, "AvgPoolGrad", np.array(x.shape, np.int32), g, **pool)


def slices():
    i = lambda *a: np.array(a, np.int32)
    for t in (np.float32, np.int64):
        for name, shape, b, e, st, attrs in (
                ("simple", (3, 5, 4), (0, -1, 2), (2, 0, 3), (1, -2, 1), dict(begin_mask=1, end_mask=2, shrink_axis_mask=4)),
                ("negative", (6,), (-1,), (-7,), (-1,), {}), ("all", (3, 2), (0, 0), (3, 2), (1, 1), {}), ("scalar", (3,), (1,), (2,), (1,), dict(shrink_axis_mask=1)),
                ("ellipsis", (2, 3, 4), (1, 1), (2, 3), (1, 1), dict(ellipsis_mask=1)), ("new axis", (3, 2), (0, 1), (1, 3), (1, 1), dict(new_axis_mask=1)),
                ("none", (4, 2), (2,), (2,), (1,), {}), ("empty", (0, 2), (0,), (0,), (1,), {}), ("beyond", (2,), (5,), (6,), (1,), dict(shrink_axis_mask=1))):
            x = (rng.random(shape) * 9).astype(t)
            try:
                y = base.tf.raw_ops.StridedSlice(input=x, begin=i(*b), end=i(*e), strides=i(*st), **attrs).numpy()
            except base.tf.errors.OpError:
                y = np.zeros([], t)
            by = (rng.random(y.shape) * 9).astype(t)
            pure("StridedSliceGrad " + name, "StridedSliceGrad", i(*shape), i(*b), i(*e), i(*st), by, **attrs)
            pure("StridedSliceGrad wrong " + name, "StridedSliceGrad", i(*shape), i(*b), i(*e), i(*st), np.ones([7, 7], t), **attrs)
            for op in ("StridedSliceAssign", "ResourceStridedSliceAssign"):
                update("%s %s" % (op, name), op, [x], [i(*b), i(*e), i(*st), by], **attrs)
            update("%s wrong %s" % (op, name), op, [x], [i(*b), i(*e), i(*st), np.ones([7, 7], t)], **attrs)
    for t in (np.int32, np.int64):
        pure("ConcatOffset", "ConcatOffset", np.array(1, np.int32), [np.array([2, n, 3], t) for n in (4, 0, 5)])
        pure("ConcatOffset from the end", "ConcatOffset", np.array(-1, np.int32), [np.array([2, n], t) for n in (4, 1)])
    pure("ConcatOffset wrong", "ConcatOffset", np.array(1, np.int32), [i(2, 4), i(3, 4)])
    pure("ConcatOffset beyond", "ConcatOffset", np.array(2, np.int32), [i(2, 4), i(2, 4)])
    x = rng.standard_normal([5, 6]).astype(np.float32)
    for mode in ("REFLECT", "SYMMETRIC"):
        for pad in ([[1, 2], [0, 1]], [[0, 0], [2, 2]], [[3, 3], [0, 0]], [[-1, 0], [0, 0]]):
            pure("MirrorPadGrad %s %s" % (mode, pad), "MirrorPadGrad", x, np.array(pad, np.int32), mode=mode)


def segments():
    for t in (np.float32, np.float64):
        g = rng.standard_normal([3, 4]).astype(t)
        for op in ("SparseSegmentSumGrad", "SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad"):
            pure("%s %s" % (op, t.__name__), op, g, np.array([4, 0, 4, 1], np.int32), np.array([0, 0, 1, 2], np.int32), np.array(6, np.int32))
            pure(op + " gap", op, g, np.array([4, 0], np.int64), np.array([0, 2], np.int32), np.array(5, np.int32))
            pure(op + " beyond", op, g, np.array([5], np.int32), np.array([0], np.int32), np.array(5, np.int32))
            pure(op + " beyond the segments", op, g, np.array([4], np.int32), np.array([3], np.int32), np.array(5, np.int32))
    for v in (np.arange(1, 4).astype(np.float32), np.arange(6).reshape(2, 3), np.zeros([0])):
        pure("Diag", "Diag", v)
    pure("Diag of a scalar", "Diag", np.array(3.0))
    for v in (np.arange(9).reshape(3, 3).astype(np.float32), np.arange(36).reshape(2, 3, 2, 3), np.zeros([2, 3]), np.zeros([3])):
        pure("DiagPart %s" % (v.shape,), "DiagPart", v)
    for shape in ((5, 3), (3, 5), (4, 4), (2, 3, 2), (1, 3), (0, 3)):
        for t in (np.float32, np.float64):
            for full in (False, True):
                pure("Qr %s %s" % (shape, full), "Qr", rng.standard_normal(shape).astype(t), full_matrices=full)
    pure("Qr of zeros", "Qr", np.zeros([3, 3], np.float32))
    p = rng.standard_normal([4, 5]).astype(np.float32)
    p[1] = 2
    for k in (0, 1, 2, 9):
        pure("InTopK %d" % k, "InTopK", p, np.array([0, 3, 4, -1], np.int32), k=k)
    many = [rng.standard_normal([3, 2]).astype(np.float32) for _ in range(3)]
    pure("AccumulateNV2", "AccumulateNV2", many, shape=[3, 2])
    record("temporary", ("TemporaryVariable", [], dict(shape=[3, 2], dtype=np.float32, var_name="t")), ("Assign", [Of(0), many[0]], {}), ("AssignAdd", [Of(1), many[1]], {}), ("DestroyTemporaryVariable", [Of(2)], dict(var_name="t")))
    v = np.ones([2], np.float32)
    record("copies", ("VarHandleOp", [], dict(shape=[2], dtype=np.float32)), ("AssignVariableOp", [Of(0), v], {}), ("DisableCopyOnRead", [Of(0)], {}), ("ReadVariableOp", [Of(0)], dict(dtype=np.float32)))


def norms():
    """The last outputs of batch normalization are the kernel's own."""
    for shape in ((3, 4, 5, 6), (1, 1, 1, 2), (0, 4, 5, 3)):
        n = shape[-1]
        x, dy, s, o, m, v = (rng.standard_normal(d).astype(np.float32) for d in (shape, shape, n, n, n, n))
        v, none = np.abs(v), np.zeros([0], np.float32)
        for training in (True, False):
            for op in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"):
                for factor in (1.0, 0.1):
                    own = (none, none) if training and factor == 1 else (m, v)
                    pure("%s %s %s" % (op, shape, training), op, x, s, o, *own, is_training=training, exponential_avg_factor=factor, epsilon=0.01)
            pure("FusedBatchNormGrad", "FusedBatchNormGrad", dy, x, s, m, v, is_training=training, epsilon=0.01)
            pure("FusedBatchNormGradV2", "FusedBatchNormGradV2", dy, x, s, m, v, is_training=training, epsilon=0.01)
            pure("FusedBatchNormGradV3", "FusedBatchNormGradV3", dy, x, s, m, v, none, is_training=training, epsilon=0.01)
    for c in sequences.SEQUENCES:
        last = c["steps"][-1]
        if last["op"].startswith("FusedBatchNorm") and "error" not in c:
            last["outputs"][3:] = [None] * len(last["outputs"][3:])
    pure("FusedBatchNormGradV3 wrong", "FusedBatchNormGradV3", dy, x[:, 1:], s, m, v, none)
    x, g = rng.standard_normal([2, 3, 2, 7]).astype(np.float32), rng.standard_normal([2, 3, 2, 7]).astype(np.float32)
    for radius, beta in ((5, 0.5), (2, 0.75), (0, 1.0)):
        attrs = dict(depth_radius=radius, bias=1.5, alpha=0.3, beta=beta)
        pure("LRN %d" % radius, "LRN", x, **attrs)
        pure("LRNGrad %d" % radius, "LRNGrad", g, x, base.tf.raw_ops.LRN(input=x, **attrs).numpy(), **attrs)
    pure("LRN wrong", "LRN", x[0])
    pure("LRNGrad wrong", "LRNGrad", g[:1], x, x)
    for t in (np.float32, np.float64):
        for corners, halves in ((False, False), (True, False), (False, True)):
            for size in ((2, 3), (7, 5), (1, 1)):
                attrs = dict(align_corners=corners, half_pixel_centers=halves)
                pure("ResizeNearestNeighborGrad", "ResizeNearestNeighborGrad", x.astype(t), np.array(size, np.int32), **attrs)
                pure("ResizeBilinearGrad", "ResizeBilinearGrad", x, rng.standard_normal((2,) + size + (7,)).astype(t), **attrs)
    pure("ResizeNearestNeighborGrad wrong", "ResizeNearestNeighborGrad", x, np.array([1], np.int32))
    pure("ResizeBilinearGrad wrong", "ResizeBilinearGrad", x, x[0])


def fusions():
    """What the optimizers of TensorFlow's masters make on processors."""
    a, b, bias = (rng.standard_normal(d).astype(np.float32) for d in ((5, 3), (3, 4), 4))
    acts = [b"Relu", b"Relu6", b"Elu", b"LeakyRelu"]
    for ops in [[b"BiasAdd"]] + [[b"BiasAdd", f] for f in acts]:
        pure("_FusedMatMul %s" % ops, "_FusedMatMul", a, b, [bias], fused_ops=ops, leakyrelu_alpha=0.3)
    pure("_FusedMatMul transposed", "_FusedMatMul", a, b.T.copy(), [bias], fused_ops=[b"BiasAdd"], transpose_b=True)
    pure("_FusedMatMul wrong", "_FusedMatMul", a, b.T.copy(), [bias], fused_ops=[b"BiasAdd"])
    pure("_FusedMatMul unknown", "_FusedMatMul", a, b, [bias], fused_ops=[b"BiasAdd", b"Cosh"])
    x, f = (rng.standard_normal(n).astype(np.float32) for n in ((2, 6, 5, 3), (3, 2, 3, 4)))
    norm = [rng.random(4).astype(np.float32) for _ in range(4)]
    window = dict(strides=[1, 1, 1, 1], padding="SAME", epsilon=0.01)
    for f_ops in [[b"BiasAdd"]] + [[b"BiasAdd", g] for g in acts]:
        pure("_FusedConv2D %s" % f_ops, "_FusedConv2D", x, f, [bias], [], fused_ops=f_ops, num_args=1, **window)
    for f_ops in [[b"FusedBatchNorm"]] + [[b"FusedBatchNorm", g] for g in acts]:
        pure("_FusedConv2D %s" % f_ops, "_FusedConv2D", x, f, norm, [], fused_ops=f_ops, num_args=4, **window)
    for names in ([b"Tanh"], [b"Sqrt", b"Log"], [b"Exp", b"Neg", b"Sigmoid"], [b"Square", b"Rsqrt", b"Relu"], [b"NoOp"]):
        pure("_UnaryOpsComposition %s" % names, "_UnaryOpsComposition", np.abs(a) + 0.5, op_names=names)
    rows = [rng.standard_normal([1, 3]).astype(np.float32) for _ in range(3)]
    pure("ParallelConcat", "ParallelConcat", rows, shape=[3, 3])
    pure("ParallelConcat wrong", "ParallelConcat", rows, shape=[2, 3])
    record("parallel concat", ("_ParallelConcatStart", [], dict(shape=[2, 3], dtype=np.float32)), ("_ParallelConcatUpdate", [Of(0), rows[0]], dict(loc=0)), ("_ParallelConcatUpdate", [Of(1), rows[1]], dict(loc=-1)))
    sequences.SEQUENCES[-1]["steps"][0]["outputs"] = sequences.SEQUENCES[-1]["steps"][1]["outputs"] = [None]  # what is not filled yet may be anything
    record("parallel concat wrong", ("_ParallelConcatStart", [], dict(shape=[2, 3], dtype=np.float32)), ("_ParallelConcatUpdate", [Of(0), rows[0]], dict(loc=2)))
    sequences.SEQUENCES[-1]["steps"][0]["outputs"] = [None]


def diagonals():
    aligns = ["LEFT_LEFT", "LEFT_RIGHT", "RIGHT_LEFT", "RIGHT_RIGHT"]
    ints = lambda *v: np.array(v if len(v) > 1 else v[0], np.int32)
    x = np.arange(1, 31).astype(np.float32).reshape(2, 3, 5)
    rows = np.arange(1, 19).astype(np.float32).reshape(2, 3, 3)
    pad = np.array(-1, np.float32)
    for version in ("V2", "V3"):
        for align in aligns if version == "V3" else [None]:
            attrs = dict(align=align) if align else {}
            for k in (ints(0), ints(-1, 1), ints(2), ints(-2, 4), ints(1, 3), ints(-2)):
                name = "%s %s %s" % (version, align, k.tolist())
                pure("MatrixDiagPart" + name, "MatrixDiagPart" + version, x, k, pad, **attrs)
                low, high = (k.min(), k.max())
                longest = min(3 + min(high, 0), 5 - max(low, 0))
                shape = [2] + ([high - low + 1] if high > low else []) + [longest]
                pure("MatrixSetDiag" + name, "MatrixSetDiag" + version, x, -rng.random(shape).astype(np.float32), k, **attrs)
            for k, n, m in ((ints(-1, 1), -1, -1), (ints(-1, 1), 3, -1), (ints(-1, 1), 4, 3), (ints(0, 2), -1, 9), (ints(-3, -1), 6, -1)):
                pure("MatrixDiag%s %s %s %d %d" % (version, align, k.tolist(), n, m), "MatrixDiag" + version, rows, k, ints(n), ints(m), pad, **attrs)
        for k, n, m in ((ints(0), -1, -1), (ints(0), 3, 5), (ints(2), -1, -1), (ints(-1), 9, 3), (ints(1, 0), -1, -1), (ints(0), 2, -1), (ints(0), -1, 2), (ints(0), 5, 5), (ints(0, 1), -1, -1)):
            pure("MatrixDiag%s %s %d %d" % (version, k.tolist(), n, m), "MatrixDiag" + version, rows, k, ints(n), ints(m), pad)
        pure("MatrixDiag%s of nothing" % version, "MatrixDiag" + version, rows[:0], ints(0), ints(-1), ints(-1), pad)
        pure("MatrixDiag%s of a scalar" % version, "MatrixDiag" + version, pad, ints(0), ints(-1), ints(-1), pad)
        for k in (ints(5), ints(-3), ints(-3, 0), ints(0, 5), ints(1, 0)):
            pure("MatrixDiagPart%s beyond %s" % (version, k.tolist()), "MatrixDiagPart" + version, x, k, pad)
            pure("MatrixSetDiag%s beyond %s" % (version, k.tolist()), "MatrixSetDiag" + version, x, x[:, :, 0], k)
        pure("MatrixSetDiag%s wrong" % version, "MatrixSetDiag" + version, x, x[:, :, :2], ints(0))
    for v in (x, x[:, :, :2], x[0], x[:, :0], x.astype(np.int64)):
        pure("MatrixDiagPart %s" % (v.shape,), "MatrixDiagPart", v)
        pure("MatrixSetDiag %s" % (v.shape,), "MatrixSetDiag", v, -v[..., :, 0][..., : v.shape[-1]])
    pure("MatrixDiagPart wrong", "MatrixDiagPart", x[0, 0])
    pure("MatrixSetDiag wrong", "MatrixSetDiag", x, x)


def main():
    rules()
    scatters()
    counters()
    gradients()
    images()
    slices()
    segments()
    norms()
    fusions()
    diagonals()
    extremes()
    base.write(sys.argv[1], sequences.SEQUENCES)
    print(len(sequences.SEQUENCES), "sequences,", sum("error" in c for c in sequences.SEQUENCES), "errors")


if __name__ == "__main__":
    main()
