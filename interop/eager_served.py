"""Writes internal/imported/eager/testdata/served.json.gz: decompositions, images, cells and other ops of served models as TensorFlow computes them.

    python interop/eager_served.py internal/imported/eager/testdata/served.json.gz

Each op is recorded on inputs that it accepts, at edges, and on some that do not fit.
"""

import sys

import numpy as np

import eager_golden as base
import eager_sequences as sequences
from eager_families import pure, wrong
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


GROUPS = [decompositions, images, cells]


def main():
    for group in GROUPS:
        group()
    base.write(sys.argv[1], sequences.SEQUENCES)
    print(len(sequences.SEQUENCES), "sequences,", sum("error" in c for c in sequences.SEQUENCES), "errors")


if __name__ == "__main__":
    main()
