// Updates of variables, by the rules of internal/kernels (TensorFlow's ResourceApply*). k holds the step's constants in
// memory of the GPU, so that a captured graph sees new ones; k[7] multiplies the gradient (loss scaling, clipping).

#define UPDATE float *w, const float *grad, float *s0, float *s1, float *s2, const float *k, i64 n, int flag

// k: lr
KERNEL update_sgd(UPDATE) {
  float lr = k[0], by = k[7];
  EACH(i, n) w[i] -= lr * (grad[i] * by);
}

// k: lr, momentum; flag: nesterov
KERNEL update_momentum(UPDATE) {
  float lr = k[0], mu = k[1], by = k[7];
  EACH(i, n) {
    float d = grad[i] * by, v = mu * s0[i] + d;
    s0[i] = v;
    w[i] -= flag ? lr * d + lr * mu * v : lr * v;
  }
}

// k: lr, momentum; flag: nesterov
KERNEL update_keras_momentum(UPDATE) {
  float lr = k[0], mu = k[1], by = k[7];
  EACH(i, n) {
    float d = grad[i] * by, v = mu * s0[i] - lr * d;
    s0[i] = v;
    w[i] += flag ? mu * v - lr * d : v;
  }
}

// k: corrected lr, beta1, 1-beta1, 1-beta2, epsilon, 1-decay; flag: nesterov
KERNEL update_adam(UPDATE) {
  float lr = k[0], b1 = k[1], c1 = k[2], c2 = k[3], eps = k[4], keep = k[5], by = k[7];
  EACH(i, n) {
    float d = grad[i] * by, m = s0[i] + (d - s0[i]) * c1, v = s1[i] + (d * d - s1[i]) * c2;
    s0[i] = m;
    s1[i] = v;
    if (flag) m = d * c1 + b1 * m;
    w[i] = w[i] * keep - m * lr / (sqrtf(v) + eps);
  }
}

// k: lr, epsilon
KERNEL update_adagrad(UPDATE) {
  float lr = k[0], eps = k[1], by = k[7];
  EACH(i, n) {
    float d = grad[i] * by, v = s0[i] + d * d;
    s0[i] = v;
    w[i] -= lr * d / (sqrtf(v) + eps);
  }
}

// k: lr, 1-rho, momentum, epsilon; s1: momentum or null; s2: mean of gradients (centered) or null; flag: epsilon outside of the root
KERNEL update_rmsprop(UPDATE) {
  float lr = k[0], c = k[1], mu = k[2], eps = k[3], by = k[7];
  EACH(i, n) {
    float d = grad[i] * by, ms = s0[i] + (d * d - s0[i]) * c;
    s0[i] = ms;
    if (s2) {
      float mg = s2[i] + (d - s2[i]) * c;
      s2[i] = mg;
      ms -= mg * mg;
    }
    float step = flag ? lr * d / (sqrtf(ms) + eps) : lr * d / sqrtf(ms + eps);
    if (s1) {
      step += mu * s1[i];
      s1[i] = step;
    }
    w[i] -= step;
  }
}

__device__ inline float ftrl_root(float accum, float power) { return power == -0.5f ? sqrtf(accum) : powf(accum, -power); }

// k: lr, l1, l2, l2 shrinkage, power of lr
KERNEL update_ftrl(UPDATE) {
  float lr = k[0], l1 = k[1], l2 = k[2], shrink = k[3], power = k[4], by = k[7];
  EACH(i, n) {
    float d = grad[i] * by, v = w[i], old = s0[i], next = old + d * d, root = ftrl_root(next, power);
    float linear = s1[i] + d + 2 * shrink * v - (root - ftrl_root(old, power)) / lr * v;
    s0[i] = next;
    s1[i] = linear;
    w[i] = fabsf(linear) > l1 ? (copysignf(l1, linear) - linear) / (root / lr + 2 * l2) : 0.f;
  }
}
