// Convolutions of images in NHWC by filters [kH, kW, inC, outC] as products of matrices that are never made (implicit
// gemm). A block of 256 threads does a tile of BM x BN results, 16 terms of the sums at a time; a thread does TM x TN.
// While a step is computed the numbers of the next one are on their way. Sums go over the terms in their order.

enum { THREADS = 256, BM = 128, BK = 16, WARPS = THREADS / 32, LOADS = BM * BK / THREADS };

// The tile in shared memory, term by term, as floats.
template <int BN> struct Shared {
  __align__(16) float a[BK][BM + 4];
  __align__(16) float b[BK][BN + 4];
};

// Multiplies what load brings for the terms from lo up to hi; load.fetch(k) reads a step, load.put(shared) hands it over.
template <int BN, int TN, class L> __device__ void multiply(Shared<BN> &s, float (&acc)[BM * BN / THREADS / TN][TN], L &load, i64 lo, i64 hi) {
  const int TM = BM * BN / THREADS / TN;
  int row = threadIdx.x / (BN / TN) * TM, col = threadIdx.x % (BN / TN) * TN;
#pragma unroll
  for (int i = 0; i < TM; i++)
#pragma unroll
    for (int j = 0; j < TN; j++) acc[i][j] = 0;
  if (lo >= hi) return;
  load.fetch();
  for (i64 k = lo; k < hi; k += BK) {
    load.put(s);
    __syncthreads();
    if (k + BK < hi) load.fetch();
#pragma unroll
    for (int t = 0; t < BK; t++) {
      float a[TM], b[TN];
#pragma unroll
      for (int i = 0; i < TM; i++) a[i] = s.a[t][row + i];
#pragma unroll
      for (int j = 0; j < TN; j++) b[j] = s.b[t][col + j];
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) acc[i][j] += a[i] * b[j];
    }
    __syncthreads();
  }
}

// Rows of pixels under the taps of a filter: what forward and the input's gradient gather. Thread t reads term t % 16 of
// every step, of the rows t/16, t/16 + 16, ..; where a row's pixel lies under a tap is found once per tap.
template <class T, bool GRAD> struct Pixels {
  const T *base[LOADS]; // the row's image, 0: no such row
  int h0[LOADS], w0[LOADS], at[LOADS];
  float v[LOADS];
  int c, r, s; // the term: channel, and tap
  const Geometry &g;

  __device__ Pixels(const T *from, const Geometry &g) : g(g) {
    int H = GRAD ? g.inH : g.outH, W = GRAD ? g.inW : g.outW;
    i64 rows = (i64)g.batch * H * W, image = GRAD ? (i64)g.outH * g.outW * g.outC : (i64)g.inH * g.inW * g.inC;
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
      i64 m = (i64)blockIdx.x * BM + threadIdx.x / BK + i * (THREADS / BK);
      int w = (int)(m % W), h = (int)(m / W % H);
      base[i] = m < rows ? from + m / W / H * image : 0;
      h0[i] = GRAD ? h + g.padTop : h * g.strideH - g.padTop;
      w0[i] = GRAD ? w + g.padLeft : w * g.strideW - g.padLeft;
    }
    c = threadIdx.x % BK;
    r = s = 0;
    if (!wrap()) aim();
  }

  __device__ int channels() const { return GRAD ? g.outC : g.inC; }

  // Brings the channel back into range by going on to later taps. It tells whether the tap has changed.
  __device__ bool wrap() {
    if (c < channels()) return false;
    while (c >= channels()) {
      c -= channels();
      if (++s == g.kW) s = 0, r++;
    }
    aim();
    return true;
  }

  // Finds the rows' pixels under the tap: -1 is none.
  __device__ void aim() {
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
      int h = GRAD ? h0[i] - r * g.dilH : h0[i] + r * g.dilH, w = GRAD ? w0[i] - s * g.dilW : w0[i] + s * g.dilW;
      bool in = base[i] && r < g.kH && h >= 0 && w >= 0;
      if (GRAD && g.strideH > 1) in = in && h % g.strideH == 0, h /= g.strideH;
      if (GRAD && g.strideW > 1) in = in && w % g.strideW == 0, w /= g.strideW;
      in = in && h < (GRAD ? g.outH : g.inH) && w < (GRAD ? g.outW : g.inW);
      at[i] = in ? (h * (GRAD ? g.outW : g.inW) + w) * channels() : -1;
    }
  }

  __device__ void fetch() {
#pragma unroll
    for (int i = 0; i < LOADS; i++) v[i] = at[i] < 0 ? 0.f : number(base[i][at[i] + c]);
  }
  __device__ void next() {
    c += BK;
    wrap();
  }
  template <int BN> __device__ void put(Shared<BN> &s) {
#pragma unroll
    for (int i = 0; i < LOADS; i++) s.a[threadIdx.x % BK][threadIdx.x / BK + i * (THREADS / BK)] = v[i];
  }
};

// A matrix [terms, cols] as it is: the filter of forward, dy of the filter's gradient.
template <class T, int BN> struct Matrix {
  static const int N = BK * BN / THREADS;
  const T *from;
  i64 k, hi;
  int cols, col;
  float v[N];

  __device__ Matrix(const T *m, i64 lo, i64 hi, int cols) : k(lo + threadIdx.x / BN), hi(hi), cols(cols), col(blockIdx.y * BN + threadIdx.x % BN) {
    from = m + k * cols + col;
  }
  __device__ void fetch() {
#pragma unroll
    for (int i = 0; i < N; i++) v[i] = col < cols && k + i * (THREADS / BN) < hi ? number(from[(i64)i * (THREADS / BN) * cols]) : 0.f;
    k += BK;
    from += (i64)BK * cols;
  }
  __device__ void put(Shared<BN> &s) {
#pragma unroll
    for (int i = 0; i < N; i++) s.b[threadIdx.x / BN + i * (THREADS / BN)][threadIdx.x % BN] = v[i];
  }
};

template <class T, int BN> struct Forward {
  Pixels<T, false> a;
  Matrix<T, BN> b;
  __device__ void fetch() {
    a.fetch();
    a.next();
    b.fetch();
  }
  __device__ void put(Shared<BN> &s) {
    a.put(s);
    b.put(s);
  }
};

// The filter with the channels of each tap turned round goes with the gradients under the taps.
template <class T, int BN> struct Backward {
  static const int N = BK * BN / THREADS;
  Pixels<T, true> a;
  const T *w;
  float v[N];
  __device__ void fetch() {
    a.fetch();
    const T *tap = w + ((i64)a.r * a.g.kW + a.s) * a.g.inC * a.g.outC + a.c;
#pragma unroll
    for (int i = 0; i < N; i++) {
      int c = blockIdx.y * BN + threadIdx.x / BK + i * (THREADS / BK);
      v[i] = a.r < a.g.kH && c < a.g.inC ? number(tap[(i64)c * a.g.outC]) : 0.f;
    }
    a.next();
  }
  __device__ void put(Shared<BN> &s) {
    a.put(s);
#pragma unroll
    for (int i = 0; i < N; i++) s.b[threadIdx.x % BK][threadIdx.x / BK + i * (THREADS / BK)] = v[i];
  }
};

// Rows are the filter's [kH, kW, inC], terms the pixels of the result. Warp w reads pixels w and w + 8 of every step, lane
// l the rows l, l + 32, ..
template <class T, int BN> struct Taps {
  static const int P = BK / WARPS, R = BM / 32;
  int dh[R], dw[R], c[R]; // of the rows; c < 0: no such row
  int h[P], w[P];         // of the pixels, in the result
  i64 n[P];
  float v[P][R];
  Matrix<T, BN> b;
  const T *x;
  const Geometry &g;

  __device__ Taps(const T *x, const T *dy, i64 lo, i64 hi, const Geometry &g) : b(dy, lo, hi, g.outC), x(x), g(g) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int i = 0; i < R; i++) {
      i64 m = (i64)blockIdx.x * BM + lane + 32 * i, tap = m / g.inC;
      c[i] = tap < g.kH * g.kW ? (int)(m % g.inC) : -1;
      dh[i] = (int)(tap / g.kW) * g.dilH - g.padTop;
      dw[i] = (int)(tap % g.kW) * g.dilW - g.padLeft;
    }
#pragma unroll
    for (int j = 0; j < P; j++) {
      i64 p = lo + warp + j * WARPS;
      w[j] = (int)(p % g.outW);
      h[j] = (int)(p / g.outW % g.outH);
      n[j] = p / g.outW / g.outH;
    }
  }
  __device__ void fetch() {
#pragma unroll
    for (int j = 0; j < P; j++) {
      const T *image = x + n[j] * g.inH * g.inW * g.inC;
#pragma unroll
      for (int i = 0; i < R; i++) {
        int y = h[j] * g.strideH + dh[i], z = w[j] * g.strideW + dw[i];
        bool in = c[i] >= 0 && n[j] < g.batch && y >= 0 && y < g.inH && z >= 0 && z < g.inW;
        v[j][i] = in ? number(image[(y * g.inW + z) * g.inC + c[i]]) : 0.f;
      }
      w[j] += BK;
      while (w[j] >= g.outW) {
        w[j] -= g.outW;
        if (++h[j] == g.outH) h[j] = 0, n[j]++;
      }
    }
    b.fetch();
  }
  __device__ void put(Shared<BN> &s) {
#pragma unroll
    for (int j = 0; j < P; j++)
#pragma unroll
      for (int i = 0; i < R; i++) s.a[threadIdx.x / 32 + j * WARPS][threadIdx.x % 32 + 32 * i] = v[j][i];
    b.put(s);
  }
};

// Calls f(row, column, sum) for the thread's results inside the matrix.
template <int BN, int TN, class F> __device__ void each_result(float (&acc)[BM * BN / THREADS / TN][TN], i64 rows, int cols, F f) {
  const int TM = BM * BN / THREADS / TN;
  i64 row = (i64)blockIdx.x * BM + threadIdx.x / (BN / TN) * TM;
  int col = blockIdx.y * BN + threadIdx.x % (BN / TN) * TN;
#pragma unroll
  for (int i = 0; i < TM; i++)
#pragma unroll
    for (int j = 0; j < TN; j++)
      if (row + i < rows && col + j < cols) f(row + i, col + j, acc[i][j]);
}

// y = conv(x, w) + bias, where there is one, not below 0 where relu says so.
template <class T, int BN> __device__ void conv_forward(T *y, const T *x, const T *w, const T *bias, int relu, const Geometry &g) {
  __shared__ Shared<BN> s;
  float acc[BM * BN / THREADS / 4][4];
  i64 terms = (i64)g.kH * g.kW * g.inC;
  Forward<T, BN> load{{x, g}, {w, 0, terms, g.outC}};
  multiply<BN, 4>(s, acc, load, 0, terms);
  each_result<BN, 4>(acc, (i64)g.batch * g.outH * g.outW, g.outC, [&](i64 i, int j, float v) {
    if (bias) v += number(bias[j]);
    keep(y + i * g.outC + j, relu ? max_nan(v, 0.f) : v);
  });
}

template <class T, int BN> __device__ void conv_backward(T *dx, const T *dy, const T *w, const Geometry &g) {
  __shared__ Shared<BN> s;
  float acc[BM * BN / THREADS / 4][4];
  Backward<T, BN> load{{dy, g}, w};
  multiply<BN, 4>(s, acc, load, 0, (i64)g.kH * g.kW * g.outC);
  each_result<BN, 4>(acc, (i64)g.batch * g.inH * g.inW, g.inC, [&](i64 i, int j, float v) { keep(dx + i * g.inC + j, v); });
}

// part[p] = the filter's gradient by the pixels of part p = blockIdx.z; each is how many those are.
template <class T, int BN> __device__ void conv_filter(float *part, const T *x, const T *dy, i64 each, const Geometry &g) {
  __shared__ Shared<BN> s;
  float acc[BM * BN / THREADS / 4][4];
  i64 pixels = (i64)g.batch * g.outH * g.outW, lo = each * blockIdx.z, hi = lo + each < pixels ? lo + each : pixels;
  i64 rows = (i64)g.kH * g.kW * g.inC;
  Taps<T, BN> load(x, dy, lo, hi, g);
  multiply<BN, 4>(s, acc, load, lo, hi);
  part += blockIdx.z * rows * g.outC;
  each_result<BN, 4>(acc, rows, g.outC, [&](i64 i, int j, float v) { part[i * g.outC + j] = v; });
}

#define CONV(type, T, BN) \
  KERNEL __launch_bounds__(THREADS) conv_forward_##type##_##BN(T *y, const T *x, const T *w, const T *bias, int relu, WINDOW) { \
    conv_forward<T, BN>(y, x, w, bias, relu, GEOMETRY); \
  } \
  KERNEL __launch_bounds__(THREADS) conv_backward_##type##_##BN(T *dx, const T *dy, const T *w, WINDOW) { conv_backward<T, BN>(dx, dy, w, GEOMETRY); } \
  KERNEL __launch_bounds__(THREADS) conv_filter_##type##_##BN(float *part, const T *x, const T *dy, i64 each, WINDOW) { \
    conv_filter<T, BN>(part, x, dy, each, GEOMETRY); \
  }
CONV(f32, float, 32)
CONV(f32, float, 64)
CONV(bf16, u16, 32)
CONV(bf16, u16, 64)

// dst = the sum of the parts, in their order.
template <class T> __device__ void conv_sum_of(T *dst, const float *part, i64 n, int parts) {
  EACH(i, n) {
    float s = 0;
    for (int p = 0; p < parts; p++) s += part[p * n + i];
    keep(dst + i, s);
  }
}

// y += bias[column], not below 0 where relu says so.
template <class T> __device__ void conv_bias_of(T *y, const T *bias, i64 n, int cols, int relu) {
  EACH(i, n) {
    float v = number(y[i]) + (bias ? number(bias[i % cols]) : 0.f);
    keep(y + i, relu ? max_nan(v, 0.f) : v);
  }
}

// The filter's two layouts: rows [kH, kW, inC] of outC numbers, and outC packed filters [tallH, tallW, inC], which have taps
// of zeros around those that begin at (top, left). Blocks of 32 x 8 turn tiles of 32 x 32, so that both sides are read and
// written along their rows; the grid is what runs through the packed filter, or through the rows, and outC.

// The row of a packed filter's element q, -1 for a tap of zeros.
struct Frame {
  int kH, kW, inC, tallH, tallW, top, left;
  __device__ i64 row(i64 q) const {
    int c = (int)(q % inC), b = (int)(q / inC % tallW) - left, a = (int)(q / inC / tallW) - top;
    return a >= 0 && a < kH && b >= 0 && b < kW ? ((i64)a * kW + b) * inC + c : -1;
  }
  __device__ i64 packed(i64 row) const {
    int c = (int)(row % inC), b = (int)(row / inC % kW) + left, a = (int)(row / inC / kW) + top;
    return ((i64)a * tallW + b) * inC + c;
  }
};

template <class T> __device__ void filter_pack_of(T *dst, const T *w, int outC, Frame f) {
  __shared__ T tile[32][33];
  i64 n = (i64)f.tallH * f.tallW * f.inC, q = blockIdx.x * 32ll;
  int o = blockIdx.y * 32;
  for (int i = threadIdx.y; i < 32; i += 8) {
    i64 row = q + i < n ? f.row(q + i) : -1;
    tile[i][threadIdx.x] = row >= 0 && o + (int)threadIdx.x < outC ? w[row * outC + o + threadIdx.x] : (T)0;
  }
  __syncthreads();
  for (int i = threadIdx.y; i < 32; i += 8)
    if (o + i < outC && q + threadIdx.x < n) dst[(o + i) * n + q + threadIdx.x] = tile[threadIdx.x][i];
}

template <class T, class S> __device__ void filter_unpack_of(S *dw, const T *src, int outC, Frame f) {
  __shared__ T tile[32][33];
  i64 n = (i64)f.tallH * f.tallW * f.inC, rows = (i64)f.kH * f.kW * f.inC, r = blockIdx.x * 32ll;
  int o = blockIdx.y * 32;
  for (int i = threadIdx.y; i < 32; i += 8)
    if (o + i < outC && r + threadIdx.x < rows) tile[i][threadIdx.x] = src[(o + i) * n + f.packed(r + threadIdx.x)];
  __syncthreads();
  for (int i = threadIdx.y; i < 32; i += 8)
    if (r + i < rows && o + (int)threadIdx.x < outC) keep(dw + (r + i) * outC + o + threadIdx.x, number(tile[threadIdx.x][i]));
}

#define SUM(T) (T *dst, const float *part, i64 n, int parts)
#define BIAS(T) (T *y, const T *bias, i64 n, int cols, int relu)
#define PACK(T) (T *dst, const T *w, int outC, int kH, int kW, int inC, int tallH, int tallW, int top, int left)
#define FRAME Frame{kH, kW, inC, tallH, tallW, top, left}
BOTH(conv_sum, SUM, dst, part, n, parts)
BOTH(conv_bias, BIAS, y, bias, n, cols, relu)
BOTH(filter_pack, PACK, dst, w, outC, FRAME)
BOTH(filter_unpack, PACK, dst, w, outC, FRAME)
KERNEL filter_unpack_widen(float *dst, const u16 *w, int outC, int kH, int kW, int inC, int tallH, int tallW, int top, int left) {
  filter_unpack_of(dst, w, outC, FRAME);
}
