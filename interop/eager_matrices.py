"""Writes internal/imported/eager/testdata/matrices.json.gz: decompositions and functions of matrices at edges, as TensorFlow computes them.

    python interop/eager_matrices.py internal/imported/eager/testdata/matrices.json.gz

The edges: ranks that rounding decides, NaN in one matrix of several, numbers whose squares leave the range of a float64; and bins
and neighbors of odd inputs.
"""

import sys

import numpy as np

import eager_golden as base
import eager_sequences as sequences
from eager_families import pure
from eager_golden import f32, i32, i64, inf, nan
from eager_served import drop

REAL, COMPLEX = (np.float32, np.float64), (np.complex64, np.complex128)
ODD = [
    [[nan, 0], [0, 1]], [[1, 0], [0, nan]], [[4, 1], [1, nan]], [[1, nan], [0, 1]], [[1, 0], [nan, 1]], [[nan, 1], [1, nan]],
    [[inf, 0], [0, 1]], [[1, inf], [inf, 1]], [[1, 0], [0, 0]], [[0, 0], [0, 0]], [[-1, 0], [0, 1]], [[1, 2], [2, 1]],
    [[1, 0, 0], [0, nan, 0], [0, 0, 1]], [[4, 1, 1], [1, 4, nan], [1, nan, 4]],
]  # yapf: disable
NOT_POSITIVE = [[[1, 0], [0, 0]], [[0, 0], [0, 0]], [[-1, 0], [0, 1]], [[1, 2], [2, 1]], [[1, inf], [inf, 1]]]
SCALES = [1e200, 1e-200, 1e100, 1e-100]
REGULAR = [[2, 1], [1, 3]]


def least_squares():
    def solve(name, a, b, t, l2=0.0, fast=False):
        pure("MatrixSolveLs %s %s" % (name, fast), "MatrixSolveLs", np.array(a, t), np.array(b, t), np.float64(l2), fast=fast)

    solve("of rank 1 up to rounding", [[.1, .3], [.7, 2.1]], [[1], [2]], np.float32)
    solve("of nearly equal rows", [[1, 1], [1, 1.0000002]], [[1], [2]], np.float32)
    for least in (1e-14, 4.5e-16, 4.4e-16, 2.3e-16, -4.5e-16, -1e-14):
        solve("of a small value %g" % least, np.diag([1, least]), [[1], [1]], np.float64)
    for least in (1e-6, 2.5e-7, 2.3e-7, -2.5e-7):
        solve("of a small value %g in float32" % least, np.diag([1, least]), [[1], [1]], np.float32)
    for scale in (1e200, 1e100):  # TensorFlow's are wrong for 1e-200
        solve("times %g" % scale, np.array(REGULAR) * scale, [[1], [1]], np.float64)
        solve("of a wide matrix times %g" % scale, np.array([[2, 1, 0], [1, 3, 1]]) * scale, [[1], [1]], np.float64)
    for t in REAL:
        solve("of zeros", np.zeros((2, 3)), [[1], [1]], t)
        for fast in (True, False):
            solve("of NaN on the right", np.eye(2), [[nan], [nan]], t, fast=fast)
            solve("by NaN", np.eye(2), [[1], [1]], t, l2=nan, fast=fast)
        for a in ([[nan, 0], [0, 1]], [[1, 0], [0, nan]], [[1, 0], [nan, 1]], [[1, 0], [0, inf]]):
            solve("of %s" % a, [a, np.diag([1, 2])], [[[1], [1]]] * 2, t, fast=True)
        solve("of a wide matrix with NaN", [[1, nan, 1], [0, 1, 2]], [[1], [1]], t, fast=True)
        solve("of a negative matrix", np.zeros((2, 2)), [[1], [1]], t, fast=True)


def functions():
    several = [[[nan, 0], [0, 1]], [[4, 0], [0, 9]]]
    roots = [[[-1]], np.diag([-1, 4]), -np.eye(2), [[0, -1], [1, 0]], [[0]], [[1, 0], [0, 0]], [[4, 1], [0, 0]], several, [[1, 2], [3, 4]], np.diag([-1e-9, 4]), np.diag([-1e-14, 4]),
             [[-2, -1], [1, -2]], [[-2, -1e-6], [1e-6, -2]], [[0, 1, 0], [0, 0, 1], [1, 0, 0]]]
    for t in REAL + COMPLEX:
        for a in roots:
            pure("MatrixSquareRoot %s" % (a,), "MatrixSquareRoot", np.array(a, t))
    for t in COMPLEX:
        pure("MatrixSquareRoot of a nilpotent matrix", "MatrixSquareRoot", np.array([[0, 1], [0, 0]], t))
        for a in ([[0, 0], [0, 1]], [[0, 1], [0, 0]], [[1, 0], [0, 0]], np.zeros((2, 2)), np.diag([0, 2, 3]), several, [[-1]], np.diag([-1, 2]), -np.eye(2), [[1e-30]], np.diag([1e-30, 1])):
            pure("MatrixLogarithm %s" % (a,), "MatrixLogarithm", np.array(a, t))
    for scale in SCALES:
        a = np.array([[1, 2], [3, 4]], np.complex128) * scale
        pure("MatrixSquareRoot times %g" % scale, "MatrixSquareRoot", a)
        pure("MatrixLogarithm times %g" % scale, "MatrixLogarithm", a)
        pure("Eig times %g" % scale, "Eig", a, compute_v=False, Tout=base.tf.complex128)
        drop(1)
    for a in (np.diag([1e300, 1e-300]), np.diag([1e-300, 1])):
        pure("MatrixSquareRoot of any size", "MatrixSquareRoot", a.astype(np.complex128))
        pure("MatrixLogarithm of any size", "MatrixLogarithm", a.astype(np.complex128))
    for t, tout in zip(REAL + COMPLEX, (base.tf.complex64, base.tf.complex128) * 2):
        several_values = [np.diag([3, 1, 2]), [[2, 1], [0, 1]], [[4, 1, 2], [0, -2, 5], [0, 0, 1]], [[3, 1j, 0], [2, -1, 1], [0, 1 - 2j, 8]]]
        for a in several_values if t in COMPLEX else several_values[:3]:
            pure("Eig in order", "Eig", np.array(a, t), compute_v=False, Tout=tout)
            drop(1)
        pure("Eig of NaN in one", "Eig", np.array(several, t), Tout=tout)


def decompositions():
    for t in REAL:
        for a in ODD:
            for op in ("Cholesky", "MatrixInverse", "MatrixDeterminant", "LogMatrixDeterminant", "Lu"):
                pure("%s %s %s" % (op, a, t.__name__), op, np.array(a, t))
                if op == "Cholesky" and a in NOT_POSITIVE:
                    drop(0)  # TensorFlow leaves the upper triangle as it was in memory
            pure("MatrixSolve %s %s" % (a, t.__name__), "MatrixSolve", np.array(a, t), np.ones((len(a), 1), t))
            pure("SelfAdjointEigV2 %s %s" % (a, t.__name__), "SelfAdjointEigV2", np.array(a, t), compute_v=False)
            drop(1)
    for scale in SCALES:
        a = np.array(REGULAR) * scale
        for op in ("Cholesky", "MatrixInverse", "MatrixDeterminant", "LogMatrixDeterminant", "Lu"):
            pure("%s times %g" % (op, scale), op, a)
        pure("MatrixSolve times %g" % scale, "MatrixSolve", a, np.ones((2, 1)))
        pure("SelfAdjointEigV2 times %g" % scale, "SelfAdjointEigV2", a, compute_v=False)
        drop(1)
        for b in (a, np.ones((2, 2)) * scale, np.array([[2, 1, 0], [1, 3, 1]]) * scale):
            pure("Svd times %g" % scale, "Svd", b, compute_uv=False)
            drop(1, 2)
    for values in ([1e200, 1e200, 1e-200], [1e-200, 1e-200, 1e200], [1e-200, -1e-200, 1e200], [1e200, -1e200, 3], [1e-200, 1e-200, 3]):
        for op in ("MatrixDeterminant", "LogMatrixDeterminant"):
            pure("%s of many sizes" % op, op, np.diag(values))


def determined(a):
    """Reports which of the eigenvalues, their order included, and the eigenvectors of a matrix do not depend on the last bits of its elements."""
    want = [x.numpy() for x in base.tf.linalg.eig(a)]
    rng = np.random.default_rng(3)
    values = vectors = True
    for _ in range(8):
        noise = 1 + 4 * np.finfo(a.dtype).eps * rng.standard_normal(a.shape)
        got = [x.numpy() for x in base.tf.linalg.eig((a * noise).astype(a.dtype))]
        values, vectors = (keep and np.allclose(g, w, rtol=2e-6, atol=2e-6) for keep, g, w in zip((values, vectors), got, want))
    return values, vectors


def unsymmetric():
    """Eigenvalues of real matrices, in the order that the method finds them in, and their vectors."""
    rng = np.random.default_rng(1)
    given = [np.diag([1, 2, 3, 0]), np.diag([3, 0, 0]) + np.triu(np.ones((3, 3))), [[0, 1, 0], [0, 0, 1], [1, 0, 0]], [[0, 1], [-1, 0]], [[1, 1], [0, 1]], np.zeros((3, 3)), np.eye(3), [[2]],
             np.array([[1, 2], [3, 4]]) * 1e30, np.array([[1, 2], [3, 4]]) * 1e-30, np.diag(np.ones(4), 1) + np.diag(np.ones(1), -4), np.ones((4, 4)), np.arange(16).reshape(4, 4)]
    kept = 0
    for t, tout in zip(REAL, (base.tf.complex64, base.tf.complex128)):
        for a in given:
            pure("Eig of a real matrix", "Eig", np.array(a, t), compute_v=False, Tout=tout)
            drop(1)
        for n in range(1, 13):
            a = rng.standard_normal((n, n))
            for b in (a, a + 3 * rng.standard_normal((n, n)), a * 10.0**rng.integers(-1, 2, (n, 1)), np.rint(2 * a), a + a.T):
                b = b.astype(t)
                values, vectors = determined(b)
                if values:
                    kept += 1
                    pure("Eig of a real matrix of %d" % n, "Eig", b, compute_v=vectors, Tout=tout)
                    if not vectors:
                        drop(1)
    print(kept, "of 120 random matrices have eigenvalues in an order that is determined")


def hermitian():
    rng = np.random.default_rng(2)
    for t in COMPLEX:
        for n in (1, 2, 3, 5, 8):
            z = rng.standard_normal((2, n, n)) + 1j * rng.standard_normal((2, n, n))
            b = rng.standard_normal((2, n, 3)) + 1j * rng.standard_normal((2, n, 3))
            positive = z @ z.conj().swapaxes(1, 2) + np.eye(n)
            name = " complex %d" % n
            pure("Cholesky" + name, "Cholesky", positive.astype(t))
            for op in ("MatrixDeterminant", "LogMatrixDeterminant", "Lu"):
                pure(op + name, op, z.astype(t))
            for adjoint in (False, True):
                pure("MatrixInverse" + name, "MatrixInverse", z.astype(t), adjoint=adjoint)
                pure("MatrixSolve" + name, "MatrixSolve", z.astype(t), b.astype(t), adjoint=adjoint)
                for lower in (False, True):
                    pure("MatrixTriangularSolve" + name, "MatrixTriangularSolve", (z + 3 * np.eye(n)).astype(t), b.astype(t), lower=lower, adjoint=adjoint)
            pure("SelfAdjointEigV2" + name, "SelfAdjointEigV2", z.astype(t), compute_v=False)
            drop(1)
            for shape in ((n, n), (n, n + 2), (n + 2, n)):
                rect = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(t)
                pure("Svd" + name, "Svd", rect, compute_uv=False)
                drop(1, 2)
                pure("Qr" + name, "Qr", rect)
                pure("Qr" + name, "Qr", rect, full_matrices=True)
        for a in ([[0, 0], [0, 0]], [[1, 1j], [1j, -1]], [[2, 2j], [3, 3j]], [[nan, 1j], [1, 1]], [[1, 1j], [-1j, nan]], [[complex(0, inf), 0], [0, 1]], [[1j, 0], [0, 1j]], [[-1, 0], [0, 1]]):
            for op in ("MatrixDeterminant", "LogMatrixDeterminant", "MatrixInverse", "Lu"):
                pure("%s %s" % (op, a), op, np.array(a, t))
            if a != [[2, 2j], [3, 3j]]:  # of rank 1: what is left of the second column is rounding
                pure("Qr %s" % (a,), "Qr", np.array(a, t))


def bins():
    def count(name, indices, values, shape, weights=(), size=3, binary=False):
        pure("SparseBincount " + name, "SparseBincount", np.array(indices, np.int64).reshape(-1, len(shape)), np.array(values, np.int64), i64(*shape), np.int64(size), np.array(weights, np.float32),
             binary_output=binary)

    for at, shape in (([9], [1]), ([-1], [1]), ([0, 9], [1, 1]), ([0, -1], [1, 1]), ([9, 0], [1, 1]), ([0, 0, 0], [1, 1, 1]), ([0, 0, 5], [2, 2, 2])):
        count("at %s of %s" % (at, shape), [at], [1], shape)
    count("of rank 3", [[1, 0, 1], [1, 1, 0]], [1, 2], [2, 2, 2])
    count("of nothing with a weight", [], [], [1], [2])
    count("of nothing in rows with a weight", [], [], [2, 1], [2])
    count("of too many weights", [[0]], [1], [1], [1, 2])
    count("of too few weights", [[0], [1]], [1, 2], [2], [1])
    count("of weights not needed", [[0], [1]], [1, 2], [2], [1], binary=True)
    count("of weights of another shape", [[0]], [1], [1], [[1]])
    count("of no rows", [], [], [0, 3])
    count("of no columns", [], [], [3, 0])
    count("of a negative value", [[0]], [-1], [1])


def places():
    for k in (1, 2, 3, 4):
        for centers in ([[1, 1], [nan, 0], [2, 2]], [[nan, 0], [1, 1], [nan, 1], [2, 2]], [[nan, 0], [nan, 1]], [[2, 2], [1, 1], [1, 1], [0, 0], [1, 1]], [[inf, 0], [1, 1], [0, 0]]):
            for point in ([0, 0], [nan, 0]):
                pure("NearestNeighbors %d %s" % (k, centers), "NearestNeighbors", f32(point), f32(*centers), np.int64(k))
    for src, dst in (("HWIO", "OIHW"), ("HWIO", "WHIO"), ("NHWC", "NWHC"), ("ABCD", "DCBA"), ("HABW", "WABH"), ("NDHWC", "NCWHD"), ("HWDIO", "OIDHW"), ("NABC", "CBAN"), ("NHDC", "NDHC"), ("NHWDC", "NDWHC")):
        for n in (2, 3, 4):
            pure("DataFormatVecPermute %s %s" % (src, dst), "DataFormatVecPermute", np.arange(n, dtype=np.int32), src_format=src, dst_format=dst)
            pure("DataFormatVecPermute pairs %s %s" % (src, dst), "DataFormatVecPermute", np.arange(2 * n, dtype=np.int32).reshape(n, 2), src_format=src, dst_format=dst)


def main():
    for group in (least_squares, functions, decompositions, unsymmetric, hermitian, bins, places):
        group()
    base.write(sys.argv[1], sequences.SEQUENCES)
    print(len(sequences.SEQUENCES), "sequences,", sum("error" in c for c in sequences.SEQUENCES), "errors")


if __name__ == "__main__":
    main()
