"""Writes the files that TestPyarrowFiles reads: python write_fixtures.py FOLDER (needs pyarrow)."""
import sys

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

ROWS = 50
rows = range(ROWS)
words = ["alpha", "béta", "", "delta"]
table = pa.table({
    "f32": pa.array([i / 4 for i in rows], pa.float32()),
    "f64": pa.array([i * 1.1 for i in rows], pa.float64()),
    "i64": pa.array([i - 25 for i in rows], pa.int64()),
    "i32": pa.array([i * 1000 for i in rows], pa.int32()),
    "u8": pa.array([i * 5 for i in rows], pa.uint8()),
    "flag": pa.array([i % 3 == 0 for i in rows], pa.bool_()),
    "word": pa.array([words[i % 4] for i in rows], pa.string()),
    "large": pa.array([words[i % 4] for i in rows], pa.large_string()),
    "category": pa.array([words[i % 2] for i in rows]).dictionary_encode(),
    "gap": pa.array([None if i % 5 == 0 else float(i) for i in rows], pa.float64()),
    "ragged": pa.array([list(range(i % 4)) for i in rows], pa.list_(pa.int64())),
    "pair": pa.array([[i, -i] for i in rows], pa.list_(pa.float32())),
    "fixed": pa.array([[i, i + 1, i + 2] for i in rows], pa.list_(pa.float32(), 3)),
    "when": pa.array([i for i in rows], pa.timestamp("s")),
})
out = sys.argv[1]
pq.write_table(table, f"{out}/snappy.parquet", row_group_size=16)
pq.write_table(table, f"{out}/zstd.parquet", row_group_size=7, compression="zstd", data_page_version="2.0")
feather.write_feather(table, f"{out}/lz4.arrow", compression="lz4", chunksize=12)
with pa.ipc.new_file(f"{out}/plain.arrow", table.schema) as w:
    w.write_table(table, max_chunksize=20)
with pa.OSFile(f"{out}/stream.arrow", "wb") as f, pa.ipc.new_stream(f, table.schema) as w:
    w.write_table(table, max_chunksize=9)
few = pa.table({"id": [1, 2, 3], "packed": ["a", "b", "a"], "split": [0.5, 1.5, 2.5]})
pq.write_table(few, f"{out}/unread.parquet", compression={"id": "none", "packed": "lz4", "split": "none"}, use_dictionary=False, column_encoding={"split": "BYTE_STREAM_SPLIT"})
