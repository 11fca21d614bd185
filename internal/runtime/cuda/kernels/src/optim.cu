// Updates of variables, by the rules of internal/runtime/kernels (TensorFlow's ResourceApply*). The scalars that a rule takes lie in
// memory of the GPU, one each, so that a captured graph sees new ones; a rule's constructor reads them. at does element i of
// the variable w and its slots with the gradient d. Nothing changes once there is a fault.

#define SCALARS const float *a0, const float *a1, const float *a2, const float *a3, const float *a4, const float *a5
#define SLOTS float *s0, float *s1, float *s2

// lr
struct Sgd {
  float lr;
  __device__ Sgd(SCALARS) : lr(*a0) {}
  __device__ void at(i64 i, float d, float *w, SLOTS, int) const { w[i] -= lr * d; }
};

// lr, momentum; slot 0: momentum; flag: nesterov
struct Momentum {
  float lr, mu;
  __device__ Momentum(SCALARS) : lr(*a0), mu(*a1) {}
  __device__ void at(i64 i, float d, float *w, SLOTS, int flag) const {
    float v = mu * s0[i] + d;
    s0[i] = v;
    w[i] -= flag ? lr * d + lr * mu * v : lr * v;
  }
};

// lr, momentum; slot 0: momentum; flag: nesterov
struct KerasMomentum {
  float lr, mu;
  __device__ KerasMomentum(SCALARS) : lr(*a0), mu(*a1) {}
  __device__ void at(i64 i, float d, float *w, SLOTS, int flag) const {
    float v = mu * s0[i] - lr * d;
    s0[i] = v;
    w[i] += flag ? mu * v - lr * d : v;
  }
};

// beta1^t, beta2^t, lr, beta1, beta2, epsilon; slots m, v; flag: nesterov. As on the host, the root of the rate's correction
// is taken in double precision.
struct Adam {
  float lr, b1, c1, c2, eps;
  __device__ Adam(SCALARS) : lr(*a2 * (float)sqrt((double)(1.f - *a1)) / (1.f - *a0)), b1(*a3), c1(1.f - *a3), c2(1.f - *a4), eps(*a5) {}
  __device__ void at(i64 i, float d, float *w, SLOTS, int flag) const {
    float m = s0[i] + (d - s0[i]) * c1, v = s1[i] + (d * d - s1[i]) * c2;
    s0[i] = m;
    s1[i] = v;
    if (flag) m = d * c1 + b1 * m;
    w[i] -= m * lr / (sqrtf(v) + eps);
  }
};

// lr, epsilon or null; slot 0: accumulator
struct Adagrad {
  float lr, eps;
  __device__ Adagrad(SCALARS) : lr(*a0), eps(a1 ? *a1 : 0.f) {}
  __device__ void at(i64 i, float d, float *w, SLOTS, int) const {
    float v = s0[i] + d * d;
    s0[i] = v;
    w[i] -= lr * d / (sqrtf(v) + eps);
  }
};

// lr, rho, momentum, epsilon; slots: mean square, momentum, mean of gradients (centered) or null
struct RmsProp {
  float lr, c, mu, eps;
  __device__ RmsProp(SCALARS) : lr(*a0), c(1.f - *a1), mu(*a2), eps(*a3) {}
  __device__ void at(i64 i, float d, float *w, SLOTS, int) const {
    float ms = s0[i] + (d * d - s0[i]) * c;
    s0[i] = ms;
    if (s2) {
      float mg = s2[i] + (d - s2[i]) * c;
      s2[i] = mg;
      ms -= mg * mg;
    }
    float step = mu * s1[i] + lr * d / sqrtf(ms + eps);
    s1[i] = step;
    w[i] -= step;
  }
};

// lr, l1, l2, shrinkage of l2 or null, power of lr; slots: accumulator, linear
struct Ftrl {
  float lr, l1, l2, shrink, power;
  __device__ Ftrl(SCALARS) : lr(*a0), l1(*a1), l2(*a2), shrink(a3 ? *a3 : 0.f), power(*a4) {}
  __device__ float root(float accum) const { return power == -0.5f ? sqrtf(accum) : powf(accum, -power); }
  __device__ void at(i64 i, float d, float *w, SLOTS, int) const {
    float v = w[i], old = s0[i], next = old + d * d, now = root(next);
    float linear = s1[i] + d + 2 * shrink * v - (now - root(old)) / lr * v;
    s0[i] = next;
    s1[i] = linear;
    w[i] = fabsf(linear) > l1 ? (copysignf(l1, linear) - linear) / (now / lr + 2 * l2) : 0.f;
  }
};

template <class Rule> __device__ void update(float *w, SLOTS, const float *grad, SCALARS, const i64 *fault, i64 n, int flag) {
  if (faulted(fault)) return;
  Rule rule(a0, a1, a2, a3, a4, a5);
  EACH(i, n) rule.at(i, grad[i], w, s0, s1, s2, flag);
}

// Rows of the tables, by the sums of runs of equal keys (see sort.cu): a key that is no row belongs to none.
template <class Rule> __device__ void update_rows(float *w, SLOTS, const float *parts, const u32 *keys, SCALARS, const i64 *fault, i64 n, i64 rows, i64 cols, int flag) {
  if (faulted(fault)) return;
  Rule rule(a0, a1, a2, a3, a4, a5);
  EACH(i, n * cols) {
    i64 p = i / cols, j = i - p * cols;
    u32 key = keys[p];
    if (key >= rows || (p && keys[p - 1] == key)) continue;
    rule.at((i64)key * cols + j, run_total(parts, keys, n, cols, p, j), w, s0, s1, s2, flag);
  }
}

// Up to 8 variables with one rule and the same scalars: blockIdx.y says which.
#define TENSOR(k) float *w##k, float *s0##k, float *s1##k, const float *grad##k, i64 n##k
#define PASS(k) w##k, s0##k, s1##k, grad##k, n##k
#define PICK(k) if (blockIdx.y == k) w = w##k, s0 = s0##k, s1 = s1##k, grad = grad##k, n = n##k;
template <class Rule> __device__ void update_many(TENSOR(0), TENSOR(1), TENSOR(2), TENSOR(3), TENSOR(4), TENSOR(5), TENSOR(6), TENSOR(7), SCALARS, const i64 *fault, int flag) {
  if (faulted(fault)) return;
  float *w = 0, *s0 = 0, *s1 = 0;
  const float *grad = 0;
  i64 n = 0;
  PICK(0) PICK(1) PICK(2) PICK(3) PICK(4) PICK(5) PICK(6) PICK(7)
  Rule rule(a0, a1, a2, a3, a4, a5);
  EACH(i, n) rule.at(i, grad[i], w, s0, s1, 0, flag);
}

#define UPDATES(name, Rule) \
  KERNEL update_##name(float *w, SLOTS, const float *grad, SCALARS, const i64 *fault, i64 n, int flag) { \
    update<Rule>(w, s0, s1, s2, grad, a0, a1, a2, a3, a4, a5, fault, n, flag); \
  } \
  KERNEL update_rows_##name(float *w, SLOTS, const float *parts, const u32 *keys, SCALARS, const i64 *fault, i64 n, i64 rows, i64 cols, int flag) { \
    update_rows<Rule>(w, s0, s1, s2, parts, keys, a0, a1, a2, a3, a4, a5, fault, n, rows, cols, flag); \
  } \
  KERNEL update_many_##name(TENSOR(0), TENSOR(1), TENSOR(2), TENSOR(3), TENSOR(4), TENSOR(5), TENSOR(6), TENSOR(7), SCALARS, const i64 *fault, int flag) { \
    update_many<Rule>(PASS(0), PASS(1), PASS(2), PASS(3), PASS(4), PASS(5), PASS(6), PASS(7), a0, a1, a2, a3, a4, a5, fault, flag); \
  }
UPDATES(sgd, Sgd)
UPDATES(momentum, Momentum)
UPDATES(keras_momentum, KerasMomentum)
UPDATES(adam, Adam)
UPDATES(adagrad, Adagrad)
UPDATES(rmsprop, RmsProp)
UPDATES(ftrl, Ftrl)

// out stands for a fault record in updates that are to be made only if keep is not 0. Without keep, it learns of faults since.
KERNEL guard(i64 *out, const u8 *keep, const i64 *fault) {
  EACH(i, 1) {
    if (faulted(fault)) out[i] = fault[0];
    else if (keep) out[i] = !keep[i];
  }
}

// A variable takes a value, or has it added or subtracted.
template <class T> __device__ void assign(T *w, const T *x, const i64 *fault, i64 n, int by) {
  if (faulted(fault)) return;
  EACH(i, n) w[i] = by > 0 ? w[i] + x[i] : by < 0 ? w[i] - x[i] : x[i];
}

#define ASSIGN(name, T) KERNEL assign_##name(T *w, const T *x, const i64 *fault, i64 n, int by) { assign(w, x, fault, n, by); }
ASSIGN(u8, u8)
ASSIGN(i32, int)
ASSIGN(i64, i64)
ASSIGN(f32, float)
ASSIGN(f64, double)
