// Windows that slide over images in NHWC, and numbers stored as float or bfloat16.

#define WINDOW int batch, int inH, int inW, int inC, int outH, int outW, int outC, int kH, int kW, int strideH, int strideW, int dilH, int dilW, int padTop, int padLeft
#define GEOMETRY Geometry{batch, inH, inW, inC, outH, outW, outC, kH, kW, strideH, strideW, dilH, dilW, padTop, padLeft}

struct Geometry {
  int batch, inH, inW, inC, outH, outW, outC, kH, kW, strideH, strideW, dilH, dilW, padTop, padLeft;
  __device__ i64 in(int n, int h, int w, int c) const { return (((i64)n * inH + h) * inW + w) * inC + c; }
  __device__ i64 out(int n, int h, int w, int c) const { return (((i64)n * outH + h) * outW + w) * outC + c; }
};

struct Place { int n, h, w, c; };

__device__ inline Place place(i64 i, int H, int W, int C) {
  Place p;
  if (i >> 31 == 0) { // division of 64 bits takes several times as long
    u32 j = (u32)i;
    p.c = j % C;
    j /= C;
    p.w = j % W;
    j /= W;
    p.h = j % H;
    p.n = j / H;
    return p;
  }
  p.c = (int)(i % C);
  i /= C;
  p.w = (int)(i % W);
  i /= W;
  p.h = (int)(i % H);
  p.n = (int)(i / H);
  return p;
}

// Calls f(h, w, tap) for the pixels inside the image of the window of an output.
template <class F> __device__ void each_pixel(const Geometry &g, int oh, int ow, F f) {
  for (int a = 0; a < g.kH; a++) {
    int h = oh * g.strideH - g.padTop + a * g.dilH;
    if (h < 0 || h >= g.inH) continue;
    for (int b = 0; b < g.kW; b++) {
      int w = ow * g.strideW - g.padLeft + b * g.dilW;
      if (w >= 0 && w < g.inW) f(h, w, a * g.kW + b);
    }
  }
}

// Calls f(oh, ow, tap) for the windows in which a pixel lies, first output first.
template <class F> __device__ void each_window(const Geometry &g, int h, int w, F f) {
  for (int a = g.kH - 1; a >= 0; a--) {
    int y = h + g.padTop - a * g.dilH;
    if (y < 0 || y % g.strideH || y / g.strideH >= g.outH) continue;
    for (int b = g.kW - 1; b >= 0; b--) {
      int x = w + g.padLeft - b * g.dilW;
      if (x >= 0 && x % g.strideW == 0 && x / g.strideW < g.outW) f(y / g.strideH, x / g.strideW, a * g.kW + b);
    }
  }
}

__device__ inline float number(float v) { return v; }
__device__ inline float number(u16 v) { return bf16_to_f32(v); }
__device__ inline void keep(float *p, float v) { *p = v; }
__device__ inline void keep(u16 *p, float v) { *p = f32_to_bf16(v); }

// Kernels of both types: name_f32 and name_bf16 call the template name_of.
#define BOTH(name, params, ...) \
  KERNEL name##_f32 params(float) { name##_of<float>(__VA_ARGS__); } \
  KERNEL name##_bf16 params(u16) { name##_of<u16>(__VA_ARGS__); }
