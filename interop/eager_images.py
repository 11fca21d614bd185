"""Writes internal/imported/eager/testdata/images.json.gz: what TensorFlow computes with images.

    python interop/eager_images.py internal/imported/eager/testdata/images.json.gz

The JPEG images are internal/format/jpeg/testdata: cjpeg and Pillow made them of one picture, in all samplings of colours.
"""

import glob
import os
import struct
import sys
import zlib

import numpy as np

import eager_golden as base
import eager_sequences as sequences
from eager_golden import f32, i32, i64, s, scalar, text
from eager_sequences import record

rng = np.random.default_rng(11)
JPEGS = os.path.join(os.path.dirname(__file__), "..", "internal", "format", "jpeg", "testdata", "*.jpg")
tf = base.tf


def pure(name, op, *inputs, **attrs):
    record(name, (op, list(inputs), attrs))


def jpegs():
    for k, path in enumerate(sorted(glob.glob(JPEGS))):
        name, data = os.path.basename(path)[:-4], open(path, "rb").read()
        for i, attrs in enumerate([{}, dict(channels=1), dict(channels=3, fancy_upscaling=False), dict(ratio=2), dict(ratio=4, dct_method="INTEGER_ACCURATE"), dict(ratio=8, channels=3), dict(dct_method="INTEGER_ACCURATE")]):
            if i < 2 or (k + i) % 3 == 0:
                pure("JPEG %s %s" % (name, attrs), "DecodeJpeg", text(data), **attrs)
        for window in ([3, 5, 7, 9], [0, 16, 2, 17], [1, 1, 23, 1]):
            if k % 4 == 0:
                pure("JPEG %s %s" % (name, window), "DecodeAndCropJpeg", text(data), i32(*window))
        pure("JPEG shape %s" % name, "ExtractJpegShape", text(data), output_type=[tf.int32, tf.int64][k % 2])
        if k % 5 == 0:
            for op in ("DecodePng", "DecodeGif", "DecodeBmp", "DecodeImage"):
                pure("JPEG %s by %s" % (name, op), op, text(data))
            pure("JPEG %s cut" % name, "DecodeJpeg", text(data[:len(data) * 3 // 4]))
            record("JPEG %s cut, recovered" % name, ("DecodeJpeg", [text(data[:len(data) * 3 // 4])], dict(try_recover_truncated=True)), ("Shape", [sequences.Of(0)], {}))
            sequences.SEQUENCES[-1]["steps"][0]["outputs"][0] = None  # what is missing is made up
            pure("JPEG %s without an end" % name, "DecodeJpeg", text(data[:-2]))
            pure("JPEG %s with more behind" % name, "DecodeJpeg", text(data + b"garbage\xff\xd9"))
    for dtype in (tf.uint8, tf.uint16, tf.float32):
        pure("JPEG as %s" % dtype.name, "DecodeImage", text(data), dtype=dtype, channels=3)
    for window in ([0, 0, 0, 1], [-1, 0, 2, 2], [0, 0, 1000, 2], [0, 0, 2], [[0, 0, 2, 2]]):
        pure("JPEG window %s" % window, "DecodeAndCropJpeg", text(data), np.array(window, np.int32))
    pure("JPEG of a vector", "DecodeJpeg", s(data))
    pure("JPEG of four channels", "DecodeJpeg", text(data), channels=4)
    pure("JPEG of three halves", "DecodeJpeg", text(data), ratio=3)
    for bad in (b"", b"abc", b"\xff\xd8\xff", b"\xff\xd8\xff\xe0" + b"\0" * 40, b"RIFF1234WEBPVP8 "):
        for op in ("DecodeJpeg", "DecodeImage", "DecodePng", "ExtractJpegShape"):
            pure("garbage %r by %s" % (bad[:4], op), op, text(bad))


def encoded():
    for shape in ((9, 13, 1), (16, 17, 3), (1, 1, 3)):
        x = rng.integers(0, 256, shape, np.uint8)
        x[shape[0] // 2:] //= 8
        for attrs in ({}, dict(quality=30), dict(quality=100, chroma_downsampling=False), dict(progressive=True), dict(optimize_size=True), dict(quality=0), dict(format="rgb"), dict(format="grayscale")):
            record("encode JPEG %s %s" % (shape, attrs), ("EncodeJpeg", [x], attrs), ("DecodeJpeg", [sequences.Of(0)], {}))
            if "error" not in sequences.SEQUENCES[-1]:
                sequences.SEQUENCES[-1]["steps"][0]["outputs"][0] = None  # other bytes of the same pixels
        record("encode JPEG %s, quality 50" % (shape,), ("EncodeJpegVariableQuality", [x, scalar(50)], {}), ("DecodeJpeg", [sequences.Of(0)], {}))
        sequences.SEQUENCES[-1]["steps"][0]["outputs"][0] = None
    pure("encode JPEG, quality 101", "EncodeJpegVariableQuality", x, scalar(101))
    pure("encode JPEG of a matrix", "EncodeJpeg", x[0])
    pure("encode JPEG of nothing", "EncodeJpeg", np.zeros([0, 3, 3], np.uint8))
    for channels in (1, 2, 3, 4, 5):
        for kind in (np.uint8, np.uint16):
            x = rng.integers(0, np.iinfo(kind).max, (5, 7, channels)).astype(kind)
            record("encode PNG %d %s" % (channels, kind.__name__), ("EncodePng", [x], dict(compression=channels)), ("DecodePng", [sequences.Of(0)], dict(dtype=tf.as_dtype(kind))))
            if "error" not in sequences.SEQUENCES[-1]:
                sequences.SEQUENCES[-1]["steps"][0]["outputs"][0] = None
    pure("encode PNG of nothing", "EncodePng", np.zeros([0, 3, 3], np.uint8))
    pure("encode PNG of a matrix", "EncodePng", x[0])


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width, height, depth, kind, interlaced=False, extra=b"", colours=None):
    """Random pixels with all filters."""
    samples = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[kind]
    rows, passes = b"", [(0, 0, 1, 1)]
    if interlaced:
        passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    for x, y, dx, dy in passes:
        w, h = -(-(width - x) // dx), -(-(height - y) // dy)
        if w <= 0 or h <= 0:
            continue
        for i in range(h):
            row = rng.integers(0, 256, (w * samples * depth + 7) // 8, np.uint8)
            if i % 3 == 0 and depth == 8 and kind == 2:
                row[:] = row[0]  # gray
            rows += bytes([(i + depth) % 5 if kind != 3 else 0]) + row.tobytes()
    out = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, interlaced))
    if colours:
        out += chunk(b"PLTE", rng.integers(0, 256, 3 * colours, np.uint8).tobytes())
    return out + extra + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def pngs():
    images = {}
    for kind, depths in {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}.items():
        for depth in depths:
            for interlaced in (False, True):
                colours = 1 << depth if kind == 3 else None
                images["%d %d %d" % (kind, depth, interlaced)] = png(9, 7, depth, kind, interlaced, colours=colours)
            clear = {0: b"\0\1", 2: b"\0\1\0\2\0\3", 3: bytes([0, 7])}.get(kind)
            if clear:
                images["%d %d with a clear colour" % (kind, depth)] = png(8, 6, depth, kind, extra=chunk(b"tRNS", clear), colours=colours)
    for name, data in images.items():
        for channels in (0, 1, 3, 4):
            for dtype in (tf.uint8, tf.uint16):
                pure("PNG %s %d %s" % (name, channels, dtype.name), "DecodePng", text(data), channels=channels, dtype=dtype)
    for dtype in (tf.uint8, tf.uint16, tf.float32):
        pure("PNG as %s" % dtype.name, "DecodeImage", text(data), dtype=dtype)
    for op in ("DecodeJpeg", "DecodeGif", "DecodeBmp"):
        pure("PNG by %s" % op, op, text(data))
    pure("PNG by DecodeAndCropJpeg", "DecodeAndCropJpeg", text(data), i32(0, 0, 1, 1))
    for cut in (4, 12, 20, 40, 60, len(data) - 30, len(data) - 13, len(data) - 12, len(data) - 4):
        pure("PNG cut at %d" % cut, "DecodePng", text(data[:cut]))
    damaged = bytearray(data)
    damaged[70] ^= 1
    pure("PNG damaged", "DecodePng", text(bytes(damaged)))
    pure("PNG of few bytes", "DecodePng", text(png(1, 1, 8, 2).replace(b"\0\0\0\1\0\0\0\1", b"\0\0\xff\0\0\0\xff\0")))
    pure("PNG without a palette", "DecodePng", text(png(3, 3, 8, 3)))
    pure("PNG with another chunk", "DecodePng", text(png(3, 3, 8, 0, extra=chunk(b"tEXt", b"a\0b") + chunk(b"gAMA", struct.pack(">I", 45455)))))


def gif_frame(x, y, pixels, bits, interlaced=False, clear=None, local=None):
    h, w = pixels.shape
    rows = range(h)
    if interlaced:
        rows = [*range(0, h, 8), *range(4, h, 8), *range(2, h, 4), *range(1, h, 2)]
    out, acc, n = b"", 0, 0
    start = 1 << bits
    size, codes = bits + 1, []
    for k, v in enumerate(v for i in rows for v in pixels[i]):
        if k % (start - 2) == 0:
            codes.append(start)
        codes.append(int(v))
    for c in codes + [start + 1]:
        acc |= c << n
        n += size
        while n >= 8:
            out += bytes([acc & 255])
            acc, n = acc >> 8, n - 8
    out += bytes([acc & 255])
    blocks = b"".join(bytes([len(out[i:i + 255])]) + out[i:i + 255] for i in range(0, len(out), 255)) + b"\0"
    head = b"" if clear is None else b"!\xf9\4\1\0\0" + bytes([clear]) + b"\0"
    flags = 0x40 * interlaced
    table = b""
    if local:
        table, flags = rng.integers(0, 256, 3 * (1 << bits), np.uint8).tobytes(), flags | 0x80 | bits - 1
    return head + b"," + struct.pack("<HHHHB", x, y, w, h, flags) + table + bytes([bits]) + blocks


def gif(width, height, bits, *frames):
    colours = rng.integers(0, 256, 3 * (1 << bits), np.uint8).tobytes()
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80 | bits - 1, 0, 0) + colours + b"".join(frames) + b";"


def gifs():
    px = lambda h, w, bits: rng.integers(0, 1 << bits, (h, w))
    for name, data in {
        "one": gif(7, 5, 3, gif_frame(0, 0, px(5, 7, 3), 3)),
        "interlaced": gif(7, 11, 3, gif_frame(0, 0, px(11, 7, 3), 3, True)),
        "three": gif(7, 5, 2, gif_frame(0, 0, px(5, 7, 2), 2), gif_frame(2, 1, px(3, 4, 2), 2, clear=1), gif_frame(0, 0, px(5, 7, 2), 2, clear=0, local=True)),
        "small first": gif(7, 5, 2, gif_frame(1, 1, px(3, 4, 2), 2, clear=1), gif_frame(0, 0, px(5, 7, 2), 2)),
        "beyond": gif(7, 5, 2, gif_frame(5, 3, px(5, 7, 2), 2)),
        "screen larger": gif(20, 20, 2, gif_frame(0, 0, px(5, 7, 2), 2)),
        "none": gif(7, 5, 2),
    }.items():
        for op in ("DecodeGif", "DecodeImage", "DecodePng", "DecodeJpeg", "DecodeBmp"):
            pure("GIF %s by %s" % (name, op), op, text(data))
        pure("GIF %s, first" % name, "DecodeImage", text(data), expand_animations=False, dtype=tf.float32)
        pure("GIF %s of one channel" % name, "DecodeImage", text(data), channels=1)
        pure("GIF %s cut" % name, "DecodeGif", text(data[:-8]))


def bmp(width, height, bits):
    row = (bits // 8 * width + 3) // 4 * 4
    pixels = rng.integers(0, 256, row * abs(height), np.uint8).tobytes()
    return b"BM" + struct.pack("<IHHIIiiHHIIiiII", 54 + len(pixels), 0, 0, 54, 40, width, height, 1, bits, 0, len(pixels), 0, 0, 0, 0) + pixels


def bmps():
    for bits in (8, 24, 32, 16):
        for height in (5, -4):
            data = bmp(7, height, bits)
            for channels in (0, 1, 3, 4):
                pure("BMP %d %d %d" % (bits, height, channels), "DecodeBmp", text(data), channels=channels)
            pure("BMP %d %d" % (bits, height), "DecodeImage", text(data), channels=3)
    for op in ("DecodeJpeg", "DecodePng", "DecodeGif"):
        pure("BMP by %s" % op, op, text(data))
    pure("BMP as floats", "DecodeImage", text(bmp(7, 5, 24)), dtype=tf.float32)
    for bad in (data[:20], data[:-1], data + b"1", bmp(7, 5, 24).replace(struct.pack("<ii", 7, 5), struct.pack("<ii", 0, 5)), bmp(7, 5, 24).replace(struct.pack("<ii", 7, 5), struct.pack("<ii", 1 << 20, 1 << 20))):
        pure("BMP damaged", "DecodeBmp", text(bad))


KINDS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.float16, tf.bfloat16.as_numpy_dtype, np.float32, np.float64)


def images(t, *shape):
    return (rng.standard_normal(shape) * 50 + (128 if np.dtype(t).kind == "u" else 0)).clip(0 if np.dtype(t).kind == "u" else -100, 120).astype(t)


def resizes():
    x = images(np.float32, 2, 5, 7, 3)
    for op in ("ResizeBicubic", "ResizeArea", "ResizeBilinear", "ResizeNearestNeighbor"):
        for size in ((5, 7), (9, 4), (1, 1), (2, 20), (3, 3), (10, 14)):
            pure("%s to %s" % (op, size), op, x, i32(*size))
            pure("%s to %s, corners" % (op, size), op, x, i32(*size), align_corners=True)
            if op != "ResizeArea":
                pure("%s to %s, centers" % (op, size), op, x, i32(*size), half_pixel_centers=True)
        for t in KINDS:
            pure("%s of %s" % (op, np.dtype(t)), op, images(t, 1, 3, 4, 2), i32(4, 3))
        for size in ((0, 3), (-1, 3)):
            pure("%s to %s" % (op, size), op, x, i32(*size))
        pure("%s to a scalar" % op, op, x, scalar(3))
        pure("%s of a matrix" % op, op, x[0, 0], i32(3, 3))
        pure("%s of no pixels" % op, op, x[:, :0], i32(3, 3))
        pure("%s of no images" % op, op, x[:0], i32(3, 3))
        pure("%s of odd numbers" % op, op, np.array([base.nan, base.inf, -base.inf, 0, 1, 2], np.float32).reshape(1, 2, 3, 1), i32(3, 4))
    for kind in ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic", "other"):
        for antialias in (True, False):
            for size, scale, shift in [((9, 4), (9 / 5, 4 / 7), (0, 0)), ((2, 3), (2 / 5, 3 / 7), (0, 0)), ((5, 7), (1, 1), (0.5, -1.25)), ((4, 4), (0.1, 3), (1, -2)), ((1, 1), (0.2, 1 / 7), (0, 0)), ((12, 3), (1.5, 0.05), (2, 0))]:
                pure("ScaleAndTranslate %s %s %s" % (kind, antialias, size), "ScaleAndTranslate", x, i32(*size), f32(*scale), f32(*shift), kernel_type=kind, antialias=antialias)
                g = rng.standard_normal((2, *size, 3)).astype(np.float32)
                pure("ScaleAndTranslateGrad %s %s %s" % (kind, antialias, size), "ScaleAndTranslateGrad", g, x, f32(*scale), f32(*shift), kernel_type=kind, antialias=antialias)
    for t in KINDS:
        pure("ScaleAndTranslate of %s" % np.dtype(t), "ScaleAndTranslate", images(t, 1, 3, 4, 2), i32(4, 3), f32(4 / 3, 3 / 4), f32(0, 0))
    for size, scale in [((0, 3), (1, 1)), ((3, 3), (0, 1)), ((3, 3), (-1, 1)), ((3, 3), (base.nan, 1)), ((3, 3), (1, 1, 1))]:
        pure("ScaleAndTranslate to %s by %s" % (size, scale), "ScaleAndTranslate", x, i32(*size), f32(*scale), f32(0, 0))
    pure("ScaleAndTranslate of a matrix", "ScaleAndTranslate", x[0, 0], i32(3, 3), f32(1, 1), f32(0, 0))
    for t in (np.float32, np.float64):
        for size in ((5, 7), (9, 4), (1, 1), (2, 20)):
            g = rng.standard_normal((2, *size, 3)).astype(np.float32)
            for attrs in ({}, dict(align_corners=True), dict(half_pixel_centers=True), dict(align_corners=True, half_pixel_centers=True)):
                for op in ("ResizeBicubicGrad", "ResizeBilinearGrad"):
                    pure("%s of %s %s %s" % (op, size, t.__name__, attrs), op, g, x.astype(t), **attrs)
                if len(attrs) < 2:  # TensorFlow takes both
                    pure("ResizeNearestNeighborGrad of %s %s %s" % (size, t.__name__, attrs), "ResizeNearestNeighborGrad", g.astype(t), i32(5, 7), **attrs)
    pure("ResizeBicubicGrad of a matrix", "ResizeBicubicGrad", g[0, 0], x)


def boxes_():
    n = 30
    boxes = rng.uniform(0, 1, (n, 2, 2)).astype(np.float32)
    boxes = np.concatenate([boxes[:, 0], boxes[:, 0] + boxes[:, 1] * 0.5], -1)
    boxes[3], boxes[4] = boxes[5], boxes[5][[2, 3, 0, 1]]
    boxes[6] = 0
    scores = rng.uniform(0, 1, n).astype(np.float32)
    ties = np.round(scores * 4) / 4
    odd = scores.copy()
    odd[:3] = base.nan, base.inf, -base.inf
    for name, v in dict(scores=scores, ties=ties, odd=odd).items():
        for most in (0, 5, 100):
            for iou in (0, 0.3, 1):
                pure("NMS %s %d %s" % (name, most, iou), "NonMaxSuppression", boxes, v, scalar(most), iou_threshold=float(iou))
                for t in (np.float32, np.float16):
                    b, w, limit = boxes.astype(t), v.astype(t), np.array(iou, t)
                    pure("NMS 2 %s %d %s" % (name, most, iou), "NonMaxSuppressionV2", b, w, scalar(most), limit)
                    pure("NMS 3 %s %d %s" % (name, most, iou), "NonMaxSuppressionV3", b, w, scalar(most), limit, np.array(0.25, t))
                    for pad in (False, True):
                        pure("NMS 4 %s %d %s %s" % (name, most, iou, pad), "NonMaxSuppressionV4", b, w, scalar(most), limit, np.array(0.25, t), pad_to_max_output_size=pad)
                        if most < 100 or t is np.float32:
                            for sigma in (0, 0.5):
                                pure("NMS 5 %s %d %s %s %s" % (name, most, iou, pad, sigma), "NonMaxSuppressionV5", b, w, scalar(most), limit, np.array(0.1, t), np.array(sigma, t), pad_to_max_output_size=pad)
    exact = f32([0, 0, 1, 1], [0, 0, 1, 0.5], [0, 0.5, 1, 1.5], [0, 0, 0.5, 1])
    pure("NMS of exactly the threshold", "NonMaxSuppressionV3", exact, f32(4, 3, 2, 1), scalar(4), np.float32(0.5), np.float32(1))
    for what, args in dict(negative=(boxes, scores, scalar(-1), np.float32(0.5), np.float32(0)), above=(boxes, scores, scalar(3), np.float32(1.5), np.float32(0)), nan=(boxes, scores, scalar(3), np.float32(base.nan), np.float32(0)),
                           few=(boxes, scores[:3], scalar(3), np.float32(0.5), np.float32(0)), corners=(boxes[:, :3].copy(), scores, scalar(3), np.float32(0.5), np.float32(0)), none=(boxes[:0], scores[:0], scalar(3), np.float32(0.5), np.float32(0)),
                           vector=(boxes, scores, i32(3), np.float32(0.5), np.float32(0))).items():
        pure("NMS 3 %s" % what, "NonMaxSuppressionV3", *args)
    overlaps = rng.uniform(0, 1, (n, n)).astype(np.float32)
    for limit in (0.2, 0.5, 0.9):
        pure("NMS of overlaps %s" % limit, "NonMaxSuppressionWithOverlaps", overlaps, ties, scalar(10), np.float32(limit), np.float32(0.1))
    pure("NMS of overlaps, not square", "NonMaxSuppressionWithOverlaps", overlaps[:, :5].copy(), ties, scalar(10), np.float32(0.5), np.float32(0.1))
    for q, classes in ((1, 3), (3, 3), (1, 1), (2, 3)):
        many = np.stack([np.stack([boxes[rng.permutation(n)] * 1.3 - 0.1 for _ in range(q)], 1) for _ in range(2)])
        for name, v in dict(scores=rng.uniform(0, 1, (2, n, classes)).astype(np.float32), ties=(rng.integers(0, 30, (2, n, classes)) / 30).astype(np.float32)).items():
            for each, total in ((2, 5), (10, 100), (100, 4)):
                for pad in (False, True):
                    for clip in (False, True):
                        few = v if name == "scores" else np.where(np.arange(n)[:, None] < 5, v, 0).astype(np.float32)
                        pure("combined NMS %d %d %s %d %d %s" % (q, classes, name, each, total, pad), "CombinedNonMaxSuppression", many, few, scalar(each), scalar(total), np.float32(0.4), np.float32(0.2), pad_per_class=pad, clip_boxes=clip)
    for each, total, iou in ((0, 5, 0.5), (5, 0, 0.5), (5, 5, 2)):
        pure("combined NMS refused", "CombinedNonMaxSuppression", many, v, scalar(each), scalar(total), np.float32(iou), np.float32(0.2))
    crop = f32([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], [0.8, 0.7, 0.2, 0.1], [-0.5, -0.2, 1.5, 1.2], [0.5, 0.5, 0.5, 0.5])
    owner = i32(0, 1, 0, 1, 1)
    for t in KINDS:
        if np.dtype(t) != tf.bfloat16.as_numpy_dtype:
            x = images(t, 2, 5, 6, 2)
            for size in ((3, 4), (1, 1), (5, 6), (8, 2)):
                for method in ("bilinear", "nearest"):
                    pure("CropAndResize %s %s %s" % (np.dtype(t), size, method), "CropAndResize", x, crop, owner, i32(*size), method=method, extrapolation_value=7.5)
                g = rng.standard_normal((5, *size, 2)).astype(np.float32)
                if t in (np.float32, np.float64):
                    for method in ("bilinear", "nearest"):
                        pure("CropAndResizeGradImage %s %s %s" % (np.dtype(t), size, method), "CropAndResizeGradImage", g, crop, owner, i32(2, 5, 6, 2), T=tf.as_dtype(t), method=method)
                pure("CropAndResizeGradBoxes %s %s" % (np.dtype(t), size), "CropAndResizeGradBoxes", g, x, crop, owner)
    x = images(np.float32, 2, 5, 6, 2)
    for what, args in dict(owner=(x, crop, i32(0, 1, 2, 0, 0), i32(3, 3)), negative=(x, crop, i32(0, 1, -1, 0, 0), i32(3, 3)), size=(x, crop, owner, i32(0, 3)), nan=(x, crop * base.nan, owner, i32(3, 3)), few=(x, crop, owner[:2], i32(3, 3)),
                           none=(x, crop[:0], owner[:0], i32(3, 3)), matrix=(x[0, 0], crop, owner, i32(3, 3)), scalar=(x, crop, owner, scalar(3)), pixels=(x[:, :0], crop, owner, i32(3, 3))).items():
        pure("CropAndResize %s" % what, "CropAndResize", *args)
    pure("CropAndResizeGradImage of others", "CropAndResizeGradImage", g[:2], crop, owner, i32(2, 5, 6, 2), T=tf.float32)
    pure("CropAndResizeGradBoxes of others", "CropAndResizeGradBoxes", g[:2], x, crop, owner)


def colours():
    for t in (np.float16, np.float32, np.float64):
        x = np.concatenate([rng.uniform(0, 1, (2, 3, 4, 3)), rng.integers(0, 3, (2, 3, 4, 3)) / 2, rng.uniform(-2, 300, (2, 3, 4, 3))]).astype(t)
        for op in ("RGBToHSV", "HSVToRGB"):
            if t is not np.float16:
                pure("%s %s" % (op, t.__name__), op, x[:4] if op == "HSVToRGB" else x)
                pure("%s %s of a pixel" % (op, t.__name__), op, x[0, 0, 0])
                pure("%s %s of nothing" % (op, t.__name__), op, x[:0])
                pure("%s %s of two channels" % (op, t.__name__), op, x[..., :2].copy())
        if t is np.float32:
            for v in (0, 0.3, -0.4, 1, -1, 2.7):
                pure("AdjustHue %s %s" % (t.__name__, v), "AdjustHue", x[:4], np.float32(v))
                pure("AdjustSaturation %s %s" % (t.__name__, v), "AdjustSaturation", x[:4], np.float32(v))
                pure("AdjustContrastv2 %s %s" % (t.__name__, v), "AdjustContrastv2", x, np.float32(v))
    for op in ("AdjustHue", "AdjustSaturation", "AdjustContrastv2"):
        pure("%s of a matrix" % op, op, x[0, 0].astype(np.float32), np.float32(0.5))
        pure("%s by a vector" % op, op, x.astype(np.float32), f32(0.5))
        pure("%s of nothing" % op, op, x[:0].astype(np.float32), np.float32(0.5))


GROUPS = [jpegs, encoded, pngs, gifs, bmps, resizes, boxes_, colours]


def main():
    for group in GROUPS:
        group()
    base.write(sys.argv[1], sequences.SEQUENCES)
    print(len(sequences.SEQUENCES), "sequences,", sum("error" in c for c in sequences.SEQUENCES), "errors")


if __name__ == "__main__":
    main()
