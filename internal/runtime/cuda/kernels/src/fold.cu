// Reductions of any element type over any dimensions: a group of 32 or 256 threads does one element of the result. Sums are
// added in an order that depends on the sizes alone.

enum { SUM, MEAN, MAX, MIN, PROD, SUM_SQUARES };

#define FOUR(p) i64 p##0, i64 p##1, i64 p##2, i64 p##3

// The place of element i of up to four dimensions of sizes n and steps s, the last of which goes fastest.
__device__ inline i64 place(i64 i, FOUR(n), FOUR(s)) {
  i64 at = i % n3 * s3;
  i /= n3;
  at += i % n2 * s2;
  i /= n2;
  return at + i % n1 * s1 + i / n1 * s0;
}

template <class A> struct Limits;
template <> struct Limits<float> { __device__ static float low() { return -INF; } __device__ static float high() { return INF; } };
template <> struct Limits<double> { __device__ static double low() { return -INF; } __device__ static double high() { return INF; } };
template <> struct Limits<int> { __device__ static int low() { return (int)0x80000000u; } __device__ static int high() { return 0x7fffffff; } };
template <> struct Limits<i64> { __device__ static i64 low() { return (i64)0x8000000000000000ull; } __device__ static i64 high() { return 0x7fffffffffffffffll; } };

template <class A> __device__ A nothing(int op) {
  switch (op) {
  case MAX: return Limits<A>::low();
  case MIN: return Limits<A>::high();
  case PROD: return 1;
  }
  return 0;
}

template <class A> __device__ A both(int op, A a, A b) {
  switch (op) {
  case MAX: return (a > b || a != a) ? a : b;
  case MIN: return (a < b || a != a) ? a : b;
  case PROD: return a * b;
  }
  return a + b;
}

__device__ inline float load(float v) { return v; }
__device__ inline double load(double v) { return v; }
__device__ inline float load(u16 v) { return bf16_to_f32(v); }
__device__ inline int load(int v) { return v; }
__device__ inline i64 load(i64 v) { return v; }
__device__ inline int load(u8 v) { return v != 0; }

__device__ inline void save(float *p, float v) { *p = v; }
__device__ inline void save(double *p, double v) { *p = v; }
__device__ inline void save(u16 *p, float v) { *p = f32_to_bf16(v); }
__device__ inline void save(int *p, int v) { *p = v; }
__device__ inline void save(i64 *p, i64 v) { *p = v; }
__device__ inline void save(u8 *p, int v) { *p = (u8)v; }

// Reduces n elements for each of count; k are the sizes and steps in x of what is kept, r of what is reduced.
template <class T, class A> __device__ void fold(T *dst, const T *x, i64 count, i64 n, FOUR(k), FOUR(ks), FOUR(r), FOUR(rs), int op, int group, A scale) {
  __shared__ A part[256];
  int lane = threadIdx.x % group, groups = 256 / group;
  for (i64 first = blockIdx.x * (i64)groups; first < count; first += gridDim.x * (i64)groups) {
    i64 o = first + threadIdx.x / group;
    A acc = nothing<A>(op);
    if (o < count) {
      const T *from = x + place(o, k0, k1, k2, k3, ks0, ks1, ks2, ks3);
      for (i64 i = lane; i < n; i += group) {
        A v = load(from[place(i, r0, r1, r2, r3, rs0, rs1, rs2, rs3)]);
        acc = both<A>(op, acc, op == SUM_SQUARES ? v * v : v);
      }
    }
    part[threadIdx.x] = acc;
    __syncthreads();
    if (lane == 0 && o < count) {
      for (int i = 1; i < group; i++) acc = both<A>(op, acc, part[threadIdx.x + i]);
      save(dst + o, op == MEAN || op == SUM_SQUARES ? acc * scale : acc);
    }
    __syncthreads();
  }
}

#define FOLD(name, T, A) KERNEL fold_##name(T *dst, const T *x, i64 count, i64 n, FOUR(k), FOUR(ks), FOUR(r), FOUR(rs), int op, int group, float scale) { \
  fold<T, A>(dst, x, count, n, k0, k1, k2, k3, ks0, ks1, ks2, ks3, r0, r1, r2, r3, rs0, rs1, rs2, rs3, op, group, op == MEAN ? (A)1 / (A)(n > 0 ? n : 1) : (A)scale); \
}
FOLD(f32, float, float)
FOLD(f64, double, double)
FOLD(bf16, u16, float)
FOLD(i32, int, int)
FOLD(i64, i64, i64)
FOLD(bool, u8, int)

// The place of the best of each n of x [outer, n, inner]: the first of equal ones. NaN is none, and neither is an infinity that is the worst of all beside it.
template <class T, class I> __device__ void arg(I *dst, const T *x, i64 outer, i64 n, i64 inner, int smallest) {
  EACH(i, outer * inner) {
    const T *from = x + i / inner * n * inner + i % inner;
    T best = from[0];
    i64 at = 0;
    for (i64 k = 1; k < n; k++) {
      T v = from[k * inner];
      if ((smallest ? v < best : v > best) || (best != best && (smallest ? v < (T)INF : v > (T)-INF))) {
        best = v;
        at = k;
      }
    }
    dst[i] = (I)at;
  }
}

#define ARG(name, T) \
  KERNEL arg_##name##_i32(int *dst, const T *x, i64 outer, i64 n, i64 inner, int smallest) { arg(dst, x, outer, n, inner, smallest); } \
  KERNEL arg_##name##_i64(i64 *dst, const T *x, i64 outer, i64 n, i64 inner, int smallest) { arg(dst, x, outer, n, inner, smallest); }
ARG(f32, float)
ARG(f64, double)
ARG(i32, int)
ARG(i64, i64)
ARG(u8, u8)

// dst[i] = start + i*delta.
#define RANGE(name, T) KERNEL range_##name(T *dst, const T *start, const T *delta, i64 n) { EACH(i, n) dst[i] = *start + (T)i * *delta; }
RANGE(f32, float)
RANGE(f64, double)
RANGE(i32, int)
RANGE(i64, i64)
