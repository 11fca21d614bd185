"""read_predictions.py FILE WANT: pyarrow reads predictions from a Parquet or Arrow file; they must be WANT's."""
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import exchange

path, want = sys.argv[1], exchange.load(sys.argv[2])
table = pq.read_table(path) if path.endswith(".parquet") else pa.ipc.open_file(path).read_all()
assert sorted(table.column_names) == sorted(want), table.column_names
for name, value in want.items():
    got = np.array(table[name].to_pylist(), value.dtype).reshape(value.shape)
    assert got.tobytes() == value.tobytes(), name
print(table.num_rows, "predictions equal:", ", ".join("%s %s" % (f.name, f.type) for f in table.schema))
