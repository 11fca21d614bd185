// Convolutions of bfloat16 on tensor cores, where both sides have multiples of 8 channels: conv.cu's, with 32 terms in a step,
// and tiles of 128 x 64 of which a warp does 32 x 32.

enum { HALVES = 32, COLUMNS = 64, PITCH = 20 }; // a row has 16 words, and 4 more: those of a fragment lie in different banks

// The tile in shared memory, pairs of terms in words.
struct Halves {
  __align__(16) u32 a[BM][PITCH];
  __align__(16) u32 b[COLUMNS][PITCH];
};

struct __align__(16) Eight { u16 v[8]; };

__device__ inline Eight eight(const u16 *p) {
  Eight none = {};
  return p ? *(const Eight *)p : none;
}

// Eight numbers of eight rows, for the thread's term.
__device__ inline void put_across(u32 (*rows)[PITCH], int row, const Eight &v) {
#pragma unroll
  for (int i = 0; i < 8; i++) ((u16 *)rows[row + i])[threadIdx.x % HALVES] = v.v[i];
}

template <bool GRAD> struct HalfPixels : Pixels<u16, GRAD, HALVES, 8> {
  typedef Pixels<u16, GRAD, HALVES, 8> P;
  Eight v[P::LOADS];
  __device__ HalfPixels(const u16 *from, const Geometry &g) : P(from, g) {}
  __device__ void fetch() {
#pragma unroll
    for (int i = 0; i < P::LOADS; i++) v[i] = eight(this->pixel(i));
  }
  __device__ void put(Halves &s) {
#pragma unroll
    for (int i = 0; i < P::LOADS; i++) *(Eight *)(s.a[P::first() + i * P::HOP] + P::term() / 2) = v[i];
  }
};

// A matrix [terms, cols] as it is.
struct HalfMatrix {
  const u16 *from;
  int k, hi, cols, col;
  Eight v;
  __device__ HalfMatrix(const u16 *m, int lo, int hi, int cols) : k(lo + threadIdx.x % HALVES), hi(hi), cols(cols), col(blockIdx.y * COLUMNS + threadIdx.x / HALVES * 8) {
    from = m + (i64)k * cols + col;
  }
  __device__ void fetch() {
    v = eight(col < cols && k < hi ? from : 0);
    k += HALVES;
    from += (i64)HALVES * cols;
  }
  __device__ void put(Halves &s) { put_across(s.b, threadIdx.x / HALVES * 8, v); }
};

struct HalfForward {
  HalfPixels<false> a;
  HalfMatrix b;
  __device__ void fetch() {
    a.fetch();
    a.next();
    b.fetch();
  }
  __device__ void put(Halves &s) {
    a.put(s);
    b.put(s);
  }
};

struct HalfBackward {
  HalfPixels<true> a;
  const u16 *w;
  Eight v;
  __device__ void fetch() {
    a.fetch();
    int c = blockIdx.y * COLUMNS + a.first();
    v = eight(a.r < a.g.kH && c < a.g.inC ? w + (((i64)a.r * a.g.kW + a.s) * a.g.inC + c) * a.g.outC + a.c : 0);
    a.next();
  }
  __device__ void put(Halves &s) {
    a.put(s);
    *(Eight *)(s.b[a.first()] + a.term() / 2) = v;
  }
};

// A thread has one pixel of every step, and two times eight rows.
struct HalfTaps {
  int dh[2], dw[2], c[2]; // of the rows; c < 0: no such rows
  int n, h, w;            // of the pixel, in the result
  Eight v[2];
  HalfMatrix b;
  const u16 *x;
  const Geometry &g;

  __device__ HalfTaps(const u16 *x, const u16 *dy, int lo, int hi, const Geometry &g) : b(dy, lo, hi, g.outC), x(x), g(g) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      int m = blockIdx.x * BM + threadIdx.x / HALVES * 8 + 64 * i, tap = m / g.inC;
      c[i] = tap < g.kH * g.kW ? m % g.inC : -1;
      dh[i] = tap / g.kW * g.dilH - g.padTop;
      dw[i] = tap % g.kW * g.dilW - g.padLeft;
    }
    int p = lo + threadIdx.x % HALVES;
    w = p % g.outW;
    h = p / g.outW % g.outH;
    n = p / g.outW / g.outH;
  }
  __device__ void fetch() {
    const u16 *image = x + (i64)n * (g.inH * g.inW * g.inC);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      int y = h * g.strideH + dh[i], z = w * g.strideW + dw[i];
      bool in = c[i] >= 0 && n < g.batch && y >= 0 && y < g.inH && z >= 0 && z < g.inW;
      v[i] = eight(in ? image + (y * g.inW + z) * g.inC + c[i] : 0);
    }
    w += HALVES;
    while (w >= g.outW) {
      w -= g.outW;
      if (++h == g.outH) h = 0, n++;
    }
    b.fetch();
  }
  __device__ void put(Halves &s) {
#pragma unroll
    for (int i = 0; i < 2; i++) put_across(s.a, threadIdx.x / HALVES * 8 + 64 * i, v[i]);
    b.put(s);
  }
};

// The warp's 2 x 4 tiles of 16 x 8 results.
typedef float Fragments[2][4][4];

template <class L> __device__ void multiply_halves(Halves &s, Fragments &acc, L &load, int lo, int hi) {
  int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, row = warp % 4 * 32 + g, col = warp / 4 * 32 + g;
#pragma unroll
  for (int i = 0; i < 32; i++) acc[i / 16][i / 4 % 4][i % 4] = 0;
  each_step<HALVES>(s, load, lo, hi, [&] {
#pragma unroll
    for (int k = t; k < 16; k += 8) {
      u32 a[2][4], b[4][2];
#pragma unroll
      for (int i = 0; i < 8; i++) a[i / 4][i % 4] = s.a[row + i / 4 * 16 + i % 2 * 8][k + i / 2 % 2 * 4];
#pragma unroll
      for (int i = 0; i < 8; i++) b[i / 2][i % 2] = s.b[col + i / 2 * 8][k + i % 2 * 4];
#pragma unroll
      for (int i = 0; i < 8; i++) mma<u16>(acc[i / 4][i % 4], a[i / 4], b[i % 4]);
    }
  });
}

// Calls f(row, column, sum) for the thread's results inside the matrix.
template <class F> __device__ void each_fragment(Fragments &acc, i64 rows, int cols, F f) {
  int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  i64 row = (i64)blockIdx.x * BM + warp % 4 * 32 + g;
  int col = blockIdx.y * COLUMNS + warp / 4 * 32 + 2 * t;
#pragma unroll
  for (int i = 0; i < 32; i++) {
    i64 r = row + i / 16 * 16 + i / 2 % 2 * 8;
    int c = col + i / 4 % 4 * 8 + i % 2;
    if (r < rows && c < cols) f(r, c, acc[i / 16][i / 4 % 4][i % 4]);
  }
}

KERNEL __launch_bounds__(THREADS) conv_forward_tensor(u16 *y, const u16 *x, const u16 *w, const u16 *bias, int relu, WINDOW) {
  __shared__ Halves s;
  Geometry g = GEOMETRY;
  Fragments acc;
  int terms = g.kH * g.kW * g.inC;
  HalfForward load{{x, g}, {w, 0, terms, g.outC}};
  multiply_halves(s, acc, load, 0, terms);
  each_fragment(acc, (i64)g.batch * g.outH * g.outW, g.outC, [&](i64 i, int j, float v) {
    if (bias) v += number(bias[j]);
    keep(y + i * g.outC + j, relu ? max_nan(v, 0.f) : v);
  });
}

KERNEL __launch_bounds__(THREADS) conv_backward_tensor(u16 *dx, const u16 *dy, const u16 *w, WINDOW) {
  __shared__ Halves s;
  Geometry g = GEOMETRY;
  Fragments acc;
  HalfBackward load{{dy, g}, w};
  multiply_halves(s, acc, load, 0, g.kH * g.kW * g.outC);
  each_fragment(acc, (i64)g.batch * g.inH * g.inW, g.inC, [&](i64 i, int j, float v) { keep(dx + i * g.inC + j, v); });
}

KERNEL __launch_bounds__(THREADS) conv_filter_tensor(float *part, const u16 *x, const u16 *dy, int each, WINDOW) {
  __shared__ Halves s;
  Geometry g = GEOMETRY;
  Fragments acc;
  int pixels = g.batch * g.outH * g.outW, lo = each * blockIdx.z, hi = pixels - lo < each ? pixels : lo + each;
  int rows = g.kH * g.kW * g.inC;
  HalfTaps load(x, dy, lo, hi, g);
  multiply_halves(s, acc, load, lo, hi);
  part += (i64)blockIdx.z * rows * g.outC;
  each_fragment(acc, rows, g.outC, [&](i64 i, int j, float v) { part[i * g.outC + j] = v; });
}
