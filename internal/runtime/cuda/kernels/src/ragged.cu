// Values of examples of different lengths: example e owns values offsets[e] to offsets[e+1]-1.

// How many of sorted[0..n) are not greater than v.
template <class T> __device__ i64 upper_bound(const T *sorted, i64 n, T v) {
  i64 lo = 0, hi = n;
  while (lo < hi) {
    i64 mid = (lo + hi) / 2;
    if (sorted[mid] > v) hi = mid;
    else lo = mid + 1;
  }
  return lo;
}

template <class T, class O> __device__ void bounds(O *out, const T *sorted, const T *values, i64 rows, i64 m, i64 k) {
  EACH(i, rows * k) out[i] = (O)upper_bound(sorted + i / k * m, m, values[i]);
}

#define BOUNDS(name, T) \
  KERNEL upper_bound_##name##_i32(int *out, const T *sorted, const T *values, i64 rows, i64 m, i64 k) { bounds(out, sorted, values, rows, m, k); } \
  KERNEL upper_bound_##name##_i64(i64 *out, const T *sorted, const T *values, i64 rows, i64 m, i64 k) { bounds(out, sorted, values, rows, m, k); }
BOUNDS(i32, int)
BOUNDS(i64, i64)
BOUNDS(f32, float)
BOUNDS(f64, double)

// A fault where offsets do not start at 0, fall, or go beyond n values: it tells the offset, its place, and -1-n as size.
KERNEL check_offsets(const i64 *offsets, i64 *fault, i64 op, i64 examples, i64 n) {
  EACH(e, examples + 1) {
    i64 o = offsets[e];
    if (o > n || (e == 0 ? o != 0 : o < offsets[e - 1])) fault_at(fault, op, o, e, -1 - n);
  }
}

// The example of value i, -1 behind the last one.
__device__ inline i64 example_of(const i64 *offsets, i64 examples, i64 i) {
  i64 e = upper_bound(offsets, examples + 1, i) - 1;
  return e < examples ? e : -1;
}

template <class I> __device__ void row_numbers(int *out, const I *ids, const i64 *offsets, i64 examples, i64 n) {
  EACH(i, n) out[i] = ids[i] < 0 ? -1 : (int)example_of(offsets, examples, i);
}

KERNEL row_numbers_i32(int *out, const int *ids, const i64 *offsets, i64 examples, i64 n) { row_numbers(out, ids, offsets, examples, n); }
KERNEL row_numbers_i64(int *out, const i64 *ids, const i64 *offsets, i64 examples, i64 n) { row_numbers(out, ids, offsets, examples, n); }

// out[e] is the sum of the rows of the values of example e, times their weights where there are any; those of negative ids are
// left out. Rows are those of the values, or, of a table, those that the ids name.
template <class I> __device__ void combine(float *out, const float *rows, const I *ids, const i64 *offsets, const float *weights, i64 *fault, i64 op, i64 examples, i64 n, i64 table, i64 cols) {
  EACH(i, examples * cols) {
    i64 e = i / cols, c = i - e * cols;
    float sum = 0.f;
    if (offsets[e] >= 0 && offsets[e + 1] <= n)
      for (i64 k = offsets[e]; k < offsets[e + 1]; k++) {
        i64 id = ids[k], at = table ? id : k;
        if (id < 0) continue;
        if (table && id >= table) {
          fault_at(fault, op, id, k, table);
          continue;
        }
        float v = rows[at * cols + c];
        sum += weights ? weights[k] * v : v;
      }
    out[i] = sum;
  }
}

KERNEL combine_i32(float *out, const float *rows, const int *ids, const i64 *offsets, const float *weights, i64 *fault, i64 op, i64 examples, i64 n, i64 table, i64 cols) { combine(out, rows, ids, offsets, weights, fault, op, examples, n, table, cols); }
KERNEL combine_i64(float *out, const float *rows, const i64 *ids, const i64 *offsets, const float *weights, i64 *fault, i64 op, i64 examples, i64 n, i64 table, i64 cols) { combine(out, rows, ids, offsets, weights, fault, op, examples, n, table, cols); }

// out[i] is the row of value i's example, zeros where its id is negative and behind the last example.
template <class I> __device__ void spread(float *out, const float *rows, const I *ids, const i64 *offsets, i64 examples, i64 n, i64 cols) {
  EACH(i, n * cols) {
    i64 k = i / cols, e = ids[k] < 0 ? -1 : example_of(offsets, examples, k);
    out[i] = e < 0 ? 0.f : rows[e * cols + (i - k * cols)];
  }
}

KERNEL spread_i32(float *out, const float *rows, const int *ids, const i64 *offsets, i64 examples, i64 n, i64 cols) { spread(out, rows, ids, offsets, examples, n, cols); }
KERNEL spread_i64(float *out, const float *rows, const i64 *ids, const i64 *offsets, i64 examples, i64 n, i64 cols) { spread(out, rows, ids, offsets, examples, n, cols); }

// out[e, m] has the first m values of each example, and the default behind them.
template <class T> __device__ void dense(T *out, const T *values, const T *none, const i64 *offsets, i64 examples, i64 n, i64 m) {
  EACH(i, examples * m) {
    i64 e = i / m, at = offsets[e] + (i - e * m);
    out[i] = at >= 0 && at < offsets[e + 1] && at < n ? values[at] : *none;
  }
}

KERNEL ragged_dense_1(u8 *out, const u8 *values, const u8 *none, const i64 *offsets, i64 examples, i64 n, i64 m) { dense(out, values, none, offsets, examples, n, m); }
KERNEL ragged_dense_2(u16 *out, const u16 *values, const u16 *none, const i64 *offsets, i64 examples, i64 n, i64 m) { dense(out, values, none, offsets, examples, n, m); }
KERNEL ragged_dense_4(u32 *out, const u32 *values, const u32 *none, const i64 *offsets, i64 examples, i64 n, i64 m) { dense(out, values, none, offsets, examples, n, m); }
KERNEL ragged_dense_8(u64 *out, const u64 *values, const u64 *none, const i64 *offsets, i64 examples, i64 n, i64 m) { dense(out, values, none, offsets, examples, n, m); }
