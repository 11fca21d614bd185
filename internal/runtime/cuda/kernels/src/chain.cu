// Functions of one element, for generated kernels: the host's definitions for float and double.
#define BOTH(name) \
  __device__ inline float name##_(float x) { return name##f(x); } \
  __device__ inline double name##_(double x) { return name(x); }
BOTH(fabs) LIBM // LIBM: those that ops are defined by
__device__ inline float pow_(float a, float b) { return powf(a, b); }
__device__ inline double pow_(double a, double b) { return pow(a, b); }
__device__ inline float fmod_(float a, float b) { return fmodf(a, b); }
__device__ inline double fmod_(double a, double b) { return fmod(a, b); }
#undef BOTH

#define FN template <class T> __device__ inline T
FN larger(T a, T b) { return (a > b || a != a) ? a : b; }
FN smaller(T a, T b) { return (a < b || a != a) ? a : b; }
FN absolute(T x) { return x < 0 ? -x : x; }
__device__ inline float absolute(float x) { return fabs_(x); }
__device__ inline double absolute(double x) { return fabs_(x); }
FN sign(T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : x; }
FN square(T x) { return x * x; }
FN rsqrt_(T x) { return T(1) / sqrt_(x); }
FN reciprocal(T x) { return T(1) / x; }
FN relu(T x) { return x > 0 || x != x ? x : T(0); }
FN relu6(T x) { return x > 6 ? T(6) : relu(x); }
FN sigmoid(T x) { return T(1) / (T(1) + exp_(-x)); }
FN softplus(T x) { return larger(x, T(0)) + log1p_(exp_(-absolute(x))); }
FN elu(T x) { return x < 0 ? expm1_(x) : x; }
FN softsign(T x) { return x / (T(1) + absolute(x)); }
// The host's, and TensorFlow's: it is 0 where x is next to 0.
FN selu(T x) { return x < 0 ? T(1.0507009873554804934 * 1.6732632423543772848) * (exp_(x) - T(1)) : T(1.0507009873554804934) * x; }
FN leaky_relu(T x, T alpha) { return x > 0 ? x : alpha * x; }
FN squared_difference(T a, T b) { return (a - b) * (a - b); }
FN div_no_nan(T a, T b) { return b == 0 ? T(0) : a / b; }
FN floor_div(T a, T b) { return floor_(a / b); }
FN floor_mod(T a, T b) {
  T m = fmod_(a, b);
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}
// Quotients of integers are rounded down; a divisor of zero is a fault.
FN floor_div_int(T a, T b, i64 *fault, i64 op, i64 i) {
  if (b == 0) {
    fault_at(fault, op, 0, i, 0);
    return 0;
  }
  if (b == T(-1)) return (T)(0 - (u64)a); // the least number has no opposite: the division would trap
  T q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
FN floor_mod_int(T a, T b, i64 *fault, i64 op, i64 i) {
  if (b == 0) fault_at(fault, op, 0, i, 0);
  if (b == 0 || b == T(-1)) return 0;
  T m = a % b;
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}
FN relu_grad(T dy, T x) { return dy * T(x > 0); }
FN relu6_grad(T dy, T x) { return dy * T(x > 0 && x < 6); }
FN leaky_relu_grad(T dy, T x, T alpha) { return x > 0 ? dy : alpha * dy; }
FN sigmoid_grad(T dy, T y) { return dy * y * (T(1) - y); }
FN tanh_grad(T dy, T y) { return dy * (T(1) - y * y); }
FN sqrt_grad(T dy, T y) { return dy == 0 ? T(0) : dy * T(0.5) / y; }
FN rsqrt_grad(T dy, T y) { return dy == 0 ? T(0) : dy * T(-0.5) * y * y * y; }
FN reciprocal_grad(T dy, T y) { return dy == 0 ? T(0) : -dy * y * y; }
FN elu_grad(T dy, T y) { return y < 0 ? dy * (y + T(1)) : dy; }
FN softplus_grad(T dy, T x) { return dy * sigmoid(x); }
FN selu_grad(T dy, T y) { return y < 0 ? dy * (y + T(1.0507009873554804934 * 1.6732632423543772848)) : dy * T(1.0507009873554804934); }
FN softsign_grad(T dy, T x) { return dy / ((T(1) + absolute(x)) * (T(1) + absolute(x))); }
#undef FN

// N elements that are loaded and stored at once.
template <class T, int N> struct __align__(sizeof(T) * N) Pack { T v[N]; };
