// Softmax over rows, and the cross entropies with their gradients in one pass. A warp does a row of few classes, a block
// one of many.

template <class G> __device__ float top_of(const float *x, i64 cols) {
  float m = -INF;
  for (i64 i = G::lane(); i < cols; i += G::size) m = max_nan(m, x[i]);
  return G::template all<Max>(m);
}

template <class G> __device__ float exp_sum(const float *x, i64 cols, float top) {
  float s = 0;
  for (i64 i = G::lane(); i < cols; i += G::size) s += expf(x[i] - top);
  return G::template all<Sum>(s);
}

template <class G> __device__ void softmax(float *y, const float *x, i64 rows, i64 cols, int log) {
  for (i64 r = G::first(); r < rows; r += G::step()) {
    const float *from = x + r * cols;
    float *to = y + r * cols;
    float top = top_of<G>(from, cols), sum = exp_sum<G>(from, cols, top), by = 1.f / sum, less = logf(sum);
    for (i64 i = G::lane(); i < cols; i += G::size) to[i] = log ? (from[i] - top) - less : expf(from[i] - top) * by;
  }
}

KERNEL softmax_warp(float *y, const float *x, i64 rows, i64 cols, int log) { softmax<Warp>(y, x, rows, cols, log); }
KERNEL softmax_block(float *y, const float *x, i64 rows, i64 cols, int log) { softmax<Block>(y, x, rows, cols, log); }

// loss[r] = log(sum(exp(x))) - x[label]; backprop = softmax - onehot where it is not null, and may be x. A label that is no
// class gives NaN and a fault.
template <class G, class L> __device__ void sparse_xent(float *loss, float *backprop, const float *x, const L *labels, i64 *fault, i64 op, i64 rows, i64 cols) {
  for (i64 r = G::first(); r < rows; r += G::step()) {
    const float *from = x + r * cols;
    i64 label = labels[r];
    bool bad = label < 0 || label >= cols;
    float top = top_of<G>(from, cols), sum = exp_sum<G>(from, cols, top), by = 1.f / sum;
    if (G::lane() == 0) {
      loss[r] = bad ? __int_as_float(0x7fc00000) : logf(sum) - (from[label] - top);
      if (bad) fault_at(fault, op, label, r, cols);
    }
    G::sync(); // from[label] has been read
    if (backprop)
      for (i64 i = G::lane(); i < cols; i += G::size) backprop[r * cols + i] = expf(from[i] - top) * by - (i == label ? 1.f : 0.f);
  }
}

KERNEL sparse_xent_warp_i32(float *loss, float *backprop, const float *x, const int *labels, i64 *fault, i64 op, i64 rows, i64 cols) { sparse_xent<Warp>(loss, backprop, x, labels, fault, op, rows, cols); }
KERNEL sparse_xent_warp_i64(float *loss, float *backprop, const float *x, const i64 *labels, i64 *fault, i64 op, i64 rows, i64 cols) { sparse_xent<Warp>(loss, backprop, x, labels, fault, op, rows, cols); }
KERNEL sparse_xent_block_i32(float *loss, float *backprop, const float *x, const int *labels, i64 *fault, i64 op, i64 rows, i64 cols) { sparse_xent<Block>(loss, backprop, x, labels, fault, op, rows, cols); }
KERNEL sparse_xent_block_i64(float *loss, float *backprop, const float *x, const i64 *labels, i64 *fault, i64 op, i64 rows, i64 cols) { sparse_xent<Block>(loss, backprop, x, labels, fault, op, rows, cols); }

// loss[r] = sum(labels * (log(sum(exp(x))) - x)); backprop = softmax - labels where it is not null.
template <class G> __device__ void xent(float *loss, float *backprop, const float *x, const float *labels, i64 rows, i64 cols) {
  for (i64 r = G::first(); r < rows; r += G::step()) {
    const float *from = x + r * cols, *want = labels + r * cols;
    float top = top_of<G>(from, cols), sum = exp_sum<G>(from, cols, top), by = 1.f / sum, less = logf(sum), l = 0;
    for (i64 i = G::lane(); i < cols; i += G::size) l += want[i] * (less - (from[i] - top));
    l = G::template all<Sum>(l);
    if (G::lane() == 0) loss[r] = l;
    if (backprop)
      for (i64 i = G::lane(); i < cols; i += G::size) backprop[r * cols + i] = expf(from[i] - top) * by - want[i];
  }
}

KERNEL xent_warp(float *loss, float *backprop, const float *x, const float *labels, i64 rows, i64 cols) { xent<Warp>(loss, backprop, x, labels, rows, cols); }
KERNEL xent_block(float *loss, float *backprop, const float *x, const float *labels, i64 rows, i64 cols) { xent<Block>(loss, backprop, x, labels, rows, cols); }
