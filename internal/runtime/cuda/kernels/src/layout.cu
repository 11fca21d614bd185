// Moving elements, of any size, between tensors with any step in every dimension.

struct Walk { i64 size[6], to[6], from[6]; };

// Coordinates of element i, the last dimension running fastest; dimensions before the first are of size 1.
template <class T, class I> __device__ void walk_all(T *dst, const T *src, i64 n, int first, const Walk &w) {
  EACH(i, n) {
    I rest = (I)i;
    i64 to = 0, from = 0;
#pragma unroll
    for (int k = 5; k >= 0; k--) {
      if (k < first) break;
      I size = (I)w.size[k], q = rest / size, at = rest - q * size;
      to += (i64)at * w.to[k];
      from += (i64)at * w.from[k];
      rest = q;
    }
    dst[to] = src[from];
  }
}

template <class T> __device__ void walk(T *dst, const T *src, i64 n, int first, const Walk &w) {
  if (n < (1ll << 31)) walk_all<T, u32>(dst, src, n, first, w);
  else walk_all<T, u64>(dst, src, n, first, w);
}

#define SIX(x) i64 x##0, i64 x##1, i64 x##2, i64 x##3, i64 x##4, i64 x##5
#define LIST(x) {x##0, x##1, x##2, x##3, x##4, x##5}
#define STRIDED(name, T) KERNEL name(T *dst, const T *src, i64 n, i64 to, i64 from, int first, SIX(d), SIX(t), SIX(f)) { \
  Walk w = {LIST(d), LIST(t), LIST(f)};                                                                                 \
  walk<T>(dst + to, src + from, n, first, w);                                                                           \
}
STRIDED(strided_1, u8)
STRIDED(strided_2, u16)
STRIDED(strided_4, u32)
STRIDED(strided_8, u64)
STRIDED(strided_16, quad)

// Transposes matrices [rows, cols] by tiles of 32 x 32, so that both sides are read and written in lines. Blocks are 32 x 8.
template <class T> __device__ void transpose(T *dst, const T *src, i64 batch, i64 rows, i64 cols) {
  __shared__ T tile[32][33];
  i64 across = (cols + 31) / 32, down = (rows + 31) / 32;
  for (i64 b = blockIdx.x; b < batch * across * down; b += gridDim.x) {
    i64 c0 = b % across * 32, r0 = b / across % down * 32, at = b / across / down * rows * cols;
    for (int k = threadIdx.y; k < 32; k += 8)
      if (r0 + k < rows && c0 + threadIdx.x < cols) tile[k][threadIdx.x] = src[at + (r0 + k) * cols + c0 + threadIdx.x];
    __syncthreads();
    for (int k = threadIdx.y; k < 32; k += 8)
      if (c0 + k < cols && r0 + threadIdx.x < rows) dst[at + (c0 + k) * rows + r0 + threadIdx.x] = tile[threadIdx.x][k];
    __syncthreads();
  }
}

KERNEL transpose_1(u8 *dst, const u8 *src, i64 batch, i64 rows, i64 cols) { transpose(dst, src, batch, rows, cols); }
KERNEL transpose_2(u16 *dst, const u16 *src, i64 batch, i64 rows, i64 cols) { transpose(dst, src, batch, rows, cols); }
KERNEL transpose_4(u32 *dst, const u32 *src, i64 batch, i64 rows, i64 cols) { transpose(dst, src, batch, rows, cols); }
KERNEL transpose_8(u64 *dst, const u64 *src, i64 batch, i64 rows, i64 cols) { transpose(dst, src, batch, rows, cols); }

KERNEL fill_1(u8 *dst, const u8 *value, i64 n) { EACH(i, n) dst[i] = *value; }
KERNEL fill_2(u16 *dst, const u16 *value, i64 n) { EACH(i, n) dst[i] = *value; }
KERNEL fill_4(u32 *dst, const u32 *value, i64 n) { EACH(i, n) dst[i] = *value; }
KERNEL fill_8(u64 *dst, const u64 *value, i64 n) { EACH(i, n) dst[i] = *value; }
