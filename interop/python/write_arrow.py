"""write_arrow.py OUT: pyarrow writes one table as Parquet and Arrow files of many kinds; its values go to OUT/want."""
import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import exchange

out, rows = sys.argv[1], 50
random = np.random.RandomState(9)
want, columns = {}, {}
for kind in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float32", "float64"]:
    value = (random.randn(rows) * 30).astype(kind) if kind[0] == "f" else random.randint(0, 120, rows).astype(kind)
    columns[kind], want[kind] = pa.array(value), value
columns["bool"], want["bool"] = pa.array(want["int32"] % 2 == 0), want["int32"] % 2 == 0
words = ["", "ab", "gr\u00fc\u00df", "x" * 100]
texts = [words[i % 4] for i in range(rows)]
for name, kind in [("string", pa.string()), ("large_string", pa.large_string())]:
    columns[name], want[name] = pa.array(texts, kind), texts
columns["binary"], want["binary"] = pa.array([t.encode() for t in texts], pa.binary()), texts
columns["dictionary"], want["dictionary"] = pa.array(texts).dictionary_encode(), texts
vectors = random.randn(rows, 4).astype(np.float32)
columns["vector"], want["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 4), vectors
lists = [list(range(i % 5)) for i in range(rows)]
columns["list"] = pa.array(lists, pa.list_(pa.int64()))
want["list"] = np.array(sum(lists, []), np.int64)
want["list/offsets"] = np.cumsum([0] + [len(v) for v in lists]).astype(np.int32)
tags = [[words[k] for k in range(i % 3)] for i in range(rows)]
columns["tags"] = pa.array(tags, pa.list_(pa.string()))
want["tags"], want["tags/offsets"] = np.array(sum(tags, []), object), np.cumsum([0] + [len(v) for v in tags]).astype(np.int32)
table = pa.table(columns)

for codec in ["none", "snappy", "gzip", "zstd"]:
    pq.write_table(table, os.path.join(out, codec + ".parquet"), compression=codec, row_group_size=13)
pq.write_table(table, os.path.join(out, "v2.parquet"), data_page_version="2.0", version="2.6", use_dictionary=False, row_group_size=20)
pq.write_table(table, os.path.join(out, "plain.parquet"), store_schema=False, write_statistics=False)
for codec in [None, "lz4", "zstd"]:
    options = pa.ipc.IpcWriteOptions(compression=codec)
    for kind, new in [("file", pa.ipc.new_file), ("stream", pa.ipc.new_stream)]:
        path = os.path.join(out, "%s_%s.arrow" % (kind, codec or "none"))
        with new(path, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=11)
exchange.save(os.path.join(out, "want"), want)
print(len(columns), "columns,", rows, "rows, pyarrow", pa.__version__)
