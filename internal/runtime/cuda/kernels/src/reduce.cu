// Reductions without atomics: the order of the additions depends on the sizes alone. Elements are float or bfloat16 (u16),
// sums are float.

enum { SUM, MEAN, MAX, MIN, PROD, SUM_SQUARES };

__device__ inline float load(float v) { return v; }
__device__ inline float load(u16 v) { return bf16_to_f32(v); }
__device__ inline void save(float *p, float v) { *p = v; }
__device__ inline void save(u16 *p, float v) { *p = f32_to_bf16(v); }

template <class Op, bool square> __device__ float take(float acc, float v) { return Op::of(acc, square ? v * v : v); }

// Reduces rows of x [rows, n]: part blockIdx.y of gridDim.y goes to dst[part, rows].
template <class D, class X, class G, class Op, bool square> __device__ void rows_of(D *dst, const X *x, i64 rows, i64 n, float scale) {
  i64 each = (n + gridDim.y - 1) / gridDim.y, lo = each * blockIdx.y, hi = lo + each < n ? lo + each : n;
  for (i64 r = G::first(); r < rows; r += G::step()) {
    float acc = Op::id();
    for (i64 i = lo + G::lane(); i < hi; i += G::size) acc = take<Op, square>(acc, load(x[r * n + i]));
    acc = G::template all<Op>(acc);
    if (G::lane() == 0) save(dst + blockIdx.y * rows + r, acc * scale);
  }
}

template <class D, class X, class G> __device__ void rows_by(D *dst, const X *x, i64 rows, i64 n, int op, float scale) {
  switch (op) {
  case MAX: return rows_of<D, X, G, Max, false>(dst, x, rows, n, scale);
  case MIN: return rows_of<D, X, G, Min, false>(dst, x, rows, n, scale);
  case PROD: return rows_of<D, X, G, Prod, false>(dst, x, rows, n, scale);
  case SUM_SQUARES: return rows_of<D, X, G, Sum, true>(dst, x, rows, n, scale);
  default: return rows_of<D, X, G, Sum, false>(dst, x, rows, n, scale);
  }
}

// Reduces the middle of x [outer, n, inner] by blocks of 32 x 8: part blockIdx.y of gridDim.y goes to dst[part, outer, inner].
template <class D, class X, class Op, bool square> __device__ void columns_of(D *dst, const X *x, i64 outer, i64 n, i64 inner, float scale) {
  __shared__ float part[8][33];
  i64 each = (n + gridDim.y - 1) / gridDim.y, lo = each * blockIdx.y, hi = lo + each < n ? lo + each : n;
  i64 c = blockIdx.x * 32ll + threadIdx.x;
  for (i64 o = blockIdx.z; o < outer; o += gridDim.z) {
    float acc = Op::id();
    if (c < inner)
      for (i64 i = lo + threadIdx.y; i < hi; i += 8) acc = take<Op, square>(acc, load(x[(o * n + i) * inner + c]));
    part[threadIdx.y][threadIdx.x] = acc;
    __syncthreads();
    if (threadIdx.y == 0 && c < inner) {
      for (int i = 1; i < 8; i++) acc = Op::of(acc, part[i][threadIdx.x]);
      save(dst + (blockIdx.y * outer + o) * inner + c, acc * scale);
    }
    __syncthreads();
  }
}

template <class D, class X> __device__ void columns_by(D *dst, const X *x, i64 outer, i64 n, i64 inner, int op, float scale) {
  switch (op) {
  case MAX: return columns_of<D, X, Max, false>(dst, x, outer, n, inner, scale);
  case MIN: return columns_of<D, X, Min, false>(dst, x, outer, n, inner, scale);
  case PROD: return columns_of<D, X, Prod, false>(dst, x, outer, n, inner, scale);
  case SUM_SQUARES: return columns_of<D, X, Sum, true>(dst, x, outer, n, inner, scale);
  default: return columns_of<D, X, Sum, false>(dst, x, outer, n, inner, scale);
  }
}

// By the types of the result and of the elements.
#define REDUCE(suffix, D, X) \
  KERNEL reduce_rows_warp##suffix(D *dst, const X *x, i64 rows, i64 n, int op, float scale) { rows_by<D, X, Warp>(dst, x, rows, n, op, scale); } \
  KERNEL reduce_rows_block##suffix(D *dst, const X *x, i64 rows, i64 n, int op, float scale) { rows_by<D, X, Block>(dst, x, rows, n, op, scale); } \
  KERNEL reduce_columns##suffix(D *dst, const X *x, i64 outer, i64 n, i64 inner, int op, float scale) { columns_by<D, X>(dst, x, outer, n, inner, op, scale); }
REDUCE(, float, float)
REDUCE(_f32_bf16, float, u16)
REDUCE(_bf16_f32, u16, float)
REDUCE(_bf16_bf16, u16, u16)
