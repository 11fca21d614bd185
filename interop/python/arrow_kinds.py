"""arrow_kinds.py OUT: pyarrow writes a column x of each type, encoding and codec; cases.json says which files hold what, want has the values.

A case with "refused" has a type without tensor form, or an encoding or codec that arrow for Go does not read.
"""
import datetime
import decimal
import json
import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq

import exchange

out, rows = sys.argv[1], 30
cases, want = [], {}


def case(name, array, value=None, kinds=("parquet", "arrow"), kind=None, default="", offsets=None, **options):
    """One case: a file of each kind. kind: what our error names where it is refused."""
    table = pa.table({"row": pa.array(range(len(array)), pa.int64()), "x": array})
    files = []
    for k in kinds:
        path = os.path.join(out, "%s.%s" % (name, k))
        if k == "parquet":
            pq.write_table(table, path, row_group_size=13, **options)
        elif k == "feather":
            pa.feather.write_feather(table, path, **options)
        elif k == "csv":
            pa.csv.write_csv(table, path, **options)
        else:
            with (pa.ipc.new_file if k == "arrow" else pa.ipc.new_stream)(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=11)
        files.append(os.path.basename(path))
    cases.append({"name": name, "files": files, "refused": kind or "", "default": default})
    if value is not None:
        want[name] = value
    if offsets is not None:
        want[name + "/offsets"] = np.array(offsets, np.int32)


random = np.random.RandomState(3)
ints, reals = random.randint(-1000, 1000, rows), random.randn(rows)
words = ["", "ab", "abc", "gr\u00fc\u00df", "x" * 300, "a,\"b\"\nc"]
texts = [words[i % len(words)] for i in range(rows)]

# Types.
for kind in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]:
    edge = np.array([0, 1, 2], kind)
    if kind[0] == "f":
        edge = np.array([np.nan, np.inf, -np.inf, -0.0, np.finfo(kind).max, np.finfo(kind).tiny], kind)
    else:
        edge = np.array([0, np.iinfo(kind).min, np.iinfo(kind).max], kind)
    case(kind, pa.array(edge), edge, ("parquet", "arrow", "stream", "feather"))
case("float16", pa.array(np.arange(6).astype(np.float16)), np.arange(6).astype(np.float32), default="float32")
case("bool", pa.array([True, False, True]), np.array([True, False, True]))
case("string", pa.array(texts), texts, ("parquet", "arrow", "stream", "feather"))
case("large_string", pa.array(texts, pa.large_string()), texts)
case("large_binary", pa.array([t.encode() for t in texts], pa.large_binary()), texts)
case("dictionary", pa.array(texts).dictionary_encode(), texts)
case("dictionary_ints", pa.array(ints % 5).dictionary_encode(), ints % 5)
case("dictionary_small", pa.DictionaryArray.from_arrays(pa.array([0, 2, 1, 2], pa.int8()), pa.array(["a", "b", "c"])), ["a", "c", "b", "c"])
case("large_list", pa.array([[1, 2], [], [3]], pa.large_list(pa.int64())), np.array([1, 2, 3]), offsets=[0, 2, 2, 3])
case("list_float32", pa.array([[1.5], [], [], [2.5, 3.5]], pa.list_(pa.float32())), np.array([1.5, 2.5, 3.5], np.float32), offsets=[0, 1, 1, 1, 3])
case("list_bool", pa.array([[True, False], [True]], pa.list_(pa.bool_())), np.array([True, False, True]), offsets=[0, 2, 3])
case("list_large_string", pa.array([["a", "bc"], []], pa.list_(pa.large_string())), np.array(["a", "bc"], object), offsets=[0, 2, 2])
case("vector", pa.FixedSizeListArray.from_arrays(pa.array(np.arange(40.0)), 2), np.arange(40.0).reshape(20, 2))
case("sliced", pa.array(ints)[7:29], ints[7:29], ("parquet", "arrow", "stream", "feather"))
case("chunked", pa.chunked_array([ints[:4], [], ints[4:]], pa.int64()), ints, ("parquet", "arrow", "stream", "feather"))
case("nulls", pa.array([1, None, 3, None], pa.int64()), np.array([1, -7, 3, -7]), default="-7")
case("nulls_text", pa.array(["a", None, ""]), ["a", "-7", ""], default="-7")
case("nulls_dictionary", pa.array(["a", None, "b", "a"]).dictionary_encode(), ["a", "-7", "b", "a"], default="-7")
case("nulls_first", pa.array([None] * 20 + [2.5], pa.float64()), np.array([-7.0] * 20 + [2.5]), default="-7")

# Types without a tensor form.
day = datetime.date(2024, 2, 29)
time = datetime.datetime(2024, 2, 29, 12, 30)
for name, array, kind in [
    ("date32", pa.array([day], pa.date32()), "date32"), ("time32", pa.array([1], pa.time32("s")), "time32"), ("time64", pa.array([1], pa.time64("us")), "time64"),
    ("timestamp_ms", pa.array([time], pa.timestamp("ms")), "timestamp"), ("timestamp_us", pa.array([time], pa.timestamp("us", "UTC")), "timestamp"),
    ("timestamp_ns", pa.array([time], pa.timestamp("ns")), "timestamp"), 
    ("decimal128", pa.array([decimal.Decimal("1.25")], pa.decimal128(9, 2)), "decimal"), ("decimal256", pa.array([decimal.Decimal("1.25")], pa.decimal256(50, 2)), "decimal"),
    ("fixed_size_binary", pa.array([b"abcd"], pa.binary(4)), "fixed_size_binary"), ("struct", pa.array([{"a": 1, "b": "c"}]), "struct"),
    ("list_of_structs", pa.array([[{"a": 1}]]), "struct"), ("list_of_lists", pa.array([[[1], [2]]]), "list"),
    ("map", pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "map"), ("null", pa.nulls(2), "null"), ("list_timestamp", pa.array([[time]]), "timestamp"),
]:
    case(name, array, kind=kind)
for name, array, kind in [
    ("duration", pa.array([3], pa.duration("ms")), "duration"), ("date64", pa.array([day], pa.date64()), "date64"), ("run_end_encoded", pa.RunEndEncodedArray.from_arrays([2, 3], [5, 6]), "run_end_encoded"),
    ("interval", pa.array([(1, 2, 3)], pa.month_day_nano_interval()), "interval"),
    ("dense_union", pa.UnionArray.from_dense(pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), pa.array(["a"])]), "union"),
    ("string_view", pa.array(["a"], pa.string_view()), "x"), ("list_view", pa.array([[1]], pa.list_view(pa.int64())), "x"),
]:
    case(name, array, kind=kind, kinds=("arrow", "stream"))
case("int96", pa.array([time], pa.timestamp("ns")), kind="timestamp", kinds=("parquet",), use_deprecated_int96_timestamps=True)

# Codecs, pages and encodings of Parquet.
for codec in ["none", "snappy", "gzip", "brotli", "lz4", "zstd"]:
    kind, each = "LZ4_RAW" if codec == "lz4" else None, {"x": codec, "row": "none"}
    case("codec_" + codec, pa.array(reals), reals, ("parquet",), kind, compression=each)
    case("codec2_" + codec, pa.array(texts), texts, ("parquet",), kind, compression=each, data_page_version="2.0")
for version in ["1.0", "2.0"]:
    for encoding, arrays in {
        "PLAIN": [pa.array(ints), pa.array(reals), pa.array(texts)], "DELTA_BINARY_PACKED": [pa.array(ints), pa.array(ints.astype(np.int32)), pa.array(ints * 2**50)],
        "DELTA_LENGTH_BYTE_ARRAY": [pa.array(texts)], "DELTA_BYTE_ARRAY": [pa.array(sorted(texts))], "BYTE_STREAM_SPLIT": [pa.array(reals), pa.array(reals.astype(np.float32))],
        "RLE": [pa.array(ints % 3 == 0)],
    }.items():
        for i, array in enumerate(arrays):
            for nulls in [False, True]:
                if nulls:
                    array = pa.array([None if k % 4 == 1 else v for k, v in enumerate(array.to_pylist())], array.type)
                filled = [({"string": "-7", "bool": True}.get(str(array.type), -7)) if v is None else v for v in array.to_pylist()]
                value = filled if str(array.type) == "string" else np.array(filled, {"double": "float64", "float": "float32"}.get(str(array.type), str(array.type)))
                default = "" if not nulls else ("true" if str(array.type) == "bool" else "-7")
                case("%s_%s_%d%s" % (encoding.lower(), version[0], i, "_nulls" if nulls else ""), array, value, ("parquet",), encoding if encoding == "BYTE_STREAM_SPLIT" else None, default,
                     use_dictionary=False, column_encoding={"x": encoding}, data_page_version=version, version="2.6")
many = np.arange(5000) * 7919 % 4999
case("small_pages", pa.array(many), many, ("parquet",), data_page_size=256, write_batch_size=16, dictionary_pagesize_limit=512, write_page_index=True)
case("small_pages_text", pa.array([str(v) for v in many]), [str(v) for v in many], ("parquet",), data_page_size=256, write_batch_size=16, dictionary_pagesize_limit=512, data_page_version="2.0")
case("checksums", pa.array(ints), ints, ("parquet",), write_page_checksum=True)
case("old_version", pa.array(ints), ints, ("parquet",), version="1.0")
case("no_schema", pa.array(texts).dictionary_encode(), texts, ("parquet",), store_schema=False)
for codec in ["uncompressed", "lz4", "zstd"]:
    case("feather_" + codec, pa.array(texts), texts, ("feather",), compression=codec)
case("feather_1", pa.array(ints), kind="Arrow IPC file", kinds=("feather",), version=1)
for quoting in ["needed", "all_valid"]:
    case("csv_" + quoting, pa.array(texts), texts, ("csv",), write_options=pa.csv.WriteOptions(quoting_style=quoting), default="")

# A folder of partitions: their values are columns.
parts = pa.table({"row": pa.array(range(6), pa.int64()), "x": ["a=b", "S\u00e3o", "x/y", None, "%41", "a=b"], "n": [7, 8, 9, 9, None, 7]})
for kind in ["parquet", "feather"]:
    pa.dataset.write_dataset(parts, os.path.join(out, "parts_" + kind), format=kind, partitioning=["x", "n"], partitioning_flavor="hive")
want["parts/x"] = ["a=b", "S\u00e3o", "x/y", "?", "%41", "a=b"]
want["parts/n"] = np.array([7, 8, 9, 9, -1, 7])
exchange.save(os.path.join(out, "want"), want)
with open(os.path.join(out, "cases.json"), "w") as f:
    json.dump(cases, f)
print(len(cases), "cases, pyarrow", pa.__version__)
