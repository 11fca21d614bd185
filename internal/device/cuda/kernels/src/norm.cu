// Batch normalization over the rows of x [rows, cols]. Sums over rows come from blocks of 32 x 8, in parts that a second
// kernel adds up in order.

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
KERNEL norm_centered(float *part, const float *x, const float *mean, i64 rows, i64 cols) {
  Rows r = rows_of_part(rows);
  float acc = 0;
  if (r.col < cols) {
    float m = mean[r.col];
    for (i64 i = r.lo; i < r.hi; i += 8) {
      float d = x[i * cols + r.col] - m;
      acc += d * d;
    }
  }
  acc = sum_block_rows(acc);
  if (threadIdx.y == 0 && r.col < cols) part[blockIdx.y * cols + r.col] = acc;
}

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
KERNEL scale_shift(float *y, const float *x, const float *scale, const float *shift, const float *add, i64 n, i64 cols, int relu) {
  EACH(i, n) {
    i64 c = i % cols;
    float v = x[i] * scale[c] + shift[c];
    if (add) v += add[i];
    y[i] = relu ? max_nan(v, 0.f) : v;
  }
}

// Parts of sum(dy) and sum(dy * (x - mean)).
KERNEL norm_grad_sums(float *part_dy, float *part_dot, const float *dy, const float *x, const float *mean, i64 rows, i64 cols) {
  Rows r = rows_of_part(rows);
  float a = 0, b = 0;
  if (r.col < cols) {
    float m = mean[r.col];
    for (i64 i = r.lo; i < r.hi; i += 8) {
      float d = dy[i * cols + r.col];
      a += d;
      b += d * (x[i * cols + r.col] - m);
    }
  }
  a = sum_block_rows(a);
  b = sum_block_rows(b);
  if (threadIdx.y == 0 && r.col < cols) {
    part_dy[blockIdx.y * cols + r.col] = a;
    part_dot[blockIdx.y * cols + r.col] = b;
  }
}

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

KERNEL norm_grad_input(float *dx, const float *dy, const float *x, const float *coef, i64 n, i64 cols) {
  EACH(i, n) {
    i64 c = i % cols;
    dx[i] = coef[c] * dy[i] + coef[cols + c] * x[i] + coef[2 * cols + c];
  }
}
