// Pooling over images in NHWC. Gradients gather: every pixel asks the windows that it lies in, so nothing is added
// atomically and the order is always the same.

#define WINDOW int batch, int inH, int inW, int chans, int outH, int outW, int kH, int kW, int strideH, int strideW, int dilH, int dilW, int padTop, int padLeft
#define GEOMETRY Geometry{batch, inH, inW, chans, outH, outW, kH, kW, strideH, strideW, dilH, dilW, padTop, padLeft}

struct Geometry {
  int batch, inH, inW, chans, outH, outW, kH, kW, strideH, strideW, dilH, dilW, padTop, padLeft;
  __device__ i64 in(int n, int h, int w, int c) const { return (((i64)n * inH + h) * inW + w) * chans + c; }
  __device__ i64 out(int n, int h, int w, int c) const { return (((i64)n * outH + h) * outW + w) * chans + c; }
};

struct Place { int n, h, w, c; };

__device__ inline Place place(i64 i, int H, int W, int C) {
  Place p;
  p.c = (int)(i % C);
  i /= C;
  p.w = (int)(i % W);
  i /= W;
  p.h = (int)(i % H);
  p.n = (int)(i / H);
  return p;
}

// Calls f(h, w) for the pixels inside the image of the window of an output.
template <class F> __device__ void each_pixel(const Geometry &g, int oh, int ow, F f) {
  for (int a = 0; a < g.kH; a++) {
    int h = oh * g.strideH - g.padTop + a * g.dilH;
    if (h < 0 || h >= g.inH) continue;
    for (int b = 0; b < g.kW; b++) {
      int w = ow * g.strideW - g.padLeft + b * g.dilW;
      if (w >= 0 && w < g.inW) f(h, w);
    }
  }
}

// Calls f(oh, ow) for the windows in which a pixel lies, first output first.
template <class F> __device__ void each_window(const Geometry &g, int h, int w, F f) {
  for (int a = g.kH - 1; a >= 0; a--) {
    int y = h + g.padTop - a * g.dilH;
    if (y < 0 || y % g.strideH || y / g.strideH >= g.outH) continue;
    for (int b = g.kW - 1; b >= 0; b--) {
      int x = w + g.padLeft - b * g.dilW;
      if (x >= 0 && x % g.strideW == 0 && x / g.strideW < g.outW) f(y / g.strideH, x / g.strideW);
    }
  }
}

KERNEL max_pool(float *y, const float *x, WINDOW) {
  Geometry g = GEOMETRY;
  EACH(i, (i64)g.batch * g.outH * g.outW * g.chans) {
    Place p = place(i, g.outH, g.outW, g.chans);
    float m = -INF;
    each_pixel(g, p.h, p.w, [&](int h, int w) { m = max_nan(m, x[g.in(p.n, h, w, p.c)]); });
    y[i] = m;
  }
}

// Each dy goes to the first largest pixel of its window.
KERNEL max_pool_grad(float *dx, const float *x, const float *y, const float *dy, WINDOW) {
  Geometry g = GEOMETRY;
  EACH(i, (i64)g.batch * g.inH * g.inW * g.chans) {
    Place p = place(i, g.inH, g.inW, g.chans);
    float v = x[i], sum = 0;
    each_window(g, p.h, p.w, [&](int oh, int ow) {
      i64 o = g.out(p.n, oh, ow, p.c);
      if (y[o] != v) return;
      bool first = true;
      each_pixel(g, oh, ow, [&](int h, int w) {
        if ((h < p.h || (h == p.h && w < p.w)) && x[g.in(p.n, h, w, p.c)] == v) first = false;
      });
      if (first) sum += dy[o];
    });
    dx[i] = sum;
  }
}

__device__ inline int inside(int from, int k, int step, int size) {
  int n = 0;
  for (int i = 0; i < k; i++) n += from + i * step >= 0 && from + i * step < size;
  return n;
}

__device__ inline float share(const Geometry &g, int oh, int ow) {
  int n = inside(oh * g.strideH - g.padTop, g.kH, g.dilH, g.inH) * inside(ow * g.strideW - g.padLeft, g.kW, g.dilW, g.inW);
  return n > 0 ? 1.f / n : 0.f;
}

// The mean over the pixels inside the image.
KERNEL avg_pool(float *y, const float *x, WINDOW) {
  Geometry g = GEOMETRY;
  EACH(i, (i64)g.batch * g.outH * g.outW * g.chans) {
    Place p = place(i, g.outH, g.outW, g.chans);
    float s = 0;
    each_pixel(g, p.h, p.w, [&](int h, int w) { s += x[g.in(p.n, h, w, p.c)]; });
    y[i] = s * share(g, p.h, p.w);
  }
}

KERNEL avg_pool_grad(float *dx, const float *dy, WINDOW) {
  Geometry g = GEOMETRY;
  EACH(i, (i64)g.batch * g.inH * g.inW * g.chans) {
    Place p = place(i, g.inH, g.inW, g.chans);
    float s = 0;
    each_window(g, p.h, p.w, [&](int oh, int ow) { s += dy[g.out(p.n, oh, ow, p.c)] * share(g, oh, ow); });
    dx[i] = s;
  }
}
