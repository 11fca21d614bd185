// Matrix products out [m, n] = op(a) * op(b) (+ bias over columns, clipped below zero), row-major, batched by strides.
//
// A block of 256 threads makes a tile of BM x BN in registers, TM x TN for each thread, from slices of BK along k that it
// keeps twice in shared memory: one is multiplied while the next one is on its way. With parts > 1 the blocks of a part do
// a piece of k, and gemm_finish adds the pieces up in order.

enum { GEMM_TA = 1, GEMM_TB = 2, GEMM_RELU = 4, GEMM_BF16_OUT = 8, GEMM_QUADS_A = 16, GEMM_QUADS_B = 32, GEMM_QUADS_OUT = 64 };

// Four neighbours, moved by one instruction where they lie right.
template <class T> struct alignas(sizeof(T) > 4 ? 16 : 4 * sizeof(T)) Quad { T v[4]; };

__device__ inline void widen(float &to, float v) { to = v; }
__device__ inline void widen(float &to, u16 v) { to = bf16_to_f32(v); }
__device__ inline void widen(double &to, double v) { to = v; }
__device__ inline void round_to(float &to, float v) { to = v; }
__device__ inline void round_to(u16 &to, float v) { to = f32_to_bf16(v); }
__device__ inline void round_to(double &to, double v) { to = v; }

// An operand as rows of k elements (b: columns). Its neighbours in memory are along k, or along rows.
template <class T> struct Side {
  const T *p;
  i64 rows, ld;
  bool along_k, quads;
};

// A slice of ROWS x BK on its way through the registers of the block's threads.
template <class T, class Acc, int ROWS, int BK> struct Slice {
  static const int each = ROWS * BK / 4 / 256, pitch = ROWS + 4;
  struct alignas(16) Two { Acc at[2][BK][pitch]; };
  Acc v[each][4];

  // Where quad q of this thread lies in the slice.
  __device__ static void place(bool along_k, int q, int &row, int &k) {
    int id = threadIdx.x + q * 256;
    if (along_k) {
      row = id / (BK / 4);
      k = id % (BK / 4) * 4;
    } else {
      row = id % (ROWS / 4) * 4;
      k = id / (ROWS / 4);
    }
  }

  __device__ void fetch(const Side<T> &s, i64 row0, i64 k0, i64 end) {
#pragma unroll
    for (int q = 0; q < each; q++) {
      int r, c;
      place(s.along_k, q, r, c);
      i64 row = row0 + r, k = k0 + c;
      const T *p = s.p + (s.along_k ? row * s.ld + k : k * s.ld + row);
      i64 left = s.along_k ? (row < s.rows ? end - k : 0) : (k < end ? s.rows - row : 0);
      if (s.quads && left >= 4) {
        Quad<T> all = *(const Quad<T> *)p;
#pragma unroll
        for (int i = 0; i < 4; i++) widen(v[q][i], all.v[i]);
      } else {
#pragma unroll
        for (int i = 0; i < 4; i++) {
          v[q][i] = 0;
          if (i < left) widen(v[q][i], p[i]);
        }
      }
    }
  }

  __device__ void store(Acc (*to)[pitch], bool along_k) const {
#pragma unroll
    for (int q = 0; q < each; q++) {
      int r, c;
      place(along_k, q, r, c);
      if (along_k) {
#pragma unroll
        for (int i = 0; i < 4; i++) to[c + i][r] = v[q][i];
      } else {
        Quad<Acc> all;
#pragma unroll
        for (int i = 0; i < 4; i++) all.v[i] = v[q][i];
        *(Quad<Acc> *)&to[c][r] = all;
      }
    }
  }
};

template <class Out, class Acc> __device__ inline Acc finish_one(Acc v, const Out *bias, i64 col, int flags) {
  if (bias) {
    Acc b;
    widen(b, bias[col]);
    v += b;
  }
  if ((flags & GEMM_RELU) && v < 0) v = 0; // NaN stays
  return v;
}

// Writes four columns of a row.
template <class Out, class Acc> __device__ inline void put4(Out *row, const Acc *v, const Out *bias, i64 col, i64 n, int flags) {
  if ((flags & GEMM_QUADS_OUT) && col + 4 <= n) {
    Quad<Out> all;
#pragma unroll
    for (int j = 0; j < 4; j++) round_to(all.v[j], finish_one(v[j], bias, col + j, flags));
    *(Quad<Out> *)(row + col) = all;
    return;
  }
#pragma unroll
  for (int j = 0; j < 4; j++)
    if (col + j < n) round_to(row[col + j], finish_one(v[j], bias, col + j, flags));
}

// Blocks are numbered down the rows of eight tiles, so that neighbours in time share operands in the cache.
__device__ inline void tile_of_block(i64 tiles_m, i64 tiles_n, i64 &tm, i64 &tn) {
  i64 band = 8 * tiles_n, first = blockIdx.x / band * 8, high = tiles_m - first < 8 ? tiles_m - first : 8, in = blockIdx.x % band;
  tm = first + in % high;
  tn = in / high;
}

struct Shape { i64 m, n, k, lda, ldb, ldc, sa, sb, sc, batch; };

template <class T, class Acc, class Half, int BM, int BN, int BK>
__device__ inline void gemm(void *out, const T *a, const T *b, const void *bias, const Shape &s, int parts, int flags) {
  const int HM = BM / 64, HN = BN / 64; // a thread's rows and columns: groups of four, 64 apart
  typedef Slice<T, Acc, BM, BK> SliceA;
  typedef Slice<T, Acc, BN, BK> SliceB;
  __shared__ typename SliceA::Two as;
  __shared__ typename SliceB::Two bs;
  i64 tm, tn;
  tile_of_block((s.m + BM - 1) / BM, (s.n + BN - 1) / BN, tm, tn);
  i64 row0 = tm * BM, col0 = tn * BN, piece = (s.k + parts - 1) / parts;
  piece = (piece + BK - 1) / BK * BK;
  int tx = threadIdx.x % 16 * 4, ty = threadIdx.x / 16 * 4;
  for (i64 z = blockIdx.z; z < s.batch * parts; z += gridDim.z) {
    i64 in = z % s.batch, begin = z / s.batch * piece, end = begin + piece < s.k ? begin + piece : s.k;
    Side<T> sideA = {a + in * s.sa, s.m, s.lda, !(flags & GEMM_TA), (flags & GEMM_QUADS_A) != 0};
    Side<T> sideB = {b + in * s.sb, s.n, s.ldb, (flags & GEMM_TB) != 0, (flags & GEMM_QUADS_B) != 0};
    Acc acc[4 * HM][4 * HN] = {};
    SliceA sliceA;
    SliceB sliceB;
    int now = 0;
    if (begin < end) {
      sliceA.fetch(sideA, row0, begin, end);
      sliceB.fetch(sideB, col0, begin, end);
      sliceA.store(as.at[0], sideA.along_k);
      sliceB.store(bs.at[0], sideB.along_k);
    }
    __syncthreads();
    for (i64 k0 = begin; k0 < end; k0 += BK) {
      bool more = k0 + BK < end;
      if (more) {
        sliceA.fetch(sideA, row0, k0 + BK, end);
        sliceB.fetch(sideB, col0, k0 + BK, end);
      }
#pragma unroll
      for (int k = 0; k < BK; k++) {
        Quad<Acc> x[HM], y[HN];
#pragma unroll
        for (int h = 0; h < HM; h++) x[h] = *(const Quad<Acc> *)&as.at[now][k][64 * h + ty];
#pragma unroll
        for (int h = 0; h < HN; h++) y[h] = *(const Quad<Acc> *)&bs.at[now][k][64 * h + tx];
#pragma unroll
        for (int i = 0; i < 4 * HM; i++)
#pragma unroll
          for (int j = 0; j < 4 * HN; j++) acc[i][j] += x[i / 4].v[i % 4] * y[j / 4].v[j % 4];
      }
      if (more) {
        sliceA.store(as.at[now ^ 1], sideA.along_k);
        sliceB.store(bs.at[now ^ 1], sideB.along_k);
      }
      now ^= 1;
      __syncthreads();
    }
    i64 at = parts > 1 ? z * s.m * s.n : in * s.sc, ld = parts > 1 ? s.n : s.ldc;
#pragma unroll
    for (int i = 0; i < 4 * HM; i++) {
      i64 row = row0 + 64 * (i / 4) + ty + i % 4;
      if (row >= s.m) continue;
#pragma unroll
      for (int h = 0; h < HN; h++) {
        i64 col = col0 + 64 * h + tx;
        if (parts > 1) put4((Acc *)out + at + row * ld, &acc[i][4 * h], (const Acc *)0, col, s.n, flags & GEMM_QUADS_OUT);
        else if (flags & GEMM_BF16_OUT) put4((Half *)out + at + row * ld, &acc[i][4 * h], (const Half *)bias, col, s.n, flags);
        else put4((Acc *)out + at + row * ld, &acc[i][4 * h], (const Acc *)bias, col, s.n, flags);
      }
    }
  }
}

#define GEMM(name, T, Acc, Half, BM, BN, BK)                                                                                    \
  KERNEL __launch_bounds__(256) name(void *out, const T *a, const T *b, const void *bias, i64 m, i64 n, i64 k, i64 lda, i64 ldb, \
                                     i64 ldc, i64 sa, i64 sb, i64 sc, i64 batch, int parts, int flags) {                        \
    Shape s = {m, n, k, lda, ldb, ldc, sa, sb, sc, batch};                                                                      \
    gemm<T, Acc, Half, BM, BN, BK>(out, a, b, bias, s, parts, flags);                                                           \
  }
GEMM(gemm_f32_128, float, float, u16, 128, 128, 16)
GEMM(gemm_f32_64, float, float, u16, 64, 64, 16)
GEMM(gemm_bf16_128, u16, float, u16, 128, 128, 16)
GEMM(gemm_bf16_64, u16, float, u16, 64, 64, 16)
GEMM(gemm_f64_64, double, double, double, 64, 64, 16)

template <class Out, class Acc>
__device__ inline void finish_parts(Out *out, const Acc *part, const Out *bias, i64 m, i64 n, i64 ldc, i64 sc, i64 batch, int parts, int flags) {
  i64 all = batch * m * n;
  EACH(i, all) {
    Acc v = part[i];
    for (int p = 1; p < parts; p++) v += part[p * all + i];
    i64 col = i % n, row = i / n % m;
    round_to(out[i / n / m * sc + row * ldc + col], finish_one(v, bias, col, flags));
  }
}

#define GEMM_FINISH(name, Acc, Half)                                                                                             \
  KERNEL name(void *out, const Acc *part, const void *bias, i64 m, i64 n, i64 ldc, i64 sc, i64 batch, int parts, int flags) {     \
    if (flags & GEMM_BF16_OUT) finish_parts((Half *)out, part, (const Half *)bias, m, n, ldc, sc, batch, parts, flags);           \
    else finish_parts((Acc *)out, part, (const Acc *)bias, m, n, ldc, sc, batch, parts, flags);                                   \
  }
GEMM_FINISH(gemm_finish_f32, float, u16)
GEMM_FINISH(gemm_finish_f64, double, double)
