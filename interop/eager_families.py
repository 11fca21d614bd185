"""Writes internal/imported/eager/testdata/families.json.gz: sparse tensors, sets, matrices, counts and texts as TensorFlow computes them.

    python interop/eager_families.py internal/imported/eager/testdata/families.json.gz

Each op is recorded on inputs that it accepts, for several types, and on some that do not fit.
"""

import sys

import numpy as np

import eager_golden as base
import eager_sequences as sequences
from eager_golden import f32, i32, i64, s, scalar, text
from eager_sequences import record

rng = np.random.default_rng(5)
INDICES = i64([0, 0, 1], [0, 2, 0], [1, 0, 0], [1, 0, 1], [3, 1, 1])
SHAPE = i64(4, 3, 2)
NUMBERS = (np.float32, np.float64, np.int32, np.int64)


def pure(name, op, *inputs, **attrs):
    record(name, (op, list(inputs), attrs))


def values(t, n=5):
    return (rng.standard_normal(n) * 4).astype(t)


def wrong(op, inputs, **attrs):
    """The op with each input of another rank or length in turn."""
    for i, x in enumerate(inputs):
        if isinstance(x, np.ndarray) and x.ndim:
            pure("%s input %d shorter" % (op, i), op, *inputs[:i], x[:-1], *inputs[i + 1:], **attrs)
            pure("%s input %d of rank more" % (op, i), op, *inputs[:i], x[None], *inputs[i + 1:], **attrs)


def sparse():
    for t in NUMBERS:
        x = values(t)
        for op in ("SparseReduceSum", "SparseReduceMax", "SparseReduceSumSparse", "SparseReduceMaxSparse"):
            for axes in ([0], [2], [0, -1], [0, 1, 2], []):
                for keep in (False, True):
                    pure("%s %s %s %s" % (op, t.__name__, axes, keep), op, INDICES, x, SHAPE, np.array(axes, np.int32), keep_dims=keep)
            pure(op + " beyond", op, INDICES, x, SHAPE, i32(3))
            pure(op + " of nothing", op, INDICES[:0], x[:0], SHAPE, i32(0))
        other = np.concatenate([INDICES[1:3], i64([2, 0, 0])])
        y = values(t, 3)
        for thresh in (0, 2):
            pure("SparseAdd %s %d" % (t.__name__, thresh), "SparseAdd", INDICES, x, SHAPE, other, y, SHAPE, np.array(thresh, t))
        pure("SparseAdd of other shapes", "SparseAdd", INDICES, x, SHAPE, other, y, SHAPE + 1, np.array(0, t))
        pure("SparseAdd of other ranks", "SparseAdd", INDICES, x, SHAPE, other[:, :2].copy(), y, SHAPE[:2], np.array(0, t))
        for op in ("SparseSparseMaximum", "SparseSparseMinimum"):
            pure("%s %s" % (op, t.__name__), op, INDICES, x, SHAPE, other, y, SHAPE)
            pure(op + " of other shapes", op, INDICES, x, SHAPE, other, y, SHAPE + 1)
        pure("SparseAddGrad %s" % t.__name__, "SparseAddGrad", values(t, 4), INDICES, other, np.concatenate([INDICES[:3], INDICES[4:]]))
        for kind in (np.int32, np.int64):
            pure("SparseTensorDenseAdd %s" % t.__name__, "SparseTensorDenseAdd", INDICES.astype(kind), x, SHAPE.astype(kind), values(t, 24).reshape(4, 3, 2))
        pure("SparseTensorDenseAdd of another shape", "SparseTensorDenseAdd", INDICES, x, SHAPE, values(t, 24).reshape(4, 2, 3))
        for n in (1, 2, 3):
            pure("SparseSplit %d" % n, "SparseSplit", scalar(0, np.int64), INDICES, x, SHAPE, num_split=n)
            pure("SparseSplit %d from the end" % n, "SparseSplit", scalar(-2, np.int64), INDICES, x, SHAPE, num_split=n)
        pure("SparseSplit too many", "SparseSplit", scalar(2, np.int64), INDICES, x, SHAPE, num_split=3)
        pure("SparseSplit beyond", "SparseSplit", scalar(3, np.int64), INDICES, x, SHAPE, num_split=2)
        pure("SparseSliceGrad", "SparseSliceGrad", values(t, 2), INDICES, i64(1, 0, 0), INDICES[2:4] - i64(1, 0, 0))
        pure("SparseFillEmptyRowsGrad", "SparseFillEmptyRowsGrad", i64(0, 2, 3), values(t))
        pure("SparseFillEmptyRowsGrad beyond", "SparseFillEmptyRowsGrad", i64(0, 5, 3), values(t))
    for t in (np.float32, np.float64):
        pure("SparseSoftmax %s" % t.__name__, "SparseSoftmax", INDICES, values(t), SHAPE)
        a, b = i64([0, 1], [0, 3], [2, 0], [2, 3]), values(t, 20)
        for left in (False, True):
            for right in (False, True):
                m = b[:8 if not left else 6].reshape((4, 2) if not left else (3, 2))
                for kind in (np.int32, np.int64):
                    pure("product %s %s %s" % (t.__name__, left, right), "SparseTensorDenseMatMul", a.astype(kind), values(t, 4), i64(3, 4), m.T.copy() if right else m, adjoint_a=left, adjoint_b=right)
                pure("product that does not fit", "SparseTensorDenseMatMul", a, values(t, 4), i64(3, 4), b.reshape(5, 4), adjoint_a=left, adjoint_b=right)
    wrong("SparseReduceSum", [INDICES, values(np.float32), SHAPE, i32(0)])
    wrong("SparseFillEmptyRowsGrad", [i64(0, 2, 3), values(np.float32)])


def sets():
    rows = ([1, 2, 2, 9], [3, 5, 3, 7]), ([2, 8], [5, 6])
    for kind in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, object):
        a, b = [np.vectorize(lambda v: str(v).encode(), otypes=[object])(r) if kind is object else np.array(r, kind) for r in rows]
        sparse_a = (i64([0, 0], [0, 1], [0, 3], [1, 0]), a[0, [0, 1, 3]].tolist() + [a[1, 0]], i64(2, 4))
        sparse_b = (i64([0, 0], [1, 1]), [b[0, 0], b[1, 1]], i64(2, 5))
        put = lambda x: np.array(x, kind)
        for op in ("a-b", "b-a", "intersection", "union"):
            pure("dense sets %s" % op, "DenseToDenseSetOperation", a, b, set_operation=op)
            pure("a dense set %s" % op, "DenseToSparseSetOperation", a, sparse_b[0], put(sparse_b[1]), sparse_b[2], set_operation=op)
            pure("sparse sets %s" % op, "SparseToSparseSetOperation", sparse_a[0], put(sparse_a[1]), sparse_a[2], sparse_b[0], put(sparse_b[1]), sparse_b[2], set_operation=op)
        pure("set sizes", "SetSize", sparse_a[0], put(sparse_a[1]), sparse_a[2])
        pure("set sizes out of order", "SetSize", sparse_a[0][::-1].copy(), put(sparse_a[1]), sparse_a[2])
        pure("sets of other groups", "DenseToDenseSetOperation", a, b[:1], set_operation="union")
        pure("sets of rank 1", "DenseToDenseSetOperation", a[0], b[0], set_operation="union")
    hypothesis = (i64([0, 0, 0], [0, 0, 1], [0, 0, 2], [1, 0, 0]), s("a", "b", "c", "d"), i64(2, 1, 3))
    truth = (i64([0, 0, 0], [0, 0, 1], [0, 1, 0]), s("a", "x", "y"), i64(2, 2, 2))
    for normalize in (False, True):
        pure("EditDistance", "EditDistance", *hypothesis, *truth, normalize=normalize)
        pure("EditDistance of numbers", "EditDistance", hypothesis[0], i64(1, 2, 3, 4), hypothesis[2], truth[0], i64(1, 3, 5), truth[2], normalize=normalize)
    pure("EditDistance of other ranks", "EditDistance", *hypothesis, truth[0][:, 1:].copy(), truth[1], truth[2][1:].copy())


def matrices():
    for t in (np.float32, np.float64):
        for shape in ((3, 3), (2, 4, 4), (1, 1), (0, 0), (2, 0, 3, 3)):
            a = (rng.standard_normal(shape) + 3 * np.eye(shape[-1])).astype(t)
            b = rng.standard_normal(shape[:-1] + (2,)).astype(t)
            symmetric = np.matmul(a, np.swapaxes(a, -1, -2)).astype(t)
            name = " %s %s" % (t.__name__, shape)
            pure("Cholesky" + name, "Cholesky", symmetric)
            pure("MatrixDeterminant" + name, "MatrixDeterminant", a)
            pure("LogMatrixDeterminant" + name, "LogMatrixDeterminant", a)
            pure("SelfAdjointEigV2" + name, "SelfAdjointEigV2", symmetric, compute_v=False)
            sequences.SEQUENCES[-1]["steps"][0]["outputs"][1] = None  # TensorFlow leaves it as it was in memory
            for flip in (False, True):
                pure("MatrixInverse" + name, "MatrixInverse", a, adjoint=flip)
                pure("MatrixSolve" + name, "MatrixSolve", a, b, adjoint=flip)
                for lower in (False, True):
                    pure("MatrixTriangularSolve" + name, "MatrixTriangularSolve", a, b, lower=lower, adjoint=flip)
        singular = np.ones((2, 2), t)
        for op in ("MatrixInverse", "MatrixDeterminant", "LogMatrixDeterminant", "Cholesky"):
            pure(op + " of a singular matrix", op, np.zeros((2, 2), t))
            pure(op + " of what is not square", op, np.ones((2, 3), t))
            pure(op + " of a vector", op, np.ones(3, t))
        pure("MatrixSolve of a singular matrix", "MatrixSolve", singular, singular)
        pure("MatrixTriangularSolve of a singular matrix", "MatrixTriangularSolve", singular * 0, singular)
        pure("MatrixSolve that does not fit", "MatrixSolve", singular, np.ones((3, 1), t))
        pure("Cholesky of a negative matrix", "Cholesky", -np.eye(2, dtype=t))


def counts():
    for t in NUMBERS:
        x = np.array([-1, 0, 1.5, 2, 5, 15, 4.99], t)
        for kind in (np.int32, np.int64):
            pure("HistogramFixedWidth", "HistogramFixedWidth", x, np.array([0, 5], t), scalar(5), dtype=kind)
        pure("HistogramFixedWidth of a wrong range", "HistogramFixedWidth", x, np.array([5, 0], t), scalar(5))
        pure("HistogramFixedWidth of no bins", "HistogramFixedWidth", x, np.array([0, 5], t), scalar(0))
        rows = (rng.standard_normal((2, 3, 5)) * 9).astype(t)
        for reverse in (False, True):
            pure("NthElement", "NthElement", rows, scalar(1), reverse=reverse)
        pure("NthElement beyond", "NthElement", rows, scalar(5))
        pure("NthElement negative", "NthElement", rows, scalar(-1))
        pure("NthElement of a scalar", "NthElement", np.array(1, t), scalar(0))
        places, updates = i32([1], [3], [1]), np.array([9, -7, 2], t)
        for op in ("ScatterNdNonAliasingAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin"):
            pure(op, op, np.array([1, 2, 3, 4], t), places, updates)
            pure(op + " beyond", op, np.array([1, 2, 3], t), places, updates)
            pure(op + " that does not fit", op, np.array([1, 2, 3, 4], t), places, updates[:2])
    for t in (np.int32, np.int64):
        pure("UnravelIndex", "UnravelIndex", np.array([22, 3, 0], t), np.array([3, 4, 5], t))
        pure("UnravelIndex of one", "UnravelIndex", np.array(22, t), np.array([3, 4, 5], t))
        pure("UnravelIndex beyond", "UnravelIndex", np.array([60], t), np.array([3, 4, 5], t))
        pure("UnravelIndex of nothing", "UnravelIndex", np.array([0], t), np.array([3, 0], t))
    for t in (np.float32, np.float64):
        pure("Digamma", "Digamma", np.array([0.1, 0.5, 1, 2.5, 17, 1e6, -0.5, -3.25, -7, np.nan, np.inf], t))
        x = rng.standard_normal((2, 5, 4, 3)).astype(t)
        for padding in ("SAME", "VALID"):
            pure("MaxPoolV2", "MaxPoolV2", x, i32(1, 2, 3, 1), i32(1, 2, 1, 1), padding=padding)
        pure("MaxPoolV2 that does not fit", "MaxPoolV2", x, i32(1, 2, 3), i32(1, 2, 1, 1), padding="SAME")
        y = x.reshape(2, 5, 2, 2, 3).max(3)[:, :4].reshape(2, 2, 2, 2, 3).max(2)
        pure("MaxPoolGradV2", "MaxPoolGradV2", x[:, :4].copy(), y, np.ones_like(y), i32(1, 2, 2, 1), i32(1, 2, 2, 1), padding="VALID")


def texts():
    tensors = {
        "floats": f32(0.1, 1, -2.5, 1e10, 1e-7, 123456.78, 1 / 3, base.nan, base.inf, -base.inf),
        "doubles": np.array([0.1, 1e20, 1 / 3, -0.0]),
        "integers": i32([1, 2, 3], [4, 5, 6]),
        "longs": i64(-2**63, 2**63 - 1),
        "words": s("a", "it's", b"\xff\n\t\"", ""),
        "truths": np.array([True, False]),
        "bytes": np.array([0, 255], np.uint8),
        "many": np.arange(100, dtype=np.int32),
        "matrix": np.arange(64, dtype=np.int32).reshape(8, 8),
        "cube": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
        "deep": np.arange(16, dtype=np.float32).reshape(2, 2, 2, 2),
        "scalar": np.float32(3.25), "word": text("it's\n"), "nothing": np.zeros([0], np.float32), "rows of nothing": np.zeros([2, 0], np.float32), "half": np.array([0.1, 2], np.float16),
    }
    for name, x in tensors.items():
        for n in (3, 1, -1):
            pure("StringFormat of %s %d" % (name, n), "StringFormat", [x], template="<%s>", summarize=n)
    pure("StringFormat of two", "StringFormat", [tensors["integers"], tensors["word"]], template="{} and {}!", placeholder="{}")
    pure("StringFormat of none", "StringFormat", [], template="only this")
    pure("StringFormat of too few", "StringFormat", [tensors["scalar"]], template="%s %s")
    # each ends with a byte that is not 0: NumPy drops those
    for x in (f32([1, 2], [3, 4]), s("a", "", b"\xff"), i64(2**60), np.array([True]), np.zeros([0, 3], np.float32), np.array([1, 2], np.float16)):
        record("SerializeTensor %s" % x.dtype, ("SerializeTensor", [x], {}), ("ParseTensor", [sequences.Of(0)], dict(out_type=base.tf.as_dtype(x.dtype) if x.dtype != object else base.tf.string)))
    record("ParseTensor of another type", ("SerializeTensor", [f32(1)], {}), ("ParseTensor", [sequences.Of(0)], dict(out_type=base.tf.int32)))
    pure("ParseTensor of garbage", "ParseTensor", text(b"\xff\xff"), out_type=base.tf.int32)


def main():
    for group in [sparse, sets, matrices, counts, texts]:
        group()
    base.write(sys.argv[1], sequences.SEQUENCES)
    print(len(sequences.SEQUENCES), "sequences,", sum("error" in c for c in sequences.SEQUENCES), "errors")


if __name__ == "__main__":
    main()
