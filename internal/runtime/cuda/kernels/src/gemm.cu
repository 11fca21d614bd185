// Matrix products out [m, n] = op(a) * op(b) (+ bias over columns, clipped below zero), row-major, batched by strides.
//
// A block of 256 threads makes a tile of TILE x TILE in registers, 8 x 8 or 4 x 4 for each thread, from slices of BK along k
// that it keeps twice in shared memory: one is multiplied while the next one is on its way. With parts > 1 the blocks of a part do
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

// A thread's share, four elements, of the slices of an operand [rows, k] (b: its transpose) that a block goes through: ROWS
// x BK each. Its neighbours in memory are along k, or along rows.
template <class T, class Acc, int ROWS, int BK> struct Slice {
  static_assert(ROWS * BK == 4 * 256, "four elements for each thread");
  struct alignas(16) Two { Acc at[2][BK][ROWS + 4]; };
  const T *p;
  i64 step;
  int row, k, inside; // of the tile; inside: how many elements lie within the rows
  bool along_k, quads;
  Acc v[4];

  __device__ Slice(const T *base, i64 rows, i64 ld, i64 row0, i64 k0, bool along_k, bool quads) : along_k(along_k), quads(quads) {
    if (along_k) {
      row = threadIdx.x / (BK / 4);
      k = threadIdx.x % (BK / 4) * 4;
    } else {
      row = threadIdx.x % (ROWS / 4) * 4;
      k = threadIdx.x / (ROWS / 4);
    }
    i64 left = rows - row0 - row, most = along_k ? 1 : 4;
    inside = (int)(left < 0 ? 0 : left < most ? left : most);
    p = base + (along_k ? (row0 + row) * ld + k0 + k : (k0 + k) * ld + row0 + row);
    step = along_k ? BK : BK * ld;
  }

  // Reads the next slice, of which the given number of elements along k count.
  __device__ void fetch(int length) {
    int n = length - k;
    n = along_k ? (inside ? n : 0) : (n > 0 ? inside : 0);
    if (quads && n >= 4) {
      Quad<T> all = *(const Quad<T> *)p;
#pragma unroll
      for (int i = 0; i < 4; i++) widen(v[i], all.v[i]);
    } else {
#pragma unroll
      for (int i = 0; i < 4; i++) {
        v[i] = 0;
        if (i < n) widen(v[i], p[i]);
      }
    }
    p += step;
  }

  __device__ void store(Acc (*to)[ROWS + 4]) const {
    if (along_k) {
#pragma unroll
      for (int i = 0; i < 4; i++) to[k + i][row] = v[i];
    } else {
      Quad<Acc> all;
#pragma unroll
      for (int i = 0; i < 4; i++) all.v[i] = v[i];
      *(Quad<Acc> *)&to[k][row] = all;
    }
  }
};

template <class Acc> __device__ inline Acc clip(Acc v, int flags) { return (flags & GEMM_RELU) && v < 0 ? 0 : v; } // NaN stays

// Blocks are numbered down the rows of eight tiles, so that neighbours in time share operands in the cache.
__device__ inline void tile_of_block(i64 tiles_m, i64 tiles_n, i64 &tm, i64 &tn) {
  i64 band = 8 * tiles_n, first = blockIdx.x / band * 8, high = tiles_m - first < 8 ? tiles_m - first : 8, in = blockIdx.x % band;
  tm = first + in % high;
  tn = in / high;
}

struct Shape { i64 m, n, k, lda, ldb, ldc, sa, sb, sc, batch; };

// Writes a thread's part of a tile: groups of four rows and of four columns, 64 apart.
template <class Out, class Acc, int ROWS, int COLS>
__device__ inline void put_tile(Out *out, const Acc (&acc)[ROWS][COLS], const Out *bias, i64 row0, i64 col0, i64 m, i64 n, i64 ld, int flags) {
#pragma unroll
  for (int h = 0; h < COLS / 4; h++) {
    i64 col = col0 + 64 * h;
    int left = n - col < 4 ? (int)(n - col) : 4;
    Acc add[4] = {};
    if (bias) {
#pragma unroll
      for (int j = 0; j < 4; j++)
        if (j < left) widen(add[j], bias[col + j]);
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
      i64 row = row0 + 64 * (i / 4) + i % 4;
      if (row >= m) continue;
      Quad<Out> all;
#pragma unroll
      for (int j = 0; j < 4; j++) round_to(all.v[j], clip(acc[i][4 * h + j] + add[j], flags));
      Out *to = out + row * ld + col;
      if ((flags & GEMM_QUADS_OUT) && left == 4) {
        *(Quad<Out> *)to = all;
      } else {
#pragma unroll
        for (int j = 0; j < 4; j++)
          if (j < left) to[j] = all.v[j];
      }
    }
  }
}

template <class T, class Acc, int BM, int BN, int BK>
__device__ inline void gemm(void *out, const T *a, const T *b, const void *bias, const Shape &s, int parts, int flags) {
  const int HM = BM / 64, HN = BN / 64;
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
    SliceA sliceA(a + in * s.sa, s.m, s.lda, row0, begin, !(flags & GEMM_TA), (flags & GEMM_QUADS_A) != 0);
    SliceB sliceB(b + in * s.sb, s.n, s.ldb, col0, begin, (flags & GEMM_TB) != 0, (flags & GEMM_QUADS_B) != 0);
    Acc acc[4 * HM][4 * HN] = {};
    int now = 1;
    // The first turn only fetches, the last one only multiplies.
    for (i64 left = end - begin, first = left; first > 0 && left > -BK; left -= BK) {
      if (left > 0) {
        int length = left < BK ? (int)left : BK;
        sliceA.fetch(length);
        sliceB.fetch(length);
      }
      if (left < first) {
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
      }
      now ^= 1;
      if (left > 0) {
        sliceA.store(as.at[now]);
        sliceB.store(bs.at[now]);
      }
      __syncthreads();
    }
    i64 at = parts > 1 ? z * s.m * s.n : in * s.sc, ld = parts > 1 ? s.n : s.ldc;
    if constexpr (sizeof(T) == 2)
      if (flags & GEMM_BF16_OUT) {
        put_tile((u16 *)out + at, acc, (const u16 *)bias, row0 + ty, col0 + tx, s.m, s.n, ld, flags);
        continue;
      }
    put_tile((Acc *)out + at, acc, (const Acc *)bias, row0 + ty, col0 + tx, s.m, s.n, ld, flags);
  }
}

#define GEMM(name, T, Acc, TILE)                                                                                               \
  KERNEL __launch_bounds__(256, sizeof(Acc) == 8 || TILE == 128 ? 2 : 3) name(void *out, const T *a, const T *b, const void *bias, i64 m, i64 n, i64 k, i64 lda, i64 ldb, \
                                     i64 ldc, i64 sa, i64 sb, i64 sc, i64 batch, int parts, int flags) {                        \
    Shape s = {m, n, k, lda, ldb, ldc, sa, sb, sc, batch};                                                                      \
    gemm<T, Acc, TILE, TILE, TILE == 128 ? 8 : 16>(out, a, b, bias, s, parts, flags);                                           \
  }
GEMM(gemm_f32_128, float, float, 128)
GEMM(gemm_f32_64, float, float, 64)
GEMM(gemm_bf16_64, u16, float, 64)
GEMM(gemm_f64_64, double, double, 64)

template <class Out, class Acc>
__device__ inline void finish_parts(Out *out, const Acc *part, const Out *bias, i64 m, i64 n, i64 ldc, i64 sc, i64 batch, int parts, int flags) {
  i64 all = batch * m * n;
  EACH(i, all) {
    Acc v = part[i], add = 0;
    for (int p = 1; p < parts; p++) v += part[p * all + i];
    i64 col = i % n, row = i / n % m;
    if (bias) widen(add, bias[col]);
    round_to(out[i / n / m * sc + row * ldc + col], clip(v + add, flags));
  }
}

KERNEL gemm_finish_f32(void *out, const float *part, const void *bias, i64 m, i64 n, i64 ldc, i64 sc, i64 batch, int parts, int flags) {
  if (flags & GEMM_BF16_OUT) finish_parts((u16 *)out, part, (const u16 *)bias, m, n, ldc, sc, batch, parts, flags);
  else finish_parts((float *)out, part, (const float *)bias, m, n, ldc, sc, batch, parts, flags);
}

KERNEL gemm_finish_f64(void *out, const double *part, const void *bias, i64 m, i64 n, i64 ldc, i64 sc, i64 batch, int parts, int flags) {
  finish_parts((double *)out, part, (const double *)bias, m, n, ldc, sc, batch, parts, flags);
}
