// Pooling over images in NHWC. The largest is that of the host: NaN counts for none, and no result is below the lowest finite
// number. Gradients gather: every pixel asks the windows that it lies in, so nothing is added
// atomically and the order is always the same.

template <class T> __device__ void max_pool_of(T *y, const T *x, Geometry g) {
  EACH(i, (i64)g.batch * g.outH * g.outW * g.inC) {
    Place p = place(i, g.outH, g.outW, g.inC);
    float m = LOWEST;
    each_pixel(g, p.h, p.w, [&](int h, int w, int) {
      float v = number(x[g.in(p.n, h, w, p.c)]);
      if (v > m) m = v;
    });
    keep(y + i, m);
  }
}

// Whether v is the largest of a window, top.
__device__ inline bool at_top(float v, float top) { return v == top || (v < top && top == LOWEST); }

// Each dy goes to the first largest pixel of its window, or to the first one where that is NaN.
template <class T> __device__ void max_pool_grad_of(T *dx, const T *x, const T *y, const T *dy, Geometry g) {
  EACH(i, (i64)g.batch * g.inH * g.inW * g.inC) {
    Place p = place(i, g.inH, g.inW, g.inC);
    float v = number(x[i]), sum = 0;
    each_window(g, p.h, p.w, [&](int oh, int ow, int) {
      i64 o = g.out(p.n, oh, ow, p.c);
      float top = number(y[o]);
      if (!at_top(v, top) && v == v) return;
      bool first = true, taken = false;
      each_pixel(g, oh, ow, [&](int h, int w, int) {
        float u = number(x[g.in(p.n, h, w, p.c)]);
        if (h < p.h || (h == p.h && w < p.w)) taken = taken || at_top(u, top) || (first && u != u);
        else if (h == p.h && w == p.w) taken = taken || (v != v && !first);
        first = false;
      });
      if (!taken) sum += number(dy[o]);
    });
    keep(dx + i, sum);
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
template <class T> __device__ void avg_pool_of(T *y, const T *x, Geometry g) {
  EACH(i, (i64)g.batch * g.outH * g.outW * g.inC) {
    Place p = place(i, g.outH, g.outW, g.inC);
    float s = 0;
    each_pixel(g, p.h, p.w, [&](int h, int w, int) { s += number(x[g.in(p.n, h, w, p.c)]); });
    keep(y + i, s * share(g, p.h, p.w));
  }
}

template <class T> __device__ void avg_pool_grad_of(T *dx, const T *dy, Geometry g) {
  EACH(i, (i64)g.batch * g.inH * g.inW * g.inC) {
    Place p = place(i, g.inH, g.inW, g.inC);
    float s = 0;
    each_window(g, p.h, p.w, [&](int oh, int ow, int) { s += number(dy[g.out(p.n, oh, ow, p.c)]) * share(g, oh, ow); });
    keep(dx + i, s);
  }
}

#define TWO(T) (T *y, const T *x, WINDOW)
#define FOUR(T) (T *dx, const T *x, const T *y, const T *dy, WINDOW)
BOTH(max_pool, TWO, y, x, GEOMETRY)
BOTH(max_pool_grad, FOUR, dx, x, y, dy, GEOMETRY)
BOTH(avg_pool, TWO, y, x, GEOMETRY)
BOTH(avg_pool_grad, TWO, y, x, GEOMETRY)
