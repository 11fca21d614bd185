// Rows of tables: embedding lookups and their updates. A negative id is skipped in updates and gives zeros in lookups; an id
// that is no row is a fault.

template <class I> __device__ void gather(float *dst, const float *table, const I *ids, i64 *fault, i64 count, i64 rows, i64 cols) {
  EACH(i, count * cols) {
    i64 k = i / cols, id = ids[k];
    if (id >= rows) fault_at(fault, k);
    dst[i] = id >= 0 && id < rows ? table[id * cols + i % cols] : 0.f;
  }
}

KERNEL gather_rows_i32(float *dst, const float *table, const int *ids, i64 *fault, i64 count, i64 rows, i64 cols) { gather(dst, table, ids, fault, count, rows, cols); }
KERNEL gather_rows_i64(float *dst, const float *table, const i64 *ids, i64 *fault, i64 count, i64 rows, i64 cols) { gather(dst, table, ids, fault, count, rows, cols); }

// Adds alpha times row i of src to row ids[i] of the table. order sorts the ids, equal ones in their order; starts says where
// in it each distinct id begins, starts[segments] being count. So every row has one writer, and the order never changes.
template <class I> __device__ void scatter(float *table, const float *src, const I *ids, const int *order, const int *starts, i64 *fault, i64 segments, i64 rows, i64 cols, float alpha) {
  EACH(i, segments * cols) {
    i64 s = i / cols, c = i % cols, id = ids[order[starts[s]]];
    if (id >= rows) fault_at(fault, order[starts[s]]);
    if (id < 0 || id >= rows) continue;
    float v = table[id * cols + c];
    for (int k = starts[s]; k < starts[s + 1]; k++) v += alpha * src[order[k] * cols + c];
    table[id * cols + c] = v;
  }
}

KERNEL scatter_rows_i32(float *table, const float *src, const int *ids, const int *order, const int *starts, i64 *fault, i64 segments, i64 rows, i64 cols, float alpha) { scatter(table, src, ids, order, starts, fault, segments, rows, cols, alpha); }
KERNEL scatter_rows_i64(float *table, const float *src, const i64 *ids, const int *order, const int *starts, i64 *fault, i64 segments, i64 rows, i64 cols, float alpha) { scatter(table, src, ids, order, starts, fault, segments, rows, cols, alpha); }
