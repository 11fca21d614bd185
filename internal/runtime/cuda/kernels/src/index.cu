// Selecting by index.

// out[o, k, j] = x[o, ids[k], j] for x [outer, n, inner]; with each, ids are [outer, count]. An index that is none is a fault;
// negative ones give zeros where they are padding.
template <class T, class I> __device__ void gather(T *out, const T *x, const I *ids, i64 *fault, i64 op, i64 outer, i64 count, i64 n, i64 inner, int each, int padding) {
  EACH(i, outer * count * inner) {
    i64 r = i / inner, j = i - r * inner, o = r / count, k = r - o * count, id = ids[each ? r : k];
    T v = {};
    if (id >= 0 && id < n) v = x[(o * n + id) * inner + j];
    else if (id >= n || !padding) fault_at(fault, op, id, each ? r : k, n);
    out[i] = v;
  }
}

#define GATHER(size, T) \
  KERNEL gather_##size##_i32(T *out, const T *x, const int *ids, i64 *fault, i64 op, i64 outer, i64 count, i64 n, i64 inner, int each, int padding) { gather(out, x, ids, fault, op, outer, count, n, inner, each, padding); } \
  KERNEL gather_##size##_i64(T *out, const T *x, const i64 *ids, i64 *fault, i64 op, i64 outer, i64 count, i64 n, i64 inner, int each, int padding) { gather(out, x, ids, fault, op, outer, count, n, inner, each, padding); }
GATHER(1, u8)
GATHER(2, u16)
GATHER(4, u32)
GATHER(8, u64)
GATHER(16, quad)

// out[o, d, j] is on where ids[o, j] == d, else off.
template <class T, class I> __device__ void one_hot(T *out, const I *ids, const T *on, const T *off, i64 outer, i64 depth, i64 inner) {
  T yes = *on, no = *off;
  EACH(i, outer * depth * inner) {
    i64 r = i / inner, j = i - r * inner, o = r / depth;
    out[i] = (i64)ids[o * inner + j] == r - o * depth ? yes : no;
  }
}

#define ONE_HOT(size, T) \
  KERNEL one_hot_##size##_i32(T *out, const int *ids, const T *on, const T *off, i64 outer, i64 depth, i64 inner) { one_hot(out, ids, on, off, outer, depth, inner); } \
  KERNEL one_hot_##size##_i64(T *out, const i64 *ids, const T *on, const T *off, i64 outer, i64 depth, i64 inner) { one_hot(out, ids, on, off, outer, depth, inner); }
ONE_HOT(1, u8)
ONE_HOT(4, u32)
ONE_HOT(8, u64)

// The k largest of each row in order, of equal ones the first first. A block does a row, a pass over it for each.
KERNEL top_k(float *values, int *columns, const float *x, i64 rows, i64 n, i64 k) {
  __shared__ float best[256];
  __shared__ i64 place[256];
  int t = threadIdx.x;
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
    const float *row = x + r * n;
    float last = 0;
    i64 at = -1;
    for (i64 pick = 0; pick < k; pick++) {
      float v = 0;
      i64 where = -1;
      for (i64 i = t; i < n; i += 256) {
        float e = row[i];
        bool left = at < 0 || e < last || (e == last && i > at);
        if (left && (where < 0 || e > v)) v = e, where = i;
      }
      best[t] = v, place[t] = where;
      __syncthreads();
      for (int o = 128; o > 0; o >>= 1) {
        if (t < o && place[t + o] >= 0) {
          float e = best[t + o];
          if (place[t] < 0 || e > best[t] || (e == best[t] && place[t + o] < place[t])) best[t] = e, place[t] = place[t + o];
        }
        __syncthreads();
      }
      last = best[0], at = place[0];
      if (t == 0) values[r * k + pick] = last, columns[r * k + pick] = (int)at;
      __syncthreads();
    }
  }
}

// Whether fewer than *k of a row's predictions are above the target's, and all are finite. A warp does a row.
template <class I> __device__ void in_top_k(u8 *out, const float *x, const I *targets, const I *k, i64 rows, i64 n) {
  for (i64 r = Warp::first(); r < rows; r += Warp::step()) {
    const float *row = x + r * n;
    i64 target = targets[r];
    bool there = target >= 0 && target < n;
    float of = there ? row[target] : 0.f, above = 0, strange = 0;
    for (i64 i = Warp::lane(); i < n; i += 32) {
      float e = row[i];
      if (e > of) above++;
      if (e - e != 0) strange++;
    }
    above = warp_all<Sum>(above);
    strange = warp_all<Sum>(strange);
    if (Warp::lane() == 0) out[r] = there && strange == 0 && above < (float)*k;
  }
}

KERNEL in_top_k_i32(u8 *out, const float *x, const int *targets, const int *k, i64 rows, i64 n) { in_top_k(out, x, targets, k, rows, n); }
KERNEL in_top_k_i64(u8 *out, const float *x, const i64 *targets, const i64 *k, i64 rows, i64 n) { in_top_k(out, x, targets, k, rows, n); }
