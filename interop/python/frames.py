"""frames.py OUT: pandas, polars and DuckDB write a column x of each type; cases.json says which files hold what, want has the values.

A case with "refused" has a type without tensor form. A case of CSV has texts, of JSON lines the type to read.
"""
import datetime
import decimal
import json
import os
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl

import exchange

out, rows = sys.argv[1], 30
cases, want = [], {}
random = np.random.RandomState(7)
reals = random.randn(rows)
words = ["", "ab", "gr\u00fc\u00df", "a,\"b\"\nc", "x" * 100]
texts = [words[i % len(words)] for i in range(rows)]
day = datetime.date(2026, 1, 2)


def case(name, files, value, refused="", default="", dtype="", offsets=None):
    cases.append({"name": name, "files": files, "refused": refused, "default": default, "dtype": dtype})
    want[name] = value if value is not None else np.zeros(0, np.float32)
    if offsets is not None:
        want[name + "/offsets"] = np.array(offsets, np.int32)


def at(name):
    return os.path.join(out, name)


# Values of each type, and what is read of them.
kinds = {
    "int8": np.array([0, -128, 127], np.int8), "int16": np.array([0, -32768, 32767], np.int16), "int32": np.array([0, -2**31, 2**31 - 1], np.int32),
    "int64": np.array([0, -2**63, 2**63 - 1], np.int64), "uint8": np.array([0, 1, 255], np.uint8), "uint16": np.array([0, 1, 65535], np.uint16),
    "uint32": np.array([0, 1, 2**32 - 1], np.uint32), "uint64": np.array([0, 1, 2**64 - 1], np.uint64),
    "float32": reals.astype(np.float32), "float64": np.append(reals, [np.inf, -np.inf, -0.0]), "bool": np.array([True, False, True]), "text": np.array(texts, object),
}
for kind, value in kinds.items():
    frame = pd.DataFrame({"row": np.arange(len(value)), "x": value})
    frame.to_parquet(at("pandas_%s.parquet" % kind), row_group_size=13)
    frame.to_feather(at("pandas_%s.arrow" % kind))
    case("pandas " + kind, ["pandas_%s.parquet" % kind, "pandas_%s.arrow" % kind], value)
    own = pl.DataFrame({"row": np.arange(len(value)), "x": pl.Series(texts) if kind == "text" else value})
    own.write_parquet(at("polars_%s.parquet" % kind), row_group_size=13)
    own.write_ipc(at("polars_%s.arrow" % kind), compat_level=pl.CompatLevel.oldest())
    own.write_ipc_stream(at("polars_%s_stream.arrow" % kind), compat_level=pl.CompatLevel.oldest())
    case("polars " + kind, ["polars_%s.parquet" % kind, "polars_%s.arrow" % kind, "polars_%s_stream.arrow" % kind], value)
    duckdb.sql("COPY (SELECT * FROM frame ORDER BY row) TO '%s' (FORMAT parquet)" % at("duckdb_%s.parquet" % kind))
    case("duckdb " + kind, ["duckdb_%s.parquet" % kind], value)

# The views of texts that polars writes by default are not read.
pl.DataFrame({"row": range(rows), "x": texts}).write_ipc(at("polars_views.arrow"))
case("views", ["polars_views.arrow"], None, refused="view")

# Text files: all that is read is text, or numbers of a type.
frame = pd.DataFrame({"row": np.arange(rows), "x": texts})
frame.to_csv(at("pandas.csv"), index=False)
pl.DataFrame(frame.to_dict("list")).write_csv(at("polars.csv"))
duckdb.sql("COPY frame TO '%s' (HEADER)" % at("duckdb.csv"))
frame.to_csv(at("pandas_packed.csv"), index=False, compression="gzip")
case("csv", ["pandas.csv", "polars.csv", "duckdb.csv", "pandas_packed.csv"], np.array([t.strip() for t in texts], object))
numbers = pd.DataFrame({"row": np.arange(rows), "x": reals})
numbers.to_json(at("pandas.jsonl"), orient="records", lines=True, double_precision=15)
pl.DataFrame(numbers.to_dict("list")).write_ndjson(at("polars.jsonl"))
duckdb.sql("COPY numbers TO '%s' (FORMAT json)" % at("duckdb.jsonl"))
case("jsonl polars", ["polars.jsonl", "duckdb.jsonl"], reals, dtype="float64")
read = np.array([json.loads(line)["x"] for line in open(at("pandas.jsonl"))])
case("jsonl pandas", ["pandas.jsonl"], read, dtype="float64")

# Nulls, dictionaries, lists, times, decimals.
holes = pd.DataFrame({"row": np.arange(4), "x": pd.array([1, None, 3, None], dtype="Int64")})
holes.to_parquet(at("pandas_nulls.parquet"))
pl.DataFrame({"row": range(4), "x": [1, None, 3, None]}).write_parquet(at("polars_nulls.parquet"))
duckdb.sql("COPY holes TO '%s' (FORMAT parquet)" % at("duckdb_nulls.parquet"))
case("nulls", ["pandas_nulls.parquet", "polars_nulls.parquet", "duckdb_nulls.parquet"], np.array([1, -9, 3, -9], np.int64), default="-9")
classes = pd.DataFrame({"row": np.arange(rows), "x": pd.Categorical(texts)})
classes.to_parquet(at("pandas_category.parquet"))
classes.to_feather(at("pandas_category.arrow"))
pl.DataFrame({"row": range(rows), "x": pl.Series(texts, dtype=pl.Categorical)}).write_parquet(at("polars_category.parquet"))
case("category", ["pandas_category.parquet", "pandas_category.arrow", "polars_category.parquet"], np.array(texts, object))
lists = [[1, 2], [], [3]]
pd.DataFrame({"row": range(3), "x": lists}).to_parquet(at("pandas_list.parquet"))
pl.DataFrame({"row": range(3), "x": lists}).write_parquet(at("polars_list.parquet"))
nested = pd.DataFrame({"row": range(3), "x": lists})
duckdb.sql("COPY (SELECT row, x::BIGINT[] AS x FROM nested ORDER BY row) TO '%s' (FORMAT parquet)" % at("duckdb_list.parquet"))
case("list", ["pandas_list.parquet", "polars_list.parquet", "duckdb_list.parquet"], np.array([1, 2, 3], np.int64), offsets=[0, 2, 2, 3])
for kind, value in {"timestamp": datetime.datetime(2026, 1, 2, 3, 4, 5), "date32": day, "decimal": decimal.Decimal("1.25"), "struct": {"a": 1}}.items():
    pl.DataFrame({"row": [0], "x": [value]}).write_parquet(at("polars_%s.parquet" % kind))
    one = pd.DataFrame({"row": [0], "x": [value]})
    one.to_parquet(at("pandas_%s.parquet" % kind))
    case(kind, ["polars_%s.parquet" % kind, "pandas_%s.parquet" % kind], None, refused=kind)

exchange.save(at("want"), want)
with open(at("cases.json"), "w") as f:
    json.dump(cases, f)
