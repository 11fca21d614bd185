// Sums over GPUs: what the others have was copied to parts before, stride elements for each.
template <class T> struct Wide { typedef T type; __device__ static T of(T v) { return v; } __device__ static T back(T v) { return v; } };
template <> struct Wide<u16> {
  typedef float type;
  __device__ static float of(u16 v) { return bf16_to_f32(v); }
  __device__ static u16 back(float v) { return f32_to_bf16(v); }
};

// Adds in the order of the ranks, whichever GPU does it: own is that of rank self.
template <class T> __device__ void peers_sum(T *own, const T *parts, i64 n, i64 stride, i64 count, i64 self) {
  EACH(i, n) {
    typename Wide<T>::type sum = Wide<T>::of(self == 0 ? own[i] : parts[i]);
    for (i64 k = 1; k < count; k++) sum += Wide<T>::of(k == self ? own[i] : parts[k * stride + i]);
    own[i] = Wide<T>::back(sum);
  }
}

KERNEL peers_sum_f32(float *own, const float *parts, i64 n, i64 stride, i64 count, i64 self) { peers_sum(own, parts, n, stride, count, self); }
KERNEL peers_sum_f64(double *own, const double *parts, i64 n, i64 stride, i64 count, i64 self) { peers_sum(own, parts, n, stride, count, self); }
KERNEL peers_sum_bf16(u16 *own, const u16 *parts, i64 n, i64 stride, i64 count, i64 self) { peers_sum(own, parts, n, stride, count, self); }
KERNEL peers_sum_i64(i64 *own, const i64 *parts, i64 n, i64 stride, i64 count, i64 self) { peers_sum(own, parts, n, stride, count, self); }

KERNEL peers_divide_f32(float *x, i64 n, i64 by) { EACH(i, n) x[i] /= (float)by; }
KERNEL peers_divide_f64(double *x, i64 n, i64 by) { EACH(i, n) x[i] /= (double)by; }
