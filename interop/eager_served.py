"""Writes internal/imported/eager/testdata/served.json.gz: decompositions, images, cells and other ops of served models as TensorFlow computes them.

    python interop/eager_served.py internal/imported/eager/testdata/served.json.gz

Each op is recorded on inputs that it accepts, at edges, and on some that do not fit.
"""

import sys

import numpy as np

import eager_golden as base
import eager_sequences as sequences
from eager_families import NUMBERS, pure, wrong
from eager_golden import f32, i32, i64, inf, nan, s, scalar

rng = np.random.default_rng(11)


def rand(*shape, t=np.float32):
    return rng.standard_normal(shape).astype(t)


def drop(*outputs):
    """Leaves out outputs of the last case that are not determined."""
    step = sequences.SEQUENCES[-1]["steps"][0]
    for k in outputs:
        if "outputs" in step:
            step["outputs"][k] = None


def decompositions():
    for t in (np.float32, np.float64):
        for shape in ((3, 3), (5, 2), (2, 5), (2, 4, 3), (1, 1), (0, 3), (3, 0), (0, 0), (2, 0, 3, 3)):
            a = rand(*shape, t=t)
            for full in (False, True):
                pure("Svd %s %s" % (shape, full), "Svd", a, compute_uv=True, full_matrices=full)
                drop(1, 2)
            pure("Svd without vectors %s" % (shape,), "Svd", a, compute_uv=False)
            drop(1, 2)
            for fast in (True, False):
                for l2 in (0.0, 0.25):
                    if 0 not in shape[-2:]:
                        pure("MatrixSolveLs %s %s %s" % (shape, fast, l2), "MatrixSolveLs", a, rand(*shape[:-1], 2, t=t), np.float64(l2), fast=fast)
        for name, a in (("zeros", np.zeros((3, 2))), ("equal values", np.eye(3)), ("rank 1", np.ones((4, 3))), ("not finite", np.array([[1, nan], [2, 3]])), ("infinite", np.array([[1, inf], [2, 3]])),
                        ("large", np.eye(2) * 1e30), ("small", np.eye(2) * 1e-30)):
            pure("Svd of %s" % name, "Svd", a.astype(t))
            drop(1, 2)
        pure("Svd of a vector", "Svd", rand(3, t=t))
        pure("MatrixSolveLs of other rows", "MatrixSolveLs", rand(3, 2, t=t), rand(2, 2, t=t), np.float64(0))
        pure("MatrixSolveLs of a negative regularizer", "MatrixSolveLs", rand(3, 2, t=t), rand(3, 2, t=t), np.float64(-1))
        pure("MatrixSolveLs of a singular matrix", "MatrixSolveLs", np.zeros((3, 2), t), rand(3, 2, t=t), np.float64(0), fast=True)
        pure("MatrixSolveLs of rank 1", "MatrixSolveLs", np.ones((3, 2), t), rand(3, 2, t=t), np.float64(0), fast=False)
        for shape in ((3, 3), (2, 4, 4), (1, 1), (0, 0), (2, 0, 3, 3)):
            for kind in (base.tf.int32, base.tf.int64):
                pure("Lu %s" % (shape,), "Lu", rand(*shape, t=t), output_idx_type=kind)
        pure("Lu of a singular matrix", "Lu", np.zeros((2, 2), t))
        pure("Lu of ones", "Lu", np.ones((2, 2), t))
        pure("Lu of what is not square", "Lu", rand(2, 3, t=t))
        pure("Lu of a vector", "Lu", rand(3, t=t))


def images():
    turn = f32([0.8, -0.5, 1.5, 0.4, 0.9, -0.7, 0.01, -0.02], [1, 0, 0, 0, 1, 0, 0, 0])
    far = f32([3, 0, -20, 0, -2.5, 11, 0, 0], [1, 0, 0.5, 0, 1, 0.5, -0.25, 0])
    for t in (np.float32, np.float64, np.uint8, np.int32, np.int64, np.float16):
        x = (np.abs(rand(2, 4, 5, 2)) * 20).astype(t)
        for how in ("BILINEAR", "NEAREST"):
            for mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
                for m in (turn, far, turn[:1]):
                    pure("ImageProjectiveTransformV3 %s %s %s" % (t.__name__, how, mode), "ImageProjectiveTransformV3", x, m, i32(6, 7), np.float32(3.5), interpolation=how, fill_mode=mode)
            pure("ImageProjectiveTransformV2 %s %s" % (t.__name__, how), "ImageProjectiveTransformV2", x, turn, i32(3, 3), interpolation=how)
    one = rand(1, 1, 1, 1)
    for mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
        pure("ImageProjectiveTransformV3 of a pixel %s" % mode, "ImageProjectiveTransformV3", one, f32([2, 0, -1, 0, 2, -1, 0, 0]), i32(2, 2), np.float32(0), interpolation="BILINEAR", fill_mode=mode)
        pure("ImageProjectiveTransformV3 of no image %s" % mode, "ImageProjectiveTransformV3", rand(0, 4, 4, 1), f32([1, 0, 0, 0, 1, 0, 0, 0]), i32(2, 2), np.float32(0), interpolation="BILINEAR", fill_mode=mode)
    for name, m in (("nothing", f32([1, 0, 0, 0, 1, 0])), ("three", np.repeat(turn[:1], 3, 0))):
        pure("ImageProjectiveTransformV2 by " + name, "ImageProjectiveTransformV2", rand(2, 4, 5, 2), m, i32(2, 2), interpolation="NEAREST")
    for size in (i32(0, 2), i32(-1, 2), i32(2), i32(2, 2, 2)):
        pure("ImageProjectiveTransformV2 to %s" % size, "ImageProjectiveTransformV2", rand(2, 4, 5, 2), turn, size, interpolation="NEAREST")
    pure("ImageProjectiveTransformV2 of rank 3", "ImageProjectiveTransformV2", rand(4, 5, 2), turn, i32(2, 2), interpolation="NEAREST")
    x, at = rand(3, 5, 6, 2), f32([0, 0], [0.4, -0.7], [-1, 1])
    for op in ("ExtractGlimpse", "ExtractGlimpseV2"):
        for centered in (True, False):
            for normalized in (True, False):
                for offsets in (at, at * 4, at + 0.5, at * 100):
                    for size in (i32(3, 2), i32(2, 3), i32(7, 9), i32(1, 1)):
                        pure("%s %s %s %s" % (op, centered, normalized, size), op, x, size, offsets, centered=centered, normalized=normalized, uniform_noise=False, noise="zero")
        pure(op + " of nothing", op, x[:0], i32(3, 2), at[:0], uniform_noise=False, noise="zero")
        pure(op + " of both noises", op, x, i32(3, 2), at, uniform_noise=True, noise="zero")
        pure(op + " of unknown noise", op, x, i32(3, 2), at, uniform_noise=False, noise="other")
        wrong(op, [x, i32(3, 2), at], uniform_noise=False, noise="zero")
    boxes = f32([[0.1, 0.2, 0.6, 0.7], [-0.5, 0.5, 2, 0.9], [0.9, 0.1, 0.2, 0.2], [0, 0, 1, 1]], [[0.5, 0.5, 0.5, 0.5], [1.5, 0, 2, 1], [0, -2, 1, -1], [0.2, 0.2, 0.3, 3]])
    for depth in (1, 2, 3, 4, 5):
        x = rand(2, 6, 7, depth)
        pure("DrawBoundingBoxes %d" % depth, "DrawBoundingBoxes", x, boxes)
        pure("DrawBoundingBoxes many %d" % depth, "DrawBoundingBoxes", rand(1, 30, 40, depth), np.sort(np.abs(rand(1, 13, 2, 2)) % 1, 2).reshape(1, 13, 4))
        for colours in (f32([0.5, 0.25, 1, 0.75], [1, 2, 3, 4]), f32([0.5, 0.25, 1]), f32([0.5, 0.25]), np.zeros((0, 4), np.float32), np.zeros((0, 0), np.float32), f32([0.5, 0.25, 1, 0.75, 9]), f32(1, 2, 3)):
            pure("DrawBoundingBoxesV2 %d %s" % (depth, colours.shape), "DrawBoundingBoxesV2", x, boxes, colours)
    pure("DrawBoundingBoxes without boxes", "DrawBoundingBoxes", rand(2, 6, 7, 3), boxes[:, :0])
    pure("DrawBoundingBoxes without images", "DrawBoundingBoxes", rand(0, 6, 7, 3), boxes[:0])
    wrong("DrawBoundingBoxesV2", [rand(2, 6, 7, 3), boxes, f32([0.5, 0.25, 1, 0.75])])


def cells():
    n, cells, width, batch = 4, 3, 2, 2
    w, b = rand(width + cells, 4 * cells), rand(4 * cells)
    peeps = [rand(cells) for _ in range(3)]
    x, cs, h = rand(n, batch, width), rand(batch, cells) * 3, rand(batch, cells)
    for peephole in (False, True):
        for clip in (3.0, 0.0, -1.0, 0.5):
            for bias in (1.0, 0.0):
                pure("LSTMBlockCell %s %s" % (peephole, clip), "LSTMBlockCell", x[0], cs, h, w, *peeps, b, forget_bias=bias, cell_clip=clip, use_peephole=peephole)
                for steps in (0, 2, 4):
                    pure("BlockLSTM %s %s %d" % (peephole, clip, steps), "BlockLSTM", np.int64(steps), x, cs, h, w, *peeps, b, forget_bias=bias, cell_clip=clip, use_peephole=peephole)
                    drop(*([0, 2, 3, 4, 5] if steps < n else []))  # TensorFlow leaves the gates of later steps as they were in memory
            for steps in (0, 2, 4):
                pure("BlockLSTMV2 %s %s %d" % (peephole, clip, steps), "BlockLSTMV2", np.int64(steps), x, cs, h, w, *peeps, b, cell_clip=clip, use_peephole=peephole)
                drop(*([0, 2, 3, 4, 5] if steps < n else []))
    for op in ("BlockLSTM", "BlockLSTMV2"):
        pure(op + " of no time", op, np.int64(0), x[:0], cs, h, w, *peeps, b)
        pure(op + " of no rows", op, np.int64(2), x[:, :0], cs[:0], h[:0], w, *peeps, b)
        wrong(op, [np.int64(3), x, cs, h, w, *peeps, b])
    wrong("LSTMBlockCell", [x[0], cs, h, w, *peeps, b])
    pure("LSTMBlockCell of NaN", "LSTMBlockCell", x[0] * nan, cs, h, w, *peeps, b)
    pure("LSTMBlockCell of large", "LSTMBlockCell", x[0] * 1e5, cs, h, w, *peeps, b)
    g = [x[0], h, rand(width + cells, 2 * cells), rand(width + cells, cells), rand(2 * cells), rand(cells)]
    pure("GRUBlockCell", "GRUBlockCell", *g)
    pure("GRUBlockCell of large", "GRUBlockCell", g[0] * 1e5, *g[1:])
    pure("GRUBlockCell of no rows", "GRUBlockCell", g[0][:0], g[1][:0], *g[2:])
    wrong("GRUBlockCell", g)


def spectra():
    for t in (np.float32, np.float64, np.complex64, np.complex128):
        for shape in ((3, 3), (2, 4, 4), (1, 1), (0, 0), (2, 0, 3, 3)):
            a = (rand(*shape) + (1j * rand(*shape) if np.dtype(t).kind == "c" else 0)).astype(t)
            positive = (np.matmul(a, np.conj(np.swapaxes(a, -1, -2))) + np.eye(shape[-1])).astype(t)
            tout = base.tf.complex64 if t in (np.float32, np.complex64) else base.tf.complex128
            pure("Eig %s" % (shape,), "Eig", a, compute_v=True, Tout=tout)
            drop(0, 1)  # in any order
            pure("Eig without vectors %s" % (shape,), "Eig", a, compute_v=False, Tout=tout)
            drop(0, 1)
            pure("MatrixSquareRoot %s" % (shape,), "MatrixSquareRoot", positive)
            if np.dtype(t).kind == "c":
                pure("MatrixLogarithm %s" % (shape,), "MatrixLogarithm", positive)
                pure("MatrixLogarithm of any %s" % (shape,), "MatrixLogarithm", (a + 3 * np.eye(shape[-1])).astype(t))
                pure("MatrixSquareRoot of any %s" % (shape,), "MatrixSquareRoot", a)
        triangle = np.array([[2, 1, 0], [0, 2, 1], [0, 0, 2]], t)
        pure("MatrixSquareRoot of Jordan's", "MatrixSquareRoot", triangle)
        if np.dtype(t).kind == "c":
            pure("MatrixLogarithm of Jordan's", "MatrixLogarithm", triangle)
            pure("MatrixLogarithm of 1", "MatrixLogarithm", np.eye(3, dtype=t))
            pure("MatrixLogarithm of large numbers", "MatrixLogarithm", np.diag([1e12, 1e-6, 1]).astype(t))
        for op in ("MatrixSquareRoot", "MatrixLogarithm"):
            if op == "MatrixSquareRoot" or np.dtype(t).kind == "c":
                pure(op + " of what is not square", op, np.ones((2, 3), t))
                pure(op + " of a vector", op, np.ones(3, t))
        pure("Eig of what is not square", "Eig", np.ones((2, 3), t), Tout=tout)
        pure("Eig of NaN", "Eig", np.full((2, 2), nan, t), Tout=tout)


def columns():
    words, numbers = s("a", "bc", "", "d", "a"), i64(5, -1, 2**60, 0, 7)
    sparse = (i64([0, 0], [0, 1], [2, 0]), i64(1, 2, 3), i64(3, 2))
    dense, splits = i64([1, 2], [3, 4], [5, 6]), np.array([0, 2, 2, 5], np.int64)

    def cross(name, ragged=(), sparse=(), dense=(), order="", **attrs):
        kind = lambda a: base.tf.string if a.dtype == object else base.tf.as_dtype(a.dtype)
        hashed = attrs.pop("hashed_output", True)
        pure("RaggedCross %s %s" % (name, hashed), "RaggedCross", [v for v, _ in ragged], [r for _, r in ragged], [x[0] for x in sparse], [x[1] for x in sparse], [x[2] for x in sparse], list(dense),
             input_order=order, hashed_output=hashed, num_buckets=attrs.pop("num_buckets", 0), hash_key=attrs.pop("hash_key", 956888297470),
             out_values_type=base.tf.int64 if hashed else base.tf.string, out_row_splits_type=attrs.pop("splits", base.tf.int64))

    for hashed in (True, False):
        for values in (words, numbers):
            cross("one", [(values, splits)], order="R", hashed_output=hashed)
            cross("two", [(values, splits), (numbers, splits)], order="RR", hashed_output=hashed)
            cross("two of int32", [(values, splits.astype(np.int32)), (numbers, splits.astype(np.int32))], order="RR", hashed_output=hashed, splits=base.tf.int32)
            cross("all kinds", [(values, splits)], [sparse], [dense], order="DSR", hashed_output=hashed)
        cross("sparse", [], [sparse], order="S", hashed_output=hashed)
        cross("dense", [], [], [dense, dense * 3], order="DD", hashed_output=hashed)
        cross("of nothing", [(words[:0], splits[:1])], order="R", hashed_output=hashed)
        cross("of other rows", [(words, splits)], [], [dense[:2]], order="RD", hashed_output=hashed)
        cross("of wrong splits", [(words, i64(0, 3, 2, 5))], order="R", hashed_output=hashed)
        cross("of wrong order", [(words, splits)], order="S", hashed_output=hashed)
    cross("in buckets", [(words, splits), (numbers, splits)], order="RR", num_buckets=7, hash_key=1)
    cross("of floats", [(f32(1, 2, 3, 4, 5), splits)], order="R")
    for t in NUMBERS:
        for kind in (np.int32, np.int64):
            v, w = np.array([1, 3, 1, 5, 0], kind), np.array([1, 2, 0.5, 4, 9], t)
            rows, line = i64([0, 0], [0, 1], [2, 0], [2, 1], [2, 2]), i64([0], [1], [2], [4], [5])
            for binary in (False, True):
                for weights in (w, w[:0]):
                    pure("SparseBincount", "SparseBincount", rows, v, i64(3, 4), np.array(4, kind), weights, binary_output=binary)
                    pure("SparseBincount of a vector", "SparseBincount", line, v, i64(9), np.array(6, kind), weights, binary_output=binary)
            pure("SparseBincount of no bins", "SparseBincount", rows, v, i64(3, 4), np.array(0, kind), w)
            pure("SparseBincount of nothing", "SparseBincount", rows[:0], v[:0], i64(3, 4), np.array(3, kind), w[:0])
            pure("SparseBincount of negative bins", "SparseBincount", rows, v, i64(3, 4), np.array(-1, kind), w)
            pure("SparseBincount beyond", "SparseBincount", rows, v, i64(2, 4), np.array(4, kind), w)


def places():
    points, centers = rand(6, 3), rand(4, 3)
    for k in (1, 3, 4, 9):
        pure("NearestNeighbors %d" % k, "NearestNeighbors", points, centers, np.int64(k))
    grid = f32([0, 0], [1, 0], [0, 1], [1, 1])
    for k in (1, 2, 4):
        pure("NearestNeighbors of ties %d" % k, "NearestNeighbors", f32([0.5, 0.5], [0, 0], [1, 0.5]), grid, np.int64(k))
    pure("NearestNeighbors of no points", "NearestNeighbors", points[:0], centers, np.int64(2))
    pure("NearestNeighbors of no centers", "NearestNeighbors", points, centers[:0], np.int64(2))
    pure("NearestNeighbors of other columns", "NearestNeighbors", points, centers[:, :2].copy(), np.int64(2))
    pure("NearestNeighbors of 0", "NearestNeighbors", points, centers, np.int64(0))
    wrong("NearestNeighbors", [points, centers[:, None], np.int64(1)])
    for t in (np.float32, np.float64, np.int32, np.int64):
        x, v = (rand(4, 2) * 9).astype(t), (rand(3, 2) * 9).astype(t)
        for op in ("InplaceUpdate", "InplaceAdd", "InplaceSub"):
            for name, rows in (("", i32(1, 3, 1)), (" from the end", i32(-1, 5, -6)), (" of nothing", i32())):
                # TensorFlow writes into the tensor itself, which must not be what is recorded
                sequences.record(op + name, ("AddV2", [x, np.ones((), t)], {}), (op, [sequences.Of(0), rows, v[:len(rows)]], {}))
                drop(0)
            pure(op + " of other rows", op, x, i32(1, 2), v)
            pure(op + " of other columns", op, x, i32(1, 2, 3), v[:, :1].copy())
            pure(op + " of a matrix of rows", op, x, i32([1, 2, 3]), v)
    for t in (np.int32, np.int64):
        for src, dst in (("NHWC", "NCHW"), ("NCHW", "NHWC"), ("HWNC", "CNWH"), ("NDHWC", "NCDHW")):
            n = len(src)
            pure("DataFormatDimMap", "DataFormatDimMap", np.arange(-n, n, dtype=t).reshape(2, n), src_format=src, dst_format=dst)
            pure("DataFormatDimMap beyond", "DataFormatDimMap", np.array([n, 3 * n + 1, -n - 1, -5 * n], t), src_format=src, dst_format=dst)
            for shape in ((n,), (n, 2), (n - 2,), (n - 2, 2)):
                pure("DataFormatVecPermute %s" % (shape,), "DataFormatVecPermute", np.arange(np.prod(shape), dtype=t).reshape(shape), src_format=src, dst_format=dst)
            for shape in ((n + 1,), (n, 3), (n, 2, 1), ()):
                pure("DataFormatVecPermute %s" % (shape,), "DataFormatVecPermute", np.arange(np.prod(shape), dtype=t).reshape(shape), src_format=src, dst_format=dst)
    pure("DataFormatDimMap of other letters", "DataFormatDimMap", i32(1), src_format="NHWC", dst_format="NCDH")


def integrals():
    near = [0, 1e-6, 1e-3, 0.1, 0.19, 0.2, 0.21, 0.5, 0.7, 1, 1.3, 1.9, 2, 2.1, 2.5, 3, 3.1, 3.3, 5, 7.7, 10, 20, 39, 41, 70, 1e3, 1e7, 1e9, 1e20]
    for t in (np.float32, np.float64):
        x = np.array(near + [-v for v in near] + [nan, inf, -inf, -0.0], t)
        for op in ("Dawsn", "Expint", "FresnelCos", "FresnelSin", "Spence"):
            if op == "FresnelCos" or op == "FresnelSin":
                x = np.array([v for v in x if not (1e4 if t is np.float64 else 60) < abs(v) < inf], t)  # TensorFlow's float32 loses the angle before
            pure("%s %s" % (op, t.__name__), op, x)
            pure(op + " of nothing", op, x[:0].reshape(2, 0))


def later():
    for t in (np.float32, np.float64):
        for n, k in ((1, 1), (2, 3), (5, 2), (6, 1)):
            for lead in ((), (2,)):
                d, x = rand(*lead, 3, n, t=t), rand(*lead, n, k, t=t)
                parts = [d[..., i : i + 1, :].copy() for i in range(3)]
                pure("TridiagonalMatMul %d %d" % (n, k), "TridiagonalMatMul", *parts, x)
                for pivots in (True, False):
                    pure("TridiagonalSolve %d %d %s" % (n, k, pivots), "TridiagonalSolve", d + (0 if pivots else np.array([[0], [4], [0]], t)), x, partial_pivoting=pivots)
        zero = np.zeros((3, 3), t)
        pure("TridiagonalSolve of zeros", "TridiagonalSolve", zero, rand(3, 1, t=t), partial_pivoting=True)
        pure("TridiagonalSolve of zeros, without pivots", "TridiagonalSolve", zero, rand(3, 1, t=t), partial_pivoting=False)
        pure("TridiagonalSolve that needs pivots", "TridiagonalSolve", np.array([[1, 2, 0], [0, 0, 1], [0, 3, 1]], t), rand(3, 2, t=t), partial_pivoting=True)
        pure("TridiagonalSolve of other sizes", "TridiagonalSolve", rand(3, 4, t=t), rand(3, 1, t=t), partial_pivoting=True)
        pure("TridiagonalMatMul of other sizes", "TridiagonalMatMul", rand(1, 4, t=t), rand(1, 4, t=t), rand(1, 4, t=t), rand(3, 1, t=t))
    for largest in (True, False):
        for axis in (-1, 0, 1):
            x = rand(4, 5, 6)
            x[1, 2, :3], x[2, :2, 4], x[0, 0, 0], x[1, 1, 1] = 1, -1, inf, -inf
            pure("ApproxTopK %d %s" % (axis, largest), "ApproxTopK", rand(4, 5, 6), k=3, reduction_dimension=axis, is_max_k=largest)
            pure("ApproxTopK of infinities %d %s" % (axis, largest), "ApproxTopK", x, k=3, reduction_dimension=axis, is_max_k=largest)
            drop(1)  # places of ties
        pure("ApproxTopK of all %s" % largest, "ApproxTopK", rand(3, 4), k=4, is_max_k=largest)
        pure("ApproxTopK of too few %s" % largest, "ApproxTopK", rand(3, 4), k=5, is_max_k=largest)
    for ta in (False, True):
        for tb in (False, True):
            a, b = rand(*((3, 4) if ta else (4, 3))), rand(*((2, 3) if tb else (3, 2)))
            a[np.abs(a) < 1] = 0
            pure("SparseMatMul %s %s" % (ta, tb), "SparseMatMul", a, b, transpose_a=ta, transpose_b=tb, a_is_sparse=True)
    pure("SparseMatMul of other sizes", "SparseMatMul", rand(2, 3), rand(2, 3), a_is_sparse=True)
    for t in (np.float32, np.int64, np.complex64):
        x = rand(4, 5).astype(t)
        update = lambda name, v, begin, end, step, **masks: pure("TensorStridedSliceUpdate " + name, "TensorStridedSliceUpdate", x, i32(*begin), i32(*end), i32(*step), v.astype(t), **masks)
        update("of a box", rand(2, 2), (1, 1), (3, 3), (1, 1))
        update("backwards", rand(2, 5), (3, 0), (0, 5), (-2, 1))
        update("of a row", rand(5), (1,), (2,), (1,), shrink_axis_mask=1)
        update("of nothing", rand(0, 5), (2,), (2,), (1,))
        update("of another shape", rand(2, 2), (0, 0), (3, 3), (1, 1))
        update("of one number", np.ones(()), (0, 0), (1, 1), (1, 1), shrink_axis_mask=3)
    words = s("b", "a", "b", "c", "a", "b").reshape(3, 2)
    for t in (np.float32, np.int64):
        for axis in (0, 1, -1):
            x = np.array([[1, 2, 1], [3, 4, 3], [1, 2, 1]], t)
            pure("UniqueV2 of slices", "UniqueV2", x, i64(axis))
            pure("UniqueWithCountsV2 of slices", "UniqueWithCountsV2", x, i64(axis))
            pure("UniqueV2 of blocks", "UniqueV2", np.stack([x, x, x + 1]), i64(axis))
        pure("UniqueV2 of no slices", "UniqueV2", np.zeros((0, 2), t), i64(0))
        pure("UniqueV2 of empty slices", "UniqueV2", np.zeros((3, 0), t), i64(0))
        pure("UniqueV2 beyond", "UniqueV2", x, i64(2))
        pure("UniqueV2 of two axes", "UniqueV2", x, i64(0, 1))
        pure("UniqueV2 of a matrix", "UniqueV2", x, i64())
    pure("UniqueV2 of texts", "UniqueV2", words, i64(0))
    pure("UniqueV2 of floats", "UniqueV2", f32([0.0, nan], [-0.0, nan], [0, 1]), i64(0))
    for op in ("DecodeCompressed",):
        for kind in ("", "ZLIB", "GZIP"):
            pure("DecodeCompressed of an empty string %s" % kind, op, s(""), compression_type=kind)
    pure("SparseCountSparseOutput of nothing", "SparseCountSparseOutput", np.zeros((0, 2), np.int64), i64(), i64(4, 5), f32(), minlength=-1, maxlength=-1, binary_output=False)
    lists()


def lists():
    x = rand(5, 2)
    split = lambda name, lengths, shape=i32(-1, 2), v=x: sequences.record("TensorListSplit " + name, ("TensorListSplit", [v, shape, i64(*lengths)], {}), ("TensorListConcatV2", [sequences.Of(0), i32(-1, 2), i64()], {"element_dtype": base.tf.float32}))
    split("of parts", (2, 0, 3))
    split("of too few", (2, 2))
    split("of too many", (2, 4))
    split("of another shape", (2, 3), i32(-1, 3))
    into = lambda name, n, rows, v: sequences.record("TensorListScatterIntoExistingList " + name, ("TensorListReserve", [i32(2), scalar(n, np.int32)], {"element_dtype": base.tf.float32}),
        ("TensorListScatterIntoExistingList", [sequences.Of(0), v, i32(*rows)], {}), ("TensorListStack", [sequences.Of(1), i32(2)], {"element_dtype": base.tf.float32}))
    into("within", 4, (3, 0), x[:2])
    into("twice", 2, (1, 1), x[:2])
    for shape in (i32(-1, 3), i32(2, 3)):
        sequences.record("TensorListConcatV2 of no elements", ("TensorListReserve", [scalar(-1, np.int32), scalar(0, np.int32)], {"element_dtype": base.tf.float32}),
            ("TensorListConcatV2", [sequences.Of(0), shape, i64()], {"element_dtype": base.tf.float32}))


GROUPS = [integrals, decompositions, images, cells, spectra, columns, places, later]


def main():
    for group in GROUPS:
        group()
    base.write(sys.argv[1], sequences.SEQUENCES)
    print(len(sequences.SEQUENCES), "sequences,", sum("error" in c for c in sequences.SEQUENCES), "errors")


if __name__ == "__main__":
    main()
