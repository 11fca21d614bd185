// Conversions, decoded images, and the activation after a bias.

KERNEL cast_f32_bf16(u16 *dst, const float *src, i64 n) { EACH(i, n) dst[i] = f32_to_bf16(src[i]); }
KERNEL cast_bf16_f32(float *dst, const u16 *src, i64 n) { EACH(i, n) dst[i] = bf16_to_f32(src[i]); }

// Images of bytes [.., channels] as numbers: v*scale[c] + shift[c].
KERNEL image_f32(float *dst, const u8 *src, const float *scale, const float *shift, i64 n, i64 channels) {
  EACH(i, n) dst[i] = (float)src[i] * scale[i % channels] + shift[i % channels];
}
KERNEL image_bf16(u16 *dst, const u8 *src, const float *scale, const float *shift, i64 n, i64 channels) {
  EACH(i, n) dst[i] = f32_to_bf16((float)src[i] * scale[i % channels] + shift[i % channels]);
}

enum { LINEAR, RELU, RELU6, SIGMOID, TANH, ELU };

__device__ inline float activate(float v, int act) {
  switch (act) {
  case RELU: return max_nan(v, 0.f);
  case RELU6: return min_nan(max_nan(v, 0.f), 6.f);
  case SIGMOID: return 1.f / (1.f + expf(-v));
  case TANH: return tanhf(v);
  case ELU: return v < 0.f ? expm1f(v) : v;
  }
  return v;
}

// y = act(x + bias[column]). y may be x.
KERNEL bias_activate(float *y, const float *x, const float *bias, i64 n, i64 cols, int act) {
  EACH(i, n) y[i] = activate(x[i] + bias[i % cols], act);
}

// dx = dy * act'(...), out of the result y. dx may be dy.
KERNEL activate_grad(float *dx, const float *dy, const float *y, i64 n, int act) {
  EACH(i, n) {
    float v = y[i], d = dy[i];
    switch (act) {
    case RELU: d = v > 0.f ? d : 0.f; break;
    case RELU6: d = v > 0.f && v < 6.f ? d : 0.f; break;
    case SIGMOID: d = d * v * (1.f - v); break;
    case TANH: d = d * (1.f - v * v); break;
    case ELU: d = v > 0.f ? d : d * (v + 1.f); break;
    }
    dx[i] = d;
  }
}
