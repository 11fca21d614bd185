// Reductions without atomics: the order of the additions depends on the sizes alone.

enum { SUM, MEAN, MAX, MIN, PROD, SUM_SQUARES };

template <class Op, bool square> __device__ float take(float acc, float v) { return Op::of(acc, square ? v * v : v); }

// Reduces rows of x [rows, n]: part blockIdx.y of gridDim.y goes to dst[part, rows].
template <class G, class Op, bool square> __device__ void rows_of(float *dst, const float *x, i64 rows, i64 n, float scale) {
  i64 each = (n + gridDim.y - 1) / gridDim.y, lo = each * blockIdx.y, hi = lo + each < n ? lo + each : n;
  for (i64 r = G::first(); r < rows; r += G::step()) {
    float acc = Op::id();
    for (i64 i = lo + G::lane(); i < hi; i += G::size) acc = take<Op, square>(acc, x[r * n + i]);
    acc = G::template all<Op>(acc);
    if (G::lane() == 0) dst[blockIdx.y * rows + r] = acc * scale;
  }
}

template <class G> __device__ void rows_by(float *dst, const float *x, i64 rows, i64 n, int op, float scale) {
  switch (op) {
  case MAX: return rows_of<G, Max, false>(dst, x, rows, n, scale);
  case MIN: return rows_of<G, Min, false>(dst, x, rows, n, scale);
  case PROD: return rows_of<G, Prod, false>(dst, x, rows, n, scale);
  case SUM_SQUARES: return rows_of<G, Sum, true>(dst, x, rows, n, scale);
  default: return rows_of<G, Sum, false>(dst, x, rows, n, scale);
  }
}

KERNEL reduce_rows_warp(float *dst, const float *x, i64 rows, i64 n, int op, float scale) { rows_by<Warp>(dst, x, rows, n, op, scale); }
KERNEL reduce_rows_block(float *dst, const float *x, i64 rows, i64 n, int op, float scale) { rows_by<Block>(dst, x, rows, n, op, scale); }

// Reduces the middle of x [outer, n, inner] by blocks of 32 x 8: part blockIdx.y of gridDim.y goes to dst[part, outer, inner].
template <class Op, bool square> __device__ void columns_of(float *dst, const float *x, i64 outer, i64 n, i64 inner, float scale) {
  __shared__ float part[8][33];
  i64 each = (n + gridDim.y - 1) / gridDim.y, lo = each * blockIdx.y, hi = lo + each < n ? lo + each : n;
  i64 c = blockIdx.x * 32ll + threadIdx.x;
  for (i64 o = blockIdx.z; o < outer; o += gridDim.z) {
    float acc = Op::id();
    if (c < inner)
      for (i64 i = lo + threadIdx.y; i < hi; i += 8) acc = take<Op, square>(acc, x[(o * n + i) * inner + c]);
    part[threadIdx.y][threadIdx.x] = acc;
    __syncthreads();
    if (threadIdx.y == 0 && c < inner) {
      for (int i = 1; i < 8; i++) acc = Op::of(acc, part[i][threadIdx.x]);
      dst[(blockIdx.y * outer + o) * inner + c] = acc * scale;
    }
    __syncthreads();
  }
}

KERNEL reduce_columns(float *dst, const float *x, i64 outer, i64 n, i64 inner, int op, float scale) {
  switch (op) {
  case MAX: return columns_of<Max, false>(dst, x, outer, n, inner, scale);
  case MIN: return columns_of<Min, false>(dst, x, outer, n, inner, scale);
  case PROD: return columns_of<Prod, false>(dst, x, outer, n, inner, scale);
  case SUM_SQUARES: return columns_of<Sum, true>(dst, x, outer, n, inner, scale);
  default: return columns_of<Sum, false>(dst, x, outer, n, inner, scale);
  }
}
