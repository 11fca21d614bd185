"""Writes internal/imported/eager/testdata/texts.json.gz: characters, n-grams, counts and special functions as TensorFlow computes them.

    python interop/eager_texts.py internal/imported/eager/testdata/texts.json.gz
"""

import gzip
import sys
import zlib

import numpy as np

import eager_golden as base
import eager_sequences as sequences
from eager_families import pure, wrong
from eager_golden import f32, i32, i64, inf, nan, s, scalar, text, tf

rng = np.random.default_rng(13)
TEXTS = s("hello", "", "Grüße, Жизнь", "日本語 \U0001f600", b"a\xffb\xc3", b"\xe2\x82", b"\xf0\x9f\x98x", b"\xed\xa0\x80", b"\xc0\x80", "\x01tab\t\x7f\x85")


def characters():
    for errors in ("strict", "replace", "ignore"):
        for controls in (False, True):
            options = dict(errors=errors, replace_control_characters=controls)
            for encoding in ("UTF-8", "utf8", "US-ASCII", "ISO-8859-1", "UTF-16-BE", "UTF-16-LE", "UTF-32-BE"):
                for op in ("UnicodeDecode", "UnicodeDecodeWithOffsets"):
                    for k in [slice(0, 4), slice(0, 1)] + ([slice(i, i + 1) for i in range(4, 10)] if encoding == "UTF-8" else []):
                        pure("%s %s %s" % (op, encoding, options), op, TEXTS[k], input_encoding=encoding, replacement_char=ord("?"), **options)
                for out in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
                    for k in (slice(0, 4), slice(4, 10)):
                        if k.start == 0 or encoding == "UTF-8":
                            pure("UnicodeTranscode %s %s %s" % (encoding, out, options), "UnicodeTranscode", TEXTS[k], input_encoding=encoding, output_encoding=out, **options)
        for out in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
            pure("UnicodeEncode %s %s" % (errors, out), "UnicodeEncode", i32(104, 0x20ac, 0x1f600, 33), i64(0, 1, 1, 4), errors=errors, output_encoding=out)
            pure("UnicodeEncode %s %s of faults" % (errors, out), "UnicodeEncode", i32(104, 0xd800, 0x110000, -1, 33), i32(0, 5), errors=errors, output_encoding=out)
    for splits in (i64(1, 4), i64(0, 3), i64(0, 5), i64(0, 3, 2, 4), i64(), i64(0, -1, 4)):
        pure("UnicodeEncode of splits %s" % splits, "UnicodeEncode", i32(104, 105, 106, 33), splits, output_encoding="UTF-8")
    pure("UnicodeDecode of nothing", "UnicodeDecode", s(), input_encoding="UTF-8")
    pure("UnicodeDecode of one", "UnicodeDecode", text("ab"), input_encoding="UTF-8")
    pure("UnicodeDecode of no encoding", "UnicodeDecode", TEXTS, input_encoding="no such")
    pure("UnicodeScript", "UnicodeScript", np.array([ord(c) for c in "aßЖ日ひ力カ한אب1 ̀กα\U0001f600é"] + [-1, 0x110000, 0xd800, 0x378], np.int32))
    words = s("straße", "ﬁn", "ŉ ǰ", "ὈΔΥΣΣΕΎΣ ΣΑΣ.", "İstanbul", "ÀÉ", b"a\xffb", "", "ǅ ǆ", "ᾳ")
    for op in ("StringUpper", "StringLower"):
        pure(op, op, words, encoding="utf-8")


def ngrams():
    words, splits = s("a", "bb", "", "c", "d", "e"), i64(0, 3, 3, 4, 6)
    for widths in ([1], [2], [3], [1, 2, 4], [7]):
        for pad in (-1, 0, 1, 2, 5):
            for short in (False, True):
                pure("StringNGrams %s %d %s" % (widths, pad, short), "StringNGrams", words, splits, separator="|", ngram_widths=widths, left_pad="<<", right_pad=">", pad_width=pad, preserve_short_sequences=short)
    options = dict(separator=" ", ngram_widths=[2], left_pad="", right_pad="", pad_width=0, preserve_short_sequences=False)
    for bad in (i64(0, 7), i64(1, 6), i64(0, 5), i64(0, 4, 3, 6), i64(), i64(0), i32(0, 6), i64(-1, 6)):
        pure("StringNGrams of splits %s" % bad, "StringNGrams", words, bad, **options)
    pure("StringNGrams of nothing", "StringNGrams", s(), i64(0), **options)
    pure("StringNGrams of no splits", "StringNGrams", s(), i64(), **options)
    pure("StringNGrams of width 0", "StringNGrams", words, splits, **{**options, "ngram_widths": [0]})
    for sep in ("", ", "):
        pure("UnsortedSegmentJoin", "UnsortedSegmentJoin", s("a", "b", "", "c"), i32(2, 0, 2, 3), scalar(4), separator=sep)
        pure("UnsortedSegmentJoin of rows", "UnsortedSegmentJoin", s("a", "b", "c", "d", "e", "f").reshape(3, 2), i64(1, 1, 0), scalar(2), separator=sep)
        pure("UnsortedSegmentJoin beyond", "UnsortedSegmentJoin", s("a", "b"), i32(2, 0), scalar(2), separator=sep)
    for kind, pack in (("ZLIB", zlib.compress), ("GZIP", gzip.compress), ("", bytes)):
        pure("DecodeCompressed " + kind, "DecodeCompressed", np.array([[pack(b"hello" * 100)], [pack(b"x")]], object), compression_type=kind)
        pure("DecodeCompressed broken " + kind, "DecodeCompressed", s(b"garbage"), compression_type=kind)
    for little in (True, False):
        for out in (tf.int16, tf.float32, tf.uint8):
            for length in (4, 8, 6, 3, 0, -4):
                pure("DecodePaddedRaw %s %d" % (out.name, length), "DecodePaddedRaw", s("abcd", "", "abcdefghi"), scalar(length), out_type=out, little_endian=little)
    for x in (s("a", "", "hello"), s("a", "b", "c", "").reshape(2, 2), f32([1, 2], [3, 4]), i64(5), np.array([1, 2, 3], np.uint8), np.float32(1)):
        pure("Fingerprint", "Fingerprint", np.asarray(x), text("farmhash64"))
    pure("Fingerprint by another method", "Fingerprint", i64(1), text("md5"))


def counts():
    values, rows = i64([1, 5, 1], [0, 3, 3]), i64(1, 5, 1, 0, 3)
    for kind in (np.int32, np.int64):
        for least, most in ((-1, -1), (9, -1), (-1, 4), (2, 5), (9, 4)):
            for binary in (False, True):
                for out in (tf.int64, tf.float32):
                    options = dict(minlength=least, maxlength=most, binary_output=binary)
                    none = np.zeros([0], out.as_numpy_dtype)
                    pure("DenseCountSparseOutput", "DenseCountSparseOutput", values.astype(kind), none, **options)
                    pure("DenseCountSparseOutput of a vector", "DenseCountSparseOutput", rows.astype(kind), none, **options)
                    pure("SparseCountSparseOutput", "SparseCountSparseOutput", i64([0, 0], [0, 2], [2, 0], [2, 1], [2, 2]), rows.astype(kind), i64(4, 3), none, **options)
                    pure("SparseCountSparseOutput of a vector", "SparseCountSparseOutput", i64([0], [1], [2], [4], [5]), rows.astype(kind), i64(7), none, **options)
                    pure("RaggedCountSparseOutput", "RaggedCountSparseOutput", i64(0, 2, 2, 5), rows.astype(kind), none, **options)
    weights = f32([1, 2, 0.5], [4, 1, 1])
    pure("DenseCountSparseOutput with weights", "DenseCountSparseOutput", values, weights, binary_output=False)
    pure("RaggedCountSparseOutput with weights", "RaggedCountSparseOutput", i64(0, 2, 2, 5), rows, weights[0].repeat(2)[:5], binary_output=False)
    pure("DenseCountSparseOutput of a negative value", "DenseCountSparseOutput", -values, f32(), binary_output=False)
    pure("DenseCountSparseOutput of nothing", "DenseCountSparseOutput", values[:0], f32(), binary_output=False)
    pure("RaggedCountSparseOutput of splits", "RaggedCountSparseOutput", i64(0, 6), rows, f32(), binary_output=False)
    pure("RaggedCountSparseOutput of no splits", "RaggedCountSparseOutput", i64(), rows, f32(), binary_output=False)
    pure("SparseCountSparseOutput beyond", "SparseCountSparseOutput", i64([4, 0]), i64(1), i64(4, 3), f32(), binary_output=False)
    for t in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64):
        pure("PopulationCount", "PopulationCount", np.array([0, 1, 2, 127, np.iinfo(t).max, np.iinfo(t).min], t))
    for t in (np.float32, np.float64, np.int32, np.uint8):
        pure("Cross", "Cross", np.array([[1, 2, 3], [4, 5, 6]], t), np.array([[3, 1, 2], [0, 1, 0]], t))
        pure("Cross that does not fit", "Cross", np.array([1, 2, 3], t), np.array([[3, 1, 2]], t))
        pure("Cross of four", "Cross", np.array([1, 2, 3, 4], t), np.array([1, 2, 3, 4], t))
    for t in (np.float32, np.float64):
        for exclusive in (False, True):
            for reverse in (False, True):
                for axis in (0, -1):
                    pure("CumulativeLogsumexp", "CumulativeLogsumexp", (rng.standard_normal((3, 4)) * 5).astype(t), scalar(axis), exclusive=exclusive, reverse=reverse)
                pure("CumulativeLogsumexp of edges", "CumulativeLogsumexp", np.array([-inf, -inf, 0, 1000, -inf], t), scalar(0), exclusive=exclusive, reverse=reverse)
        pure("CumulativeLogsumexp beyond", "CumulativeLogsumexp", np.zeros((3, 4), t), scalar(2))


def special():
    for t in (np.float32, np.float64):
        x = np.array([0, 1e-3, 0.1, 0.5, 1, 2, 3.7, 8, 15, 29, 50, nan, inf], t)
        for op in "BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 BesselK0 BesselK0e BesselK1 BesselK1e BesselY0 BesselY1".split():
            pure(op, op, x[op == "BesselY1":11])  # at 0, Y1 is NaN in float32 and an infinity in float64
            if op[6] in "IJ":
                pure(op + " of negative numbers", op, -x[:11])
        pure("Ndtri", "Ndtri", np.array([0, 1e-5, 0.1, 0.5, 0.9, 0.99, 1], t))
        a, b = np.meshgrid(np.array([0.1, 0.5, 1, 2.5, 10, 40], t), np.array([0, 0.01, 0.3, 1, 3, 9.5, 42], t))
        for op in ("Igamma", "Igammac"):
            pure(op, op, a, b)
            pure(op + " of edges", op, np.array([-1, 1, nan, 1], t), np.array([1, -1, 1, nan], t))
        pure("Zeta", "Zeta", np.array([1.1, 1.5, 2, 3, 5.5, 20], t)[:, None], np.array([0.1, 0.5, 1, 3, 20], t))
        pure("Zeta of edges", "Zeta", np.array([1, 0.5, 2, 2, 2.5, nan], t), np.array([2, 2, 0, -3, -1.5, 1], t))
        pure("Polygamma", "Polygamma", np.array([0, 1, 2, 3], t)[:, None], np.array([0.1, 0.5, 1, 3, 20], t))
        pure("Polygamma of edges", "Polygamma", np.array([-1, 1.5, 1], t), np.array([2, 2, 0], t))
        pure("Betainc", "Betainc", a.ravel(), np.flip(a).ravel().copy(), np.linspace(0, 1, a.size).astype(t))
        pure("Betainc of scalars", "Betainc", np.array(2, t), np.array(3, t), np.array([0, 0.2, 1, -0.1, 1.1, nan], t))
        pure("Betainc that does not fit", "Betainc", np.ones(2, t), np.ones(3, t), np.array(0.5, t))
        pure("NextAfter", "NextAfter", np.array([0, 1, 1, -1, nan, inf, 1], t), np.array([1, 2, -2, -1, 1, 1, nan], t))


def main():
    for group in [characters, ngrams, counts, special]:
        group()
    base.write(sys.argv[1], sequences.SEQUENCES)
    print(len(sequences.SEQUENCES), "sequences,", sum("error" in c for c in sequences.SEQUENCES), "errors")


if __name__ == "__main__":
    main()
