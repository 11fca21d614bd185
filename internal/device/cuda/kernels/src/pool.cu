// Pooling over images in NHWC. Gradients gather: every pixel asks the windows that it lies in, so nothing is added
// atomically and the order is always the same.

template <class T> __device__ void max_pool_of(T *y, const T *x, Geometry g) {
  EACH(i, (i64)g.batch * g.outH * g.outW * g.inC) {
    Place p = place(i, g.outH, g.outW, g.inC);
    float m = -INF;
    each_pixel(g, p.h, p.w, [&](int h, int w, int) { m = max_nan(m, number(x[g.in(p.n, h, w, p.c)])); });
    keep(y + i, m);
  }
}

// Each dy goes to the first largest pixel of its window.
template <class T> __device__ void max_pool_grad_of(T *dx, const T *x, const T *y, const T *dy, Geometry g) {
  EACH(i, (i64)g.batch * g.inH * g.inW * g.inC) {
    Place p = place(i, g.inH, g.inW, g.inC);
    float v = number(x[i]), sum = 0;
    each_window(g, p.h, p.w, [&](int oh, int ow, int) {
      i64 o = g.out(p.n, oh, ow, p.c);
      if (number(y[o]) != v) return;
      bool first = true;
      each_pixel(g, oh, ow, [&](int h, int w, int) {
        if ((h < p.h || (h == p.h && w < p.w)) && number(x[g.in(p.n, h, w, p.c)]) == v) first = false;
      });
      if (first) sum += number(dy[o]);
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
