// Runs of equal keys of a sorted list: their sums, in parts, by sort.cu's run_parts.

enum { CHUNK = 64 };

// The sum of column c over the run that begins at place p.
template <class T> __device__ T run_total(const T *parts, const u32 *keys, i64 n, i64 cols, i64 p, i64 c) {
  T sum = parts[p * cols + c];
  for (i64 q = (p / CHUNK + 1) * CHUNK; q < n && keys[q] == keys[p]; q += CHUNK) sum += parts[q * cols + c];
  return sum;
}
