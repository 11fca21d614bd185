"""Writes internal/imported/eager/testdata/signals.json.gz: complex numbers, Fourier transforms, sound and CTC as TensorFlow computes them.

    python interop/eager_signals.py internal/imported/eager/testdata/signals.json.gz
"""

import sys

import numpy as np

import eager_golden as base
import eager_sequences as sequences
from eager_families import pure, wrong
from eager_golden import f32, i32, i64, s, scalar, tf

rng = np.random.default_rng(11)


def numbers(t, *shape):
    x = rng.standard_normal(shape)
    if np.issubdtype(t, np.complexfloating):
        x = x + 1j * rng.standard_normal(shape)
    return np.asarray(x).astype(t)


UNARY = "Neg Square Sqrt Rsqrt Exp Log Log1p Expm1 Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Sigmoid Sign Reciprocal Inv Conj ZerosLike OnesLike".split()
BINARY = "Add AddV2 Sub Mul Div RealDiv Pow SquaredDifference DivNoNan MulNoNan Xdivy Xlogy Xlog1py Equal NotEqual".split()


def arithmetic():
    for t in (np.complex64, np.complex128):
        x, y, name = numbers(t, 3, 4), numbers(t, 4), " " + t.__name__
        for op in UNARY:
            pure(op + name, op, x)
            pure(op + name + " of nothing", op, x[:0])
            pure(op + name + " small", op, (x * 1e-6).astype(t))
        for op in BINARY:
            pure(op + name, op, x, y)
            pure(op + name + " of equals", op, x, x)
            pure(op + name + " that does not fit", op, x, y[:3])
            if op not in ("Div", "RealDiv", "Pow"):
                pure(op + name + " with zeros", op, x * 0, y)
                pure(op + name + " by zeros", op, x, y * 0)
        wide = dict(Tout=tf.float32 if t == np.complex64 else tf.float64)
        for op in ("Real", "Imag", "ComplexAbs", "Angle"):
            pure(op + name, op, x, **wide)
            pure(op + name + " of zeros", op, np.zeros([3], t), **wide)
        real = np.float32 if t == np.complex64 else np.float64
        pure("Complex" + name, "Complex", numbers(real, 3, 4), numbers(real, 4), Tout=tf.as_dtype(t))
        pure("Complex that does not fit" + name, "Complex", numbers(real, 3, 4), numbers(real, 3), Tout=tf.as_dtype(t))
        for to in (tf.complex64, tf.complex128, tf.float32, tf.float64, tf.int32, tf.bool, tf.float16):
            pure("Cast" + name + to.name, "Cast", x, DstT=to)
        for of in (np.float32, np.float64, np.int64, np.uint8, np.bool_, np.float16):
            pure("Cast" + name + of.__name__, "Cast", (numbers(np.float32, 3) * 3 > 1).astype(of), DstT=tf.as_dtype(t))
        for op in ("Sum", "Mean", "Prod"):
            for axes in ([0], [-1], [0, 1], []):
                pure("%s%s %s" % (op, name, axes), op, x, np.array(axes, np.int32), keep_dims=axes == [0])
            pure(op + name + " of nothing", op, x[:0], i32(0))
        for op in ("Cumsum", "Cumprod"):
            pure(op + name, op, x, scalar(1), exclusive=True, reverse=True)
        pure("MatMul" + name, "MatMul", x, numbers(t, 4, 2))
        pure("MatMul transposed" + name, "MatMul", x, numbers(t, 2, 3), transpose_a=True, transpose_b=True)
        pure("BatchMatMulV2" + name, "BatchMatMulV2", numbers(t, 2, 1, 3, 4), numbers(t, 3, 4, 2))
        pure("BatchMatMulV2 adjoint" + name, "BatchMatMulV2", numbers(t, 2, 4, 3), numbers(t, 2, 2, 4), adj_x=True, adj_y=True)
        pure("MatMul that does not fit" + name, "MatMul", x, x)
        pure("Einsum" + name, "Einsum", [numbers(t, 2, 3, 4), numbers(t, 2, 4, 5)], equation="bij,bjk->bik")
        pure("ConjugateTranspose" + name, "ConjugateTranspose", numbers(t, 2, 3, 4), i32(2, 0, 1))
        pure("AddN" + name, "AddN", [x, x, x])
        pure("BiasAdd" + name, "BiasAdd", x, y)
        pure("SelectV2" + name, "SelectV2", numbers(np.float32, 3, 4) > 0, x, y)
        pure("Transpose" + name, "Transpose", x, i32(1, 0))
        pure("GatherV2" + name, "GatherV2", x, i32(2, 0), scalar(1))
        pure("ConcatV2" + name, "ConcatV2", [x, x], scalar(1))
        pure("StridedSlice" + name, "StridedSlice", x, i32(0, 3), i32(3, 0), i32(2, -1))
        pure("Pad" + name, "Pad", x, i32([1, 0], [0, 2]))


def transforms():
    for t in (np.complex64, np.complex128):
        real, name = (np.float32 if t == np.complex64 else np.float64), " " + t.__name__
        for dims, suffix in ((1, ""), (2, "2D"), (3, "3D")):
            for shape in ((2, 3, 4, 5), (2, 8, 16), (1, 7, 1), (0, 3, 4), (3, 0, 2), (17,), (1,), ()):
                for op in ("FFT", "IFFT"):
                    pure("%s%s%s %s" % (op, suffix, name, shape), op + suffix, numbers(t, *shape))
                if len(shape) < dims:
                    pure("RFFT%s%s %s" % (suffix, name, shape), "RFFT" + suffix, numbers(real, *shape), np.ones(dims, np.int32), Tcomplex=tf.as_dtype(t))
                    continue
                whole = np.array(shape[-dims:], np.int32)
                for length in (whole, np.maximum(whole - 1, 0), whole + 1, whole * 0, whole * 0 + 2, -whole):
                    if 0 in shape and length.prod() > 0:
                        continue  # TensorFlow leaves memory unset
                    pure("RFFT%s%s %s %s" % (suffix, name, shape, length), "RFFT" + suffix, numbers(real, *shape), length.astype(np.int32), Tcomplex=tf.as_dtype(t))
                    pure("IRFFT%s%s %s %s" % (suffix, name, shape, length), "IRFFT" + suffix, numbers(t, *shape), length.astype(np.int32), Treal=tf.as_dtype(real))
                twice = whole.copy()
                twice[-1] = max(2 * (whole[-1] - 1), 0)
                for last in (twice[-1], twice[-1] + 1):
                    twice[-1] = last
                    pure("IRFFT%s%s %s %s whole" % (suffix, name, shape, last), "IRFFT" + suffix, numbers(t, *shape), twice.astype(np.int32), Treal=tf.as_dtype(real))
        for n in (64, 97, 100, 1009):
            pure("RFFT%s %d" % (name, n), "RFFT", numbers(real, 2, n), i32(n), Tcomplex=tf.as_dtype(t))
            pure("FFT%s %d" % (name, n), "FFT", numbers(t, n))
    wrong("RFFT", [numbers(np.float32, 3, 8), i32(8)])


def wav(data, channels=1, rate=16000, bits=16, kind=1, extra=b"", chunks=b""):
    size = channels * bits // 8
    form = np.array([kind, channels], "<u2").tobytes() + np.array([rate, rate * size], "<u4").tobytes() + np.array([size, bits], "<u2").tobytes() + extra
    body = b"WAVEfmt " + np.uint32(len(form)).tobytes() + form + chunks + b"data" + np.uint32(len(data)).tobytes() + data
    return np.array(b"RIFF" + np.uint32(len(body)).tobytes() + body, object)


def sound():
    x = numbers(np.float32, 1000, 2)
    for window, stride in ((64, 32), (100, 37), (1000, 1), (1001, 1), (2, 300)):
        for squared in (False, True):
            pure("AudioSpectrogram %d %d %s" % (window, stride, squared), "AudioSpectrogram", x, window_size=window, stride=stride, magnitude_squared=squared)
    pure("AudioSpectrogram of nothing", "AudioSpectrogram", x[:0], window_size=4, stride=2)
    pure("AudioSpectrogram of a vector", "AudioSpectrogram", x[:, 0].copy(), window_size=4, stride=2)
    for window, stride in ((1, 1), (0, 1), (4, 0), (4, -1), (-4, 1)):
        pure("AudioSpectrogram %d by %d" % (window, stride), "AudioSpectrogram", x, window_size=window, stride=stride)
    power = np.square(numbers(np.float32, 2, 3, 129))
    for rate in (16000, 8000, 44100):
        pure("Mfcc %d" % rate, "Mfcc", power, scalar(rate))
        pure("Mfcc %d limits" % rate, "Mfcc", power, scalar(rate), upper_frequency_limit=3000.0, lower_frequency_limit=100.0, filterbank_channel_count=20, dct_coefficient_count=20)
    pure("Mfcc of zeros", "Mfcc", power * 0, scalar(16000))
    pure("Mfcc of nothing", "Mfcc", power[:0], scalar(16000))
    pure("Mfcc of a matrix", "Mfcc", power[0], scalar(16000))
    pure("Mfcc of a vector rate", "Mfcc", power, i32(16000))
    pure("Mfcc of rate 0", "Mfcc", power, scalar(0))
    pure("Mfcc of a short spectrum", "Mfcc", power[:, :, :1].copy(), scalar(16000))
    pure("Mfcc of more cosines", "Mfcc", power, scalar(16000), dct_coefficient_count=41)
    for channels in (1, 2, 3):
        samples = (numbers(np.float32, 12 * channels) * 9000).astype("<i2").tobytes()
        for want, length in ((-1, -1), (1, -1), (2, 3), (4, 9), (1, 20), (0, 0)):
            pure("DecodeWav %d %d %d" % (channels, want, length), "DecodeWav", wav(samples, channels), desired_channels=want, desired_samples=length)
    data = samples[:24]
    whole = wav(data).item()
    for name, c in {"long form": wav(data, extra=b"\0\0"), "longer form": wav(data, extra=b"\0" * 24), "8 bits": wav(data, bits=8), "24 bits": wav(data, bits=24), "32 bits": wav(data, bits=32), "float": wav(data, kind=3), "a law": wav(data, kind=6, bits=8),
                    "no channels": wav(data, channels=0), "rate 0": wav(data, rate=0), "other chunks": wav(data, chunks=b"LIST\x04\0\0\0abcd"), "odd chunk": wav(data, chunks=b"LIST\x03\0\0\0abc"),
                    "long chunk": wav(data, chunks=b"LIST\xff\xff\xff\x7fabcd"), "huge chunk": wav(data, chunks=b"LIST\xff\xff\xff\xffabcd"), "two data": wav(data, chunks=b"data\x02\0\0\0ab"), "no data": wav(b""), "odd data": wav(data[:5])}.items():
        pure("DecodeWav " + name, "DecodeWav", c)
    for n in list(range(0, len(whole), 3)) + [len(whole) - 1]:
        pure("DecodeWav of %d bytes" % n, "DecodeWav", np.array(whole[:n] + b"", object))
    pure("DecodeWav of other text", "DecodeWav", np.array(b"RIFX" + whole[4:], object))
    pure("DecodeWav of a vector", "DecodeWav", np.array([whole], object))
    pure("DecodeWav more after the data", "DecodeWav", np.array(whole + b"LIST", object))
    pure("EncodeWav", "EncodeWav", f32([0, 1], [-1, 0.5], [2, -2], [0.1, 0.5]), scalar(44100))
    pure("EncodeWav of one channel", "EncodeWav", np.abs(numbers(np.float32, 5, 1)) + 2, scalar(8000))
    pure("EncodeWav without channels", "EncodeWav", np.zeros([3, 0], np.float32), scalar(8000))
    pure("EncodeWav of a vector", "EncodeWav", f32(1, 2), scalar(8000))
    pure("EncodeWav of rate -1", "EncodeWav", f32([1]), scalar(-1))


def ctc():
    for t in (np.float32, np.float64):
        name = " " + t.__name__
        for frames, batch, classes in ((6, 3, 5), (1, 1, 2), (12, 2, 3), (4, 2, 1)):
            x = (numbers(t, frames, batch, classes) * 3).astype(t)
            length = np.array([frames, max(frames - 2, 0), 0, 1][:batch], np.int32)
            for merge in (False, True):
                for blank in (-1, 0, classes - 1, classes, -classes):
                    pure("CTCGreedyDecoder%s %s %s %d" % (name, x.shape, merge, blank), "CTCGreedyDecoder", x, length, merge_repeated=merge, blank_index=blank)
                for width, top in ((1, 1), (3, 2), (10, 3), (100, 4)):
                    pure("CTCBeamSearchDecoder%s %s %s %d" % (name, x.shape, merge, width), "CTCBeamSearchDecoder", x, length, beam_width=width, top_paths=top, merge_repeated=merge)
        ties = np.zeros([5, 2, 4], t)
        for width in (2, 4, 7, 12):
            pure("CTCBeamSearchDecoder of ties" + name, "CTCBeamSearchDecoder", ties, i32(5, 3), beam_width=width, top_paths=2)
        pure("CTCBeamSearchDecoder of many ties" + name, "CTCBeamSearchDecoder", np.round(numbers(t, 8, 1, 4)), i32(8), beam_width=9, top_paths=9)
        pure("CTCGreedyDecoder of ties" + name, "CTCGreedyDecoder", ties, i32(5, 3))
        x = (numbers(t, 6, 3, 5) * 2).astype(t)
        for length in (i32(7, 1, 1), i32(-1, 1, 1), i32(6, 6), i32([6, 6, 6])):
            pure("CTCGreedyDecoder of lengths %s" % length, "CTCGreedyDecoder", x, length)
            pure("CTCBeamSearchDecoder of lengths %s" % length, "CTCBeamSearchDecoder", x, length, beam_width=2, top_paths=1)
            pure("CTCLoss of lengths %s" % length, "CTCLoss", x, i64([0, 0], [1, 0], [2, 0]), i32(1, 2, 0), length)
        pure("CTCBeamSearchDecoder of too many paths", "CTCBeamSearchDecoder", x, i32(6, 6, 6), beam_width=2, top_paths=3)
        pure("CTCGreedyDecoder of a matrix", "CTCGreedyDecoder", x[0], i32(6, 6, 6))
        labels = (i64([0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [2, 0]), i32(1, 1, 3, 0, 2, 2))
        for collapse in (False, True):
            for merge in (False, True):
                for ignore in (False, True):
                    options = dict(preprocess_collapse_repeated=collapse, ctc_merge_repeated=merge, ignore_longer_outputs_than_inputs=ignore)
                    for length in (i32(6, 5, 4), i32(4, 2, 1), i32(3, 2, 0), i32(6, 1, 6)):
                        pure("CTCLoss%s %s %s %s %s" % (name, collapse, merge, ignore, length), "CTCLoss", x, *labels, length, **options)
        pure("CTCLoss without a label" + name, "CTCLoss", x, labels[0][:5], labels[1][:5], i32(6, 5, 4))
        pure("CTCLoss of a label beyond" + name, "CTCLoss", x, labels[0], i32(1, 1, 9, 0, 2, 2), i32(6, 5, 4))
        pure("CTCLoss of a negative label" + name, "CTCLoss", x, labels[0], i32(1, 1, -1, 0, 2, 2), i32(6, 5, 4))
        pure("CTCLoss of the blank" + name, "CTCLoss", x, labels[0], i32(1, 1, 4, 0, 2, 2), i32(6, 5, 4))
        pure("CTCLoss of a blank between" + name, "CTCLoss", x, labels[0], i32(1, 4, 1, 0, 2, 2), i32(6, 5, 4))
        pure("CTCLoss of rows beyond" + name, "CTCLoss", x, labels[0] + i64(1, 0), labels[1], i32(6, 5, 4))
        pure("CTCLoss of nothing" + name, "CTCLoss", x[:0], labels[0], labels[1], i32(0, 0, 0))


def main():
    for group in [arithmetic, transforms, sound, ctc]:
        group()
    base.write(sys.argv[1], sequences.SEQUENCES)
    print(len(sequences.SEQUENCES), "sequences,", sum("error" in c for c in sequences.SEQUENCES), "errors")


if __name__ == "__main__":
    main()
