// Convolutions of images in NHWC by filters [kH, kW, inC, outC] as products of matrices that are never made (implicit
// gemm). A block of 256 threads does a tile of BM x BN results, 16 terms of the sums at a time; a thread does TM x TN.
// While a step is computed the numbers of the next one are on their way. Sums go over the terms in their order.

enum { THREADS = 256, BM = 128, BK = 16, WARPS = THREADS / 32 };

// The tile in shared memory, term by term, as floats.
template <int BN> struct Shared {
  __align__(16) float a[BK][BM + 4];
  __align__(16) float b[BK][BN + 4];
};

// Goes over the terms from lo up to hi, step by step: load.fetch() reads one, load.put(shared) hands it to the block.
template <int STEP, class S, class L, class F> __device__ void each_step(S &s, L &load, int lo, int hi, F compute) {
  for (int k = lo;; k += STEP) {
    if (k < hi) load.fetch();
    if (k > lo) compute(); // what was handed over before
    if (k >= hi) break;
    __syncthreads();
    load.put(s);
    __syncthreads();
  }
}

template <int BN, int TN, class L> __device__ void multiply(Shared<BN> &s, float (&acc)[BM * BN / THREADS / TN][TN], L &load, int lo, int hi) {
  const int TM = BM * BN / THREADS / TN;
  int row = threadIdx.x / (BN / TN) * TM, col = threadIdx.x % (BN / TN) * TN;
#pragma unroll
  for (int i = 0; i < TM; i++)
#pragma unroll
    for (int j = 0; j < TN; j++) acc[i][j] = 0;
  each_step<BK>(s, load, lo, hi, [&] {
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
  });
}

// Rows of pixels under the taps of a filter: what forward and the input's gradient gather. A step has TERMS of them, a thread
// reads V that follow each other, of the rows first(), first() + HOP, ..; where a row's pixel lies under a tap is found once
// per tap.
template <class T, bool GRAD, int TERMS, int V> struct Pixels {
  static const int PER = TERMS / V, HOP = THREADS / PER, LOADS = BM / HOP;
  const T *base[LOADS]; // the row's image, 0: no such row
  int h0[LOADS], w0[LOADS], at[LOADS];
  int c, r, s; // the term: channel, and tap
  const Geometry &g;

  __device__ static int first() { return threadIdx.x / PER; }
  __device__ static int term() { return threadIdx.x % PER * V; }

  __device__ Pixels(const T *from, const Geometry &g) : g(g) {
    int H = GRAD ? g.inH : g.outH, W = GRAD ? g.inW : g.outW;
    u32 rows = (u32)g.batch * H * W;
    i64 image = GRAD ? (i64)g.outH * g.outW * g.outC : (i64)g.inH * g.inW * g.inC;
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
      u32 m = blockIdx.x * BM + first() + i * HOP;
      int w = m % W, h = m / W % H;
      base[i] = m < rows ? from + m / W / H * image : 0;
      h0[i] = GRAD ? h + g.padTop : h * g.strideH - g.padTop;
      w0[i] = GRAD ? w + g.padLeft : w * g.strideW - g.padLeft;
    }
    c = term();
    r = s = 0;
    wrap();
    aim();
  }

  __device__ int channels() const { return GRAD ? g.outC : g.inC; }

  // Brings the channel back into range by going on to later taps.
  __device__ void wrap() {
    while (c >= channels()) {
      c -= channels();
      if (++s == g.kW) s = 0, r++;
    }
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

  // The terms of row i, 0 where there is no pixel.
  __device__ const T *pixel(int i) const { return at[i] < 0 ? 0 : base[i] + at[i] + c; }
  __device__ void next() {
    c += TERMS;
    if (c < channels()) return;
    wrap();
    aim();
  }
};

// Pixels one by one, as floats.
template <class T, bool GRAD> struct Numbers : Pixels<T, GRAD, BK, 1> {
  typedef Pixels<T, GRAD, BK, 1> P;
  float v[P::LOADS];
  __device__ Numbers(const T *from, const Geometry &g) : P(from, g) {}
  __device__ void fetch() {
#pragma unroll
    for (int i = 0; i < P::LOADS; i++) {
      const T *p = this->pixel(i);
      v[i] = p ? number(*p) : 0.f;
    }
  }
  template <int BN> __device__ void put(Shared<BN> &s) {
#pragma unroll
    for (int i = 0; i < P::LOADS; i++) s.a[P::term()][P::first() + i * P::HOP] = v[i];
  }
};

// A matrix [terms, cols] as it is: the filter of forward, dy of the filter's gradient.
template <class T, int BN> struct Matrix {
  static const int N = BK * BN / THREADS;
  const T *from;
  int k, hi, cols, col;
  float v[N];

  __device__ Matrix(const T *m, int lo, int hi, int cols) : k(lo + threadIdx.x / BN), hi(hi), cols(cols), col(blockIdx.y * BN + threadIdx.x % BN) {
    from = m + (i64)k * cols + col;
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
  Numbers<T, false> a;
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
  Numbers<T, true> a;
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
  int n[P], h[P], w[P];   // of the pixels, in the result
  float v[P][R];
  Matrix<T, BN> b;
  const T *x;
  const Geometry &g;

  __device__ Taps(const T *x, const T *dy, int lo, int hi, const Geometry &g) : b(dy, lo, hi, g.outC), x(x), g(g) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int i = 0; i < R; i++) {
      int m = blockIdx.x * BM + lane + 32 * i, tap = m / g.inC;
      c[i] = tap < g.kH * g.kW ? m % g.inC : -1;
      dh[i] = tap / g.kW * g.dilH - g.padTop;
      dw[i] = tap % g.kW * g.dilW - g.padLeft;
    }
#pragma unroll
    for (int j = 0; j < P; j++) {
      int p = lo + warp + j * WARPS;
      w[j] = p % g.outW;
      h[j] = p / g.outW % g.outH;
      n[j] = p / g.outW / g.outH;
    }
  }
  __device__ void fetch() {
#pragma unroll
    for (int j = 0; j < P; j++) {
      const T *image = x + (i64)n[j] * (g.inH * g.inW * g.inC);
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
  int terms = g.kH * g.kW * g.inC;
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
  multiply<BN, 4>(s, acc, load, 0, g.kH * g.kW * g.outC);
  each_result<BN, 4>(acc, (i64)g.batch * g.inH * g.inW, g.inC, [&](i64 i, int j, float v) { keep(dx + i * g.inC + j, v); });
}

// part[p] = the filter's gradient by the pixels of part p = blockIdx.z; each is how many those are.
template <class T, int BN> __device__ void conv_filter(float *part, const T *x, const T *dy, int each, const Geometry &g) {
  __shared__ Shared<BN> s;
  float acc[BM * BN / THREADS / 4][4];
  int pixels = g.batch * g.outH * g.outW, lo = each * blockIdx.z, hi = pixels - lo < each ? pixels : lo + each;
  int rows = g.kH * g.kW * g.inC;
  Taps<T, BN> load(x, dy, lo, hi, g);
  multiply<BN, 4>(s, acc, load, lo, hi);
  part += (i64)blockIdx.z * rows * g.outC;
  each_result<BN, 4>(acc, rows, g.outC, [&](i64 i, int j, float v) { part[i * g.outC + j] = v; });
}

#define CONV(type, T, BN) \
  KERNEL __launch_bounds__(THREADS) conv_forward_##type##_##BN(T *y, const T *x, const T *w, const T *bias, int relu, WINDOW) { \
    conv_forward<T, BN>(y, x, w, bias, relu, GEOMETRY); \
  } \
  KERNEL __launch_bounds__(THREADS) conv_backward_##type##_##BN(T *dx, const T *dy, const T *w, WINDOW) { conv_backward<T, BN>(dx, dy, w, GEOMETRY); } \
  KERNEL __launch_bounds__(THREADS) conv_filter_##type##_##BN(float *part, const T *x, const T *dy, int each, WINDOW) { \
    conv_filter<T, BN>(part, x, dy, each, GEOMETRY); \
  }
CONV(f32, float, 32)
CONV(f32, float, 64)
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
