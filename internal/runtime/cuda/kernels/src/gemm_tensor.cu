// Matrix products by tensor cores (mma.cu): bfloat16, or float32 rounded to tf32, with sums in float32. What gemm.cu says
// holds here, too. Shared memory holds words of 32 bits along k, two bfloat16 or one tf32, so that fragments lie at the same
// words for both.

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
const int tensor_pitch = 20; // words of a row: 16, and 4 more, so that the 32 words of a fragment lie in different banks

__device__ inline u16 as_factor(u16 v) { return v; }
__device__ inline float as_factor(float v) { return __uint_as_float(to_tf32(v)); }

// A thread's share of the slices of 128 rows x 16 words of an operand.
template <class T> struct TensorSlice {
  static const int bk = 64 / sizeof(T), each = 128 * bk / 4 / 256, hop_rows = 128 / each, pitch = tensor_pitch * 4 / sizeof(T);
  const T *p;
  i64 step, hop; // in memory: to the next slice, to the thread's next four elements
  i64 rows;      // from the thread's first one on
  int row, k;
  bool along_k, quads;
  Quad<T> v[each];

  __device__ TensorSlice(const T *base, i64 all, i64 ld, i64 row0, i64 k0, bool along_k, bool quads) : along_k(along_k), quads(quads) {
    int id = threadIdx.x;
    if (along_k) {
      row = id / (bk / 4);
      k = id % (bk / 4) * 4;
    } else {
      row = (id % 4 + id / 32 * 4) * 4;
      k = id / 4 % 8;
    }
    rows = all - row0 - row;
    p = base + (along_k ? (row0 + row) * ld + k0 + k : (k0 + k) * ld + row0 + row);
    step = along_k ? bk : bk * ld;
    hop = along_k ? hop_rows * ld : 8 * ld;
  }

  __device__ void fetch(int length) {
#pragma unroll
    for (int q = 0; q < each; q++) {
      i64 n = along_k ? (hop_rows * q < rows ? length - k : 0) : (k + 8 * q < length ? rows : 0);
      const T *from = p + q * hop;
      if (quads && n >= 4) {
        v[q] = *(const Quad<T> *)from;
      } else {
#pragma unroll
        for (int i = 0; i < 4; i++) v[q].v[i] = i < n ? from[i] : (T)0;
      }
    }
    p += step;
  }

  __device__ void store(u32 (*words)[tensor_pitch]) {
    T *to = (T *)words;
#pragma unroll
    for (int q = 0; q < each; q++) {
#pragma unroll
      for (int i = 0; i < 4; i++) v[q].v[i] = as_factor(v[q].v[i]);
      if (along_k) {
        *(Quad<T> *)(to + (row + hop_rows * q) * pitch + k) = v[q];
      } else {
#pragma unroll
        for (int i = 0; i < 4; i++) to[(row + i) * pitch + k + 8 * q] = v[q].v[i];
      }
    }
  }
};

// Writes two columns of a row.
template <class Out> __device__ inline void put2(Out *to, float x, float y, int left, int flags) {
  struct alignas(2 * sizeof(Out)) Pair { Out x, y; } both;
  round_to(both.x, clip(x, flags));
  round_to(both.y, clip(y, flags));
  if ((flags & GEMM_QUADS_OUT) && left > 1) {
    *(Pair *)to = both;
  } else {
    if (left > 0) to[0] = both.x;
    if (left > 1) to[1] = both.y;
  }
}

template <class Out>
__device__ inline void put_fragments(Out *out, const float (&acc)[4][4][4], const Out *bias, i64 row0, i64 col0, i64 m, i64 n, i64 ld, int flags) {
#pragma unroll
  for (int j = 0; j < 4; j++) {
    i64 col = col0 + 8 * j;
    int left = n - col < 2 ? (int)(n - col) : 2;
    float x = 0, y = 0;
    if (bias && left > 0) widen(x, bias[col]);
    if (bias && left > 1) widen(y, bias[col + 1]);
#pragma unroll
    for (int i = 0; i < 8; i++) {
      i64 row = row0 + 8 * i;
      const float *d = acc[i / 2][j] + i % 2 * 2;
      if (row < m) put2(out + row * ld + col, d[0] + x, d[1] + y, left, flags);
    }
  }
}

template <class T> __device__ inline void tensor(void *out, const T *a, const T *b, const void *bias, const Shape &s, int parts, int flags) {
  typedef TensorSlice<T> Part;
  const int BK = Part::bk;
  struct alignas(16) Two { u32 at[2][128][tensor_pitch]; };
  __shared__ Two as;
  __shared__ Two bs;
  i64 tm, tn;
  tile_of_block((s.m + 127) / 128, (s.n + 127) / 128, tm, tn);
  i64 row0 = tm * 128, col0 = tn * 128, piece = (s.k + parts - 1) / parts;
  piece = (piece + BK - 1) / BK * BK;
  int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, down = threadIdx.x / 128 * 64, right = threadIdx.x / 32 % 4 * 32; // of the warp: 64 x 32
  for (i64 z = blockIdx.z; z < s.batch * parts; z += gridDim.z) {
    i64 in = z % s.batch, begin = z / s.batch * piece, end = begin + piece < s.k ? begin + piece : s.k;
    Part sliceA(a + in * s.sa, s.m, s.lda, row0, begin, !(flags & GEMM_TA), (flags & GEMM_QUADS_A) != 0);
    Part sliceB(b + in * s.sb, s.n, s.ldb, col0, begin, (flags & GEMM_TB) != 0, (flags & GEMM_QUADS_B) != 0);
    float acc[4][4][4] = {};
    int now = 1;
    for (i64 left = end - begin, first = left; first > 0 && left > -BK; left -= BK) {
      if (left > 0) {
        int length = left < BK ? (int)left : BK;
        sliceA.fetch(length);
        sliceB.fetch(length);
      }
      if (left < first) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
          int w = 8 * half + t;
          u32 y[4][2];
#pragma unroll
          for (int j = 0; j < 4; j++)
#pragma unroll
            for (int r = 0; r < 2; r++) y[j][r] = bs.at[now][right + 8 * j + g][w + 4 * r];
#pragma unroll
          for (int i = 0; i < 4; i++) {
            u32 x[4];
#pragma unroll
            for (int r = 0; r < 4; r++) x[r] = as.at[now][down + 16 * i + g + r % 2 * 8][w + r / 2 * 4];
#pragma unroll
            for (int j = 0; j < 4; j++) mma<T>(acc[i][j], x, y[j]);
          }
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
        put_fragments((u16 *)out + at, acc, (const u16 *)bias, row0 + down + g, col0 + right + 2 * t, s.m, s.n, ld, flags);
        continue;
      }
    put_fragments((float *)out + at, acc, (const float *)bias, row0 + down + g, col0 + right + 2 * t, s.m, s.n, ld, flags);
  }
}
#else
template <class T> __device__ inline void tensor(void *out, const T *a, const T *b, const void *bias, const Shape &s, int parts, int flags) {
  gemm<T, float, 128, 128, 8>(out, a, b, bias, s, parts, flags);
}
#endif

#define TENSOR(name, T)                                                                                                           \
  KERNEL __launch_bounds__(256, 2) name(void *out, const T *a, const T *b, const void *bias, i64 m, i64 n, i64 k, i64 lda, i64 ldb, \
                                        i64 ldc, i64 sa, i64 sb, i64 sc, i64 batch, int parts, int flags) {                        \
    Shape s = {m, n, k, lda, ldb, ldc, sa, sb, sc, batch};                                                                         \
    tensor<T>(out, a, b, bias, s, parts, flags);                                                                                   \
  }
TENSOR(gemm_bf16_tensor, u16)
TENSOR(gemm_tf32_tensor, float)
