// Batch normalization over the rows of x [rows, cols], whose elements are float or bfloat16 (u16); all else is float. Sums
// over rows come from blocks of 32 x 8, in parts that a second kernel adds up in order.

__device__ inline float load(float v) { return v; }
__device__ inline float load(u16 v) { return bf16_to_f32(v); }
__device__ inline void save(float *p, float v) { *p = v; }
__device__ inline void save(u16 *p, float v) { *p = f32_to_bf16(v); }

// N elements that are loaded and stored at once, where cols is a multiple of N.
template <class T, int N> struct __align__(sizeof(T) * N) Pack { T v[N]; };

struct Rows { i64 lo, hi, col; };

__device__ inline Rows rows_of_part(i64 rows) {
  i64 each = (rows + gridDim.y - 1) / gridDim.y, lo = each * blockIdx.y;
  return {lo + threadIdx.y, lo + each < rows ? lo + each : rows, blockIdx.x * 32ll + threadIdx.x};
}

// Adds v over the block's 8 rows of threads; the result is right in the first.
__device__ inline float sum_block_rows(float v) {
  __shared__ float part[8][33];
  __syncthreads(); // part may still be read
  part[threadIdx.y][threadIdx.x] = v;
  __syncthreads();
  if (threadIdx.y == 0)
    for (int i = 1; i < 8; i++) v += part[i][threadIdx.x];
  return v;
}

__device__ inline float sum_parts(const float *part, int parts, i64 cols, i64 c) {
  float s = 0;
  for (int p = 0; p < parts; p++) s += part[p * cols + c];
  return s;
}

// part[p, c] = sum of (x - mean)^2 over the rows of part p.
template <class X> __device__ void norm_centered_of(float *part, const X *x, const float *mean, i64 rows, i64 cols) {
  Rows r = rows_of_part(rows);
  float acc = 0;
  if (r.col < cols) {
    float m = mean[r.col];
    for (i64 i = r.lo; i < r.hi; i += 8) {
      float d = load(x[i * cols + r.col]) - m;
      acc += d * d;
    }
  }
  acc = sum_block_rows(acc);
  if (threadIdx.y == 0 && r.col < cols) part[blockIdx.y * cols + r.col] = acc;
}

KERNEL norm_centered(float *part, const float *x, const float *mean, i64 rows, i64 cols) { norm_centered_of(part, x, mean, rows, cols); }
KERNEL norm_centered_bf16(float *part, const u16 *x, const float *mean, i64 rows, i64 cols) { norm_centered_of(part, x, mean, rows, cols); }

// The variance out of its parts, what y = x*scale + shift needs, and the moving averages of the statistics
// (TensorFlow's exponential_avg_factor; 1 means the batch's own), with Bessel's correction for the variance.
KERNEL norm_finish(float *variance, float *scale, float *shift, float *mean_out, float *variance_out, const float *part, const float *mean,
                   const float *gamma, const float *beta, const float *mean_old, const float *variance_old, i64 rows, i64 cols, int parts, float epsilon, float factor) {
  EACH(c, cols) {
    float v = sum_parts(part, parts, cols, c) / (float)rows, m = mean[c];
    double s = (double)gamma[c] / sqrt((double)v + (double)epsilon);
    variance[c] = v;
    scale[c] = (float)s;
    shift[c] = (float)((double)beta[c] - (double)m * s);
    double mm = m, vv = (double)v * ((double)rows / (double)(rows > 1 ? rows - 1 : 1));
    if (factor != 1.f) {
      mm = (1 - (double)factor) * mean_old[c] + (double)factor * mm;
      vv = (1 - (double)factor) * variance_old[c] + (double)factor * vv;
    }
    mean_out[c] = (float)mm;
    variance_out[c] = (float)vv;
  }
}

// Inference: the fixed statistics as scale and shift.
KERNEL norm_fold(float *scale, float *shift, const float *gamma, const float *beta, const float *mean, const float *variance, i64 cols, float epsilon) {
  EACH(c, cols) {
    double s = (double)gamma[c] / sqrt((double)variance[c] + (double)epsilon);
    scale[c] = (float)s;
    shift[c] = (float)((double)beta[c] - (double)mean[c] * s);
  }
}

// y = x*scale + shift (+ add where it is not null), clipped below zero if relu.
template <class T, int N> __device__ void scale_shift_of(T *y, const T *x, const float *scale, const float *shift, const T *add, i64 n, i64 cols, int relu) {
  typedef Pack<T, N> P;
  EACH(k, n / N) {
    i64 c = k * N % cols;
    P in = ((const P *)x)[k], side, out;
    if (add) side = ((const P *)add)[k];
    for (int j = 0; j < N; j++) {
      float v = load(in.v[j]) * scale[c + j] + shift[c + j];
      if (add) v += load(side.v[j]);
      save(&out.v[j], relu ? max_nan(v, 0.f) : v);
    }
    ((P *)y)[k] = out;
  }
}

#define SCALE_SHIFT(suffix, T, N) KERNEL scale_shift##suffix(T *y, const T *x, const float *scale, const float *shift, const T *add, i64 n, i64 cols, int relu) { \
  scale_shift_of<T, N>(y, x, scale, shift, add, n, cols, relu); \
}
SCALE_SHIFT(, float, 1)
SCALE_SHIFT(_4, float, 4)
SCALE_SHIFT(_bf16, u16, 1)
SCALE_SHIFT(_bf16_8, u16, 8)

// Parts of sum(dy) and sum(dy * (x - mean)).
template <class X> __device__ void norm_grad_sums_of(float *part_dy, float *part_dot, const X *dy, const X *x, const float *mean, i64 rows, i64 cols) {
  Rows r = rows_of_part(rows);
  float a = 0, b = 0;
  if (r.col < cols) {
    float m = mean[r.col];
    for (i64 i = r.lo; i < r.hi; i += 8) {
      float d = load(dy[i * cols + r.col]);
      a += d;
      b += d * (load(x[i * cols + r.col]) - m);
    }
  }
  a = sum_block_rows(a);
  b = sum_block_rows(b);
  if (threadIdx.y == 0 && r.col < cols) {
    part_dy[blockIdx.y * cols + r.col] = a;
    part_dot[blockIdx.y * cols + r.col] = b;
  }
}

#define GRAD_SUMS(suffix, X) KERNEL norm_grad_sums##suffix(float *part_dy, float *part_dot, const X *dy, const X *x, const float *mean, i64 rows, i64 cols) { \
  norm_grad_sums_of(part_dy, part_dot, dy, x, mean, rows, cols); \
}
GRAD_SUMS(, float)
GRAD_SUMS(_bf16, u16)

// dgamma, dbeta, and coef [3, cols] with dx = coef0*dy + coef1*x + coef2.
KERNEL norm_grad_finish(float *dgamma, float *dbeta, float *coef, const float *part_dy, const float *part_dot, const float *gamma, const float *mean,
                        const float *variance, i64 rows, i64 cols, int parts, float epsilon, int training) {
  EACH(c, cols) {
    float sum = sum_parts(part_dy, parts, cols, c);
    double dot = sum_parts(part_dot, parts, cols, c), g = gamma[c], n = (double)rows, std = sqrt((double)variance[c] + (double)epsilon), k = 0, l = 0;
    if (training) {
      k = -g * dot / (n * std * std * std);
      l = -g / std * (double)sum / n - k * (double)mean[c];
    }
    dbeta[c] = sum;
    dgamma[c] = (float)(dot / std);
    coef[c] = (float)(g / std);
    coef[cols + c] = (float)k;
    coef[2 * cols + c] = (float)l;
  }
}

template <class T, int N> __device__ void norm_grad_input_of(T *dx, const T *dy, const T *x, const float *coef, i64 n, i64 cols) {
  typedef Pack<T, N> P;
  EACH(k, n / N) {
    i64 c = k * N % cols;
    P g = ((const P *)dy)[k], in = ((const P *)x)[k], out;
    for (int j = 0; j < N; j++)
      save(&out.v[j], coef[c + j] * load(g.v[j]) + coef[cols + c + j] * load(in.v[j]) + coef[2 * cols + c + j]);
    ((P *)dx)[k] = out;
  }
}

#define GRAD_INPUT(suffix, T, N) KERNEL norm_grad_input##suffix(T *dx, const T *dy, const T *x, const float *coef, i64 n, i64 cols) { \
  norm_grad_input_of<T, N>(dx, dy, x, coef, n, cols); \
}
GRAD_INPUT(, float, 1)
GRAD_INPUT(_4, float, 4)
GRAD_INPUT(_bf16, u16, 1)
GRAD_INPUT(_bf16_8, u16, 8)
