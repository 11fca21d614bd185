"""Writes internal/imported/eager/testdata/records.json.gz: sequence examples, JSON examples and variants of ragged tensors as TensorFlow reads them.

    python interop/eager_records.py internal/imported/eager/testdata/records.json.gz
"""

import sys

import numpy as np

import eager_golden as base
import eager_sequences as sequences
from eager_families import pure
from eager_golden import f32, i32, i64, s, scalar, text, tf
from eager_sequences import Of, record


def feature(*values):
    if not values:
        return tf.train.Feature()
    if isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    if isinstance(values[0], int):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def example(context=None, **lists):
    return tf.train.SequenceExample(context=tf.train.Features(feature=context or {}),
                                    feature_lists=tf.train.FeatureLists(feature_list={k: tf.train.FeatureList(feature=v) for k, v in lists.items()})).SerializeToString()


FULL = example({"n": feature(1, 2), "w": feature(b"a", b"b"), "x": feature(0.5)}, price=[feature(1.0, 2.0), feature(3.0, 4.0)], ids=[feature(1), feature(2, 3, 4), feature()], words=[feature(b"a"), feature(b"b")])
SHORT = example({"n": feature(7, 8)}, price=[feature(5.0, 6.0)], ids=[], words=[feature(b"z")])
LONG = example({"x": feature(2.5), "n": feature(0, 0), "w": feature(b"q")}, price=[feature(float(i), 1.0) for i in range(5)], ids=[feature(*range(1, i + 1)) for i in range(4)], words=[])
BATCHES = {"all": [FULL, SHORT, LONG], "one": [FULL], "empty": [FULL, b""], "no price": [example({"n": feature(1, 2)}, words=[])], "no n": [example(price=[], words=[])],
           "type of price": [example({"n": feature(1, 2)}, price=[feature(1, 2)], words=[])], "size of price": [example({"n": feature(1, 2)}, price=[feature(1.0)], words=[])],
           "type of ids": [example({"n": feature(1, 2)}, price=[], ids=[feature(b"a")], words=[])], "type of w": [example({"n": feature(1, 2), "w": feature(1)}, price=[], words=[])],
           "size of n": [example({"n": feature(1)}, price=[], words=[])], "damaged": [FULL[:-3]], "garbage": [b"\xff\xff"], "twice": [FULL + SHORT]}
MISSING = ("w2", "n2")  # of batches alone: of single examples TensorFlow leaves the splits undefined


def sequence_examples():
    for name, batch in BATCHES.items():
        for optional in (False, True):
            for x_default in (np.array(9.5, np.float32), f32()):
                title = " of %s %s %s" % (name, optional, x_default.shape)
                batched = s(*batch)
                defaults = [i64(), x_default]
                for serialized, names in [(batched, s()), (batched, s(*["n%d" % i for i in range(len(batch))]))] + ([(text(batch[0]), s())] if len(batch) == 1 else []):
                    pure("ParseSequenceExampleV2" + title + str(serialized.shape), "ParseSequenceExampleV2", serialized, names, s("w"), s("n", "x"), s(*MISSING[:2 * serialized.ndim]), s("ids"), s("price", "words"), s(*["ids2"][:serialized.ndim]), np.array([optional, optional]), defaults,
                         context_sparse_types=[tf.string], Ncontext_sparse=1, context_ragged_value_types=[tf.string, tf.int64][:2 * serialized.ndim], context_ragged_split_types=[tf.int32, tf.int64][:2 * serialized.ndim], context_dense_shapes=[[2], []], Nfeature_list_sparse=1,
                         Nfeature_list_dense=2, feature_list_dense_types=[tf.float32, tf.string], feature_list_sparse_types=[tf.int64], feature_list_ragged_value_types=[tf.int64][:serialized.ndim], feature_list_ragged_split_types=[tf.int32][:serialized.ndim],
                         feature_list_dense_shapes=[[2], []])
                    if serialized.ndim:
                        pure("ParseSequenceExampleV2, ragged," + title + str(serialized.shape), "ParseSequenceExampleV2", serialized, names, s(), s(), s("w", "n"), s(), s(), s("ids", "price", "words"), np.zeros([0], bool), [],
                             context_ragged_value_types=[tf.string, tf.int64], context_ragged_split_types=[tf.int32, tf.int64],
                             feature_list_ragged_value_types=[tf.int64, tf.float32, tf.string], feature_list_ragged_split_types=[tf.int32, tf.int64, tf.int64])
                        pure("ParseSequenceExample" + title, "ParseSequenceExample", serialized, names, defaults, feature_list_dense_missing_assumed_empty=[b"price", b"words"] if optional else [], context_sparse_keys=[b"w"],
                             context_dense_keys=[b"n", b"x"], feature_list_sparse_keys=[b"ids"], feature_list_dense_keys=[b"price", b"words"], Ncontext_sparse=1, Ncontext_dense=2, Nfeature_list_sparse=1, Nfeature_list_dense=2,
                             context_sparse_types=[tf.string], feature_list_dense_types=[tf.float32, tf.string], context_dense_shapes=[[2], []], feature_list_sparse_types=[tf.int64], feature_list_dense_shapes=[[2], []])
                    else:
                        pure("ParseSingleSequenceExample" + title, "ParseSingleSequenceExample", serialized, s("price", "words") if optional else s(), [text("w")], [text("n"), text("x")], [text("ids")], [text("price"), text("words")], defaults,
                             text("name"), context_sparse_types=[tf.string], feature_list_dense_types=[tf.float32, tf.string], context_dense_shapes=[[2], []], feature_list_sparse_types=[tf.int64], feature_list_dense_shapes=[[2], []])


def json_examples():
    good = '{"features": {"feature": {"a": {"int64List": {"value": ["1", 2]}}}}}'
    pure("DecodeJSONExample", "DecodeJSONExample", s(good, "{}", '{"features": {"feature": {"x": {"floatList": {"value": [0.5, "NaN", 1e3]}}}}}').reshape(3, 1))
    pure("DecodeJSONExample of bytes", "DecodeJSONExample", text('{"features": {"feature": {"a": {"bytes_list": {"value": ["aGk="]}}}}}'))
    pure("DecodeJSONExample of nothing", "DecodeJSONExample", s())
    for i, bad in enumerate(["", "{", "[]", '{"no such": 1}', '{"features": {"feature": {"a": {"int64List": {"value": ["x"]}}}}}', "\xff"]):
        pure("DecodeJSONExample of fault %d" % i, "DecodeJSONExample", s(bad))


def variants():
    for splits in (np.int32, np.int64):
        kind = dict(Tsplits=tf.as_dtype(splits))
        for values in (f32(1, 2, 3, 4, 5), s("a", "b", "c", "d", "e"), np.arange(10, dtype=np.int64).reshape(5, 2)):
            of = dict(kind, Tvalues=tf.string if values.dtype == object else tf.as_dtype(values.dtype))
            one, two = np.array([0, 2, 2, 5], splits), np.array([0, 1, 3], splits)
            for batched in (False, True):
                for nested in ([], [one], [two, one]):
                    to = ("RaggedTensorToVariant", [nested, values], dict(batched_input=batched))
                    title = " %s %s %s %d" % (splits.__name__, values.dtype, batched, len(nested))
                    for rank_in in (-1, 0, 1, 2):
                        for rank_out in (0, 1, 2, 3)[batched and rank_in < 0:]:  # TensorFlow does not check a rank below 0
                            record("RaggedTensorFromVariant%s %d %d" % (title, rank_in, rank_out), to, ("RaggedTensorFromVariant", [Of(0)], dict(of, input_ragged_rank=rank_in, output_ragged_rank=rank_out)))
            record("TensorListStack of ragged rows %s %s" % (splits.__name__, values.dtype), ("RaggedTensorToVariant", [[one], values], dict(batched_input=True)),
                   ("TensorListFromTensor", [Of(0), i32()], {}), ("TensorListGetItem", [Of(1), scalar(2), i32()], dict(element_dtype=tf.variant)),
                   ("RaggedTensorFromVariant", [Of(2)], dict(of, input_ragged_rank=0, output_ragged_rank=0)),
                   ("TensorListStack", [Of(1), i32()], dict(element_dtype=tf.variant)), ("RaggedTensorFromVariant", [Of(4)], dict(of, input_ragged_rank=0, output_ragged_rank=1)),
                   ("TensorListGather", [Of(1), i32(2, 0), i32()], dict(element_dtype=tf.variant)), ("RaggedTensorFromVariant", [Of(6)], dict(of, input_ragged_rank=-1, output_ragged_rank=1)))
            if values.dtype != object:
                record("RaggedTensorToVariantGradient %s %s" % (splits.__name__, values.dtype), ("RaggedTensorToVariant", [[one], values], dict(batched_input=True)),
                       ("RaggedTensorToVariantGradient", [Of(0), one, np.array(values.shape, np.int32)], dict(Tvalues=of["Tvalues"])))
        record("RaggedTensorToVariant of splits beyond", ("RaggedTensorToVariant", [[np.array([0, 9], splits)], f32(1, 2)], dict(batched_input=True)))
    record("RaggedTensorFromVariant of a list", ("TensorListReserve", [i64(2), scalar(3)], dict(element_dtype=tf.float32)),
           ("RaggedTensorFromVariant", [Of(0)], dict(input_ragged_rank=0, output_ragged_rank=1, Tvalues=tf.float32)))


def main():
    for group in [sequence_examples, json_examples, variants]:
        group()
    base.write(sys.argv[1], sequences.SEQUENCES)
    print(len(sequences.SEQUENCES), "sequences,", sum("error" in c for c in sequences.SEQUENCES), "errors")


if __name__ == "__main__":
    main()
