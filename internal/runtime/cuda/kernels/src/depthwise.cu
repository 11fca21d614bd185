// Depthwise convolution over images in NHWC, filters [kH, kW, inC, m]: channel c feeds the outputs c*m .. c*m+m-1,
// m = outC / inC.

template <class T> __device__ void depthwise_of(T *y, const T *x, const T *w, Geometry g) {
  int m = g.outC / g.inC;
  EACH(i, (i64)g.batch * g.outH * g.outW * g.outC) {
    Place p = place(i, g.outH, g.outW, g.outC);
    int c = p.c / m;
    float s = 0;
    each_pixel(g, p.h, p.w, [&](int h, int v, int tap) { s += number(x[g.in(p.n, h, v, c)]) * number(w[(i64)tap * g.outC + p.c]); });
    keep(y + i, s);
  }
}

template <class T> __device__ void depthwise_input_grad_of(T *dx, const T *dy, const T *w, Geometry g) {
  int m = g.outC / g.inC;
  EACH(i, (i64)g.batch * g.inH * g.inW * g.inC) {
    Place p = place(i, g.inH, g.inW, g.inC);
    float s = 0;
    each_window(g, p.h, p.w, [&](int oh, int ow, int tap) {
      i64 o = g.out(p.n, oh, ow, p.c * m), t = (i64)tap * g.outC + p.c * m;
      for (int j = 0; j < m; j++) s += number(dy[o + j]) * number(w[t + j]);
    });
    keep(dx + i, s);
  }
}

// part[p, tap, o] = the sum over the rows of outputs of part p. Blocks of 32 x 8 do 32 channels of a tap; the grid is
// channels, parts, taps.
template <class T> __device__ void depthwise_filter_grad_of(float *part, const T *x, const T *dy, Geometry g) {
  __shared__ float sums[8][33];
  int o = blockIdx.x * 32 + threadIdx.x, a = blockIdx.z / g.kW, b = blockIdx.z % g.kW;
  i64 rows = (i64)g.batch * g.outH, each = (rows + gridDim.y - 1) / gridDim.y, lo = each * blockIdx.y, hi = lo + each < rows ? lo + each : rows;
  float s = 0;
  if (o < g.outC) {
    int c = o / (g.outC / g.inC);
    for (i64 r = lo; r < hi; r++) {
      int n = (int)(r / g.outH), h = (int)(r % g.outH) * g.strideH - g.padTop + a * g.dilH;
      if (h < 0 || h >= g.inH) continue;
      const T *image = x + g.in(n, h, 0, c), *out = dy + r * g.outW * g.outC + o;
      for (int ow = threadIdx.y; ow < g.outW; ow += 8) {
        int v = ow * g.strideW - g.padLeft + b * g.dilW;
        if (v >= 0 && v < g.inW) s += number(image[(i64)v * g.inC]) * number(out[(i64)ow * g.outC]);
      }
    }
  }
  sums[threadIdx.y][threadIdx.x] = s;
  __syncthreads();
  if (threadIdx.y != 0 || o >= g.outC) return;
  for (int i = 1; i < 8; i++) s += sums[i][threadIdx.x];
  part[((i64)blockIdx.y * gridDim.z + blockIdx.z) * g.outC + o] = s;
}

#define THREE(T) (T *y, const T *a, const T *b, WINDOW)
#define PARTS(T) (float *part, const T *x, const T *dy, WINDOW)
BOTH(depthwise, THREE, y, a, b, GEOMETRY)
BOTH(depthwise_input_grad, THREE, y, a, b, GEOMETRY)
BOTH(depthwise_filter_grad, PARTS, part, x, dy, GEOMETRY)
