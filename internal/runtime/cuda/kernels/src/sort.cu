// Rows of equal numbers brought together: a stable sort of row numbers, 4 bits a pass, then sums over runs of equal ones.
// Every sum has one writer and an order that depends on the numbers alone.

enum { DIGITS = 16, ITEMS = 16, THREADS = 256, TILE = THREADS * ITEMS };

// Row numbers as keys: rows, behind all others, where there is none.
template <class I> __device__ void keys_of(u32 *keys, int *order, const I *ids, i64 *fault, i64 op, i64 n, i64 rows) {
  EACH(i, n) {
    i64 id = ids[i];
    if (id >= rows) {
      fault_at(fault, op, id, i, rows);
      id = -1;
    }
    keys[i] = id < 0 ? (u32)rows : (u32)id;
    order[i] = (int)i;
  }
}

KERNEL sort_keys_i32(u32 *keys, int *order, const int *ids, i64 *fault, i64 op, i64 n, i64 rows) { keys_of(keys, order, ids, fault, op, n, rows); }
KERNEL sort_keys_i64(u32 *keys, int *order, const i64 *ids, i64 *fault, i64 op, i64 n, i64 rows) { keys_of(keys, order, ids, fault, op, n, rows); }

__device__ inline u32 digit(u32 key, int shift) { return (key >> shift) & (DIGITS - 1); }

// Counts the digits of each tile: counts[digit, tile].
KERNEL sort_count(int *counts, const u32 *keys, i64 n, int shift) {
  __shared__ int seen[DIGITS * THREADS];
  int t = threadIdx.x;
  for (int d = 0; d < DIGITS; d++) seen[d * THREADS + t] = 0;
  i64 base = blockIdx.x * (i64)TILE;
  for (int j = 0; j < ITEMS; j++) {
    i64 i = base + j * THREADS + t;
    if (i < n) seen[digit(keys[i], shift) * THREADS + t]++;
  }
  __syncthreads();
  int sum = 0;
  for (int k = 0; k < THREADS / DIGITS; k++) sum += seen[t * (THREADS / DIGITS) + k];
  for (int o = 8; o > 0; o >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, o);
  if ((t & 15) == 0) counts[(i64)(t / 16) * gridDim.x + blockIdx.x] = sum;
}

// Puts the sum of all before it in place of each of TILE numbers, and returns the sum of all.
__device__ inline int scan(int *v) {
  __shared__ int sums[THREADS];
  int t = threadIdx.x, mine = 0;
  __syncthreads();
  for (int k = 0; k < ITEMS; k++) mine += v[t * ITEMS + k];
  sums[t] = mine;
  __syncthreads();
  for (int o = 1; o < THREADS; o <<= 1) {
    int before = t >= o ? sums[t - o] : 0;
    __syncthreads();
    sums[t] += before;
    __syncthreads();
  }
  int at = sums[t] - mine, all = sums[THREADS - 1];
  for (int k = 0; k < ITEMS; k++) {
    int n = v[t * ITEMS + k];
    v[t * ITEMS + k] = at;
    at += n;
  }
  __syncthreads();
  return all;
}

// One block.
KERNEL sort_scan(int *counts, i64 m) {
  __shared__ int part[TILE];
  int carry = 0;
  for (i64 base = 0; base < m; base += TILE) {
    for (int k = threadIdx.x; k < TILE; k += THREADS) part[k] = base + k < m ? counts[base + k] : 0;
    int all = scan(part);
    for (int k = threadIdx.x; k < TILE; k += THREADS)
      if (base + k < m) counts[base + k] = part[k] + carry;
    carry += all;
    __syncthreads();
  }
}

// Puts the keys of each tile where the scanned counts say; each thread has neighbouring ones, so that equal digits stay in order.
KERNEL sort_scatter(u32 *keys_to, int *order_to, const u32 *keys, const int *order, const int *counts, i64 n, int shift) {
  __shared__ int at[DIGITS * THREADS], first[DIGITS];
  int t = threadIdx.x;
  for (int d = 0; d < DIGITS; d++) at[d * THREADS + t] = 0;
  i64 base = blockIdx.x * (i64)TILE + t * ITEMS;
  for (int j = 0; j < ITEMS && base + j < n; j++) at[digit(keys[base + j], shift) * THREADS + t]++;
  scan(at);
  if (t < DIGITS) first[t] = counts[(i64)t * gridDim.x + blockIdx.x] - at[t * THREADS];
  __syncthreads();
  for (int j = 0; j < ITEMS && base + j < n; j++) {
    u32 key = keys[base + j], d = digit(key, shift);
    i64 to = (i64)first[d] + at[d * THREADS + t]++;
    keys_to[to] = key;
    order_to[to] = order[base + j];
  }
}

// parts[p] is the sum of the data's rows of a run of equal keys from place p, where the run or a chunk of places begins, to the
// end of the run or chunk.
template <class T> __device__ void parts_of(T *parts, const T *data, const u32 *keys, const int *order, i64 n, i64 rows, i64 cols) {
  EACH(i, n * cols) {
    i64 p = i / cols, c = i % cols;
    u32 key = keys[p];
    if (key >= rows || (p % CHUNK && keys[p - 1] == key)) continue;
    T sum = data[order[p] * cols + c];
    for (i64 q = p + 1; q % CHUNK && q < n && keys[q] == key; q++) sum += data[order[q] * cols + c];
    parts[i] = sum;
  }
}

KERNEL run_parts_f32(float *parts, const float *data, const u32 *keys, const int *order, i64 n, i64 rows, i64 cols) { parts_of(parts, data, keys, order, n, rows, cols); }
KERNEL run_parts_f64(double *parts, const double *data, const u32 *keys, const int *order, i64 n, i64 rows, i64 cols) { parts_of(parts, data, keys, order, n, rows, cols); }
KERNEL run_parts_i32(int *parts, const int *data, const u32 *keys, const int *order, i64 n, i64 rows, i64 cols) { parts_of(parts, data, keys, order, n, rows, cols); }
KERNEL run_parts_i64(i64 *parts, const i64 *data, const u32 *keys, const int *order, i64 n, i64 rows, i64 cols) { parts_of(parts, data, keys, order, n, rows, cols); }

enum { SET, ADD, SUBTRACT };

template <class T> __device__ void runs_into(T *out, const T *parts, const u32 *keys, const i64 *fault, i64 n, i64 rows, i64 cols, int how) {
  if (*fault) return;
  EACH(i, n * cols) {
    i64 p = i / cols, c = i % cols;
    u32 key = keys[p];
    if (key >= rows || (p && keys[p - 1] == key)) continue;
    T sum = run_total(parts, keys, n, cols, p, c), *to = out + (i64)key * cols + c;
    *to = how == SET ? sum : how == ADD ? *to + sum : *to - sum;
  }
}

KERNEL run_into_f32(float *out, const float *parts, const u32 *keys, const i64 *fault, i64 n, i64 rows, i64 cols, int how) { runs_into(out, parts, keys, fault, n, rows, cols, how); }
KERNEL run_into_f64(double *out, const double *parts, const u32 *keys, const i64 *fault, i64 n, i64 rows, i64 cols, int how) { runs_into(out, parts, keys, fault, n, rows, cols, how); }
KERNEL run_into_i32(int *out, const int *parts, const u32 *keys, const i64 *fault, i64 n, i64 rows, i64 cols, int how) { runs_into(out, parts, keys, fault, n, rows, cols, how); }
KERNEL run_into_i64(i64 *out, const i64 *parts, const u32 *keys, const i64 *fault, i64 n, i64 rows, i64 cols, int how) { runs_into(out, parts, keys, fault, n, rows, cols, how); }

// out and ids get the sum of each run and its key in the place of its first row; zeros and -1 are in those of other rows.
template <class T, class I> __device__ void runs_apart(T *out, I *ids, const T *parts, const u32 *keys, const int *order, i64 n, i64 rows, i64 cols) {
  EACH(i, n * cols) {
    i64 p = i / cols, c = i % cols;
    u32 key = keys[p];
    bool begins = key < rows && !(p && keys[p - 1] == key);
    out[order[p] * cols + c] = begins ? run_total(parts, keys, n, cols, p, c) : (T)0;
    if (c == 0) ids[order[p]] = begins ? (I)key : (I)-1;
  }
}

KERNEL run_apart_f32_i32(float *out, int *ids, const float *parts, const u32 *keys, const int *order, i64 n, i64 rows, i64 cols) { runs_apart(out, ids, parts, keys, order, n, rows, cols); }
KERNEL run_apart_f32_i64(float *out, i64 *ids, const float *parts, const u32 *keys, const int *order, i64 n, i64 rows, i64 cols) { runs_apart(out, ids, parts, keys, order, n, rows, cols); }
KERNEL run_apart_f64_i32(double *out, int *ids, const double *parts, const u32 *keys, const int *order, i64 n, i64 rows, i64 cols) { runs_apart(out, ids, parts, keys, order, n, rows, cols); }
KERNEL run_apart_f64_i64(double *out, i64 *ids, const double *parts, const u32 *keys, const int *order, i64 n, i64 rows, i64 cols) { runs_apart(out, ids, parts, keys, order, n, rows, cols); }
