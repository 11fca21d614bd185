// Random numbers: Philox4x32-10 (Salmon et al., 2011) in TensorFlow's layout, the same streams as the host's. key and
// counter (low, high) are in memory of the GPU, so that a captured graph draws new numbers at every step.

struct Philox {
  u64 key, lo, hi;
  __device__ void skip(u64 n) {
    lo += n;
    if (lo < n) hi++;
  }
  __device__ void next(u32 *w) {
    u32 c0 = (u32)lo, c1 = (u32)(lo >> 32), c2 = (u32)hi, c3 = (u32)(hi >> 32), k0 = (u32)key, k1 = (u32)(key >> 32);
    for (int r = 0; r < 10; r++) {
      u64 x = 0xD2511F53ull * c0, y = 0xCD9E8D57ull * c2;
      c0 = (u32)(y >> 32) ^ c1 ^ k0;
      c1 = (u32)y;
      c2 = (u32)(x >> 32) ^ c3 ^ k1;
      c3 = (u32)x;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    w[0] = c0;
    w[1] = c1;
    w[2] = c2;
    w[3] = c3;
    skip(1);
  }
};

__device__ inline Philox stream_at(const u64 *key, const u64 *counter, u64 skip) {
  Philox p = {key[0], counter[0], counter[1]};
  p.skip(skip);
  return p;
}

// A float in [0, 1) of the low 23 bits.
__device__ inline float unit(u32 w) { return __uint_as_float((127u << 23) | (w & 0x7fffffu)) - 1.f; }

// Box-Muller, in double precision between the roundings of the host's.
__device__ inline void normals(Philox &p, float *v) {
  u32 w[4];
  p.next(w);
  for (int i = 0; i < 4; i += 2) {
    float u = unit(w[i]);
    u = u > 1e-7f ? u : 1e-7f;
    double angle = (float)(6.283185307179586476925 * (double)unit(w[i + 1]));
    float radius = (float)sqrt((double)(-2.f * (float)log((double)u)));
    v[i] = (float)sin(angle) * radius;
    v[i + 1] = (float)cos(angle) * radius;
  }
}

__device__ inline void store(float *dst, i64 n, i64 group, const float *v) {
  for (int i = 0; i < 4 && group * 4 + i < n; i++) dst[group * 4 + i] = v[i];
}

KERNEL random_uniform(float *dst, const u64 *key, const u64 *counter, i64 n) {
  EACH(g, (n + 3) / 4) {
    u32 w[4];
    stream_at(key, counter, g).next(w);
    float v[4] = {unit(w[0]), unit(w[1]), unit(w[2]), unit(w[3])};
    store(dst, n, g, v);
  }
}

KERNEL random_normal(float *dst, const u64 *key, const u64 *counter, i64 n) {
  EACH(g, (n + 3) / 4) {
    Philox p = stream_at(key, counter, g);
    float v[4];
    normals(p, v);
    store(dst, n, g, v);
  }
}

// Numbers beyond 2 are drawn again from the group's next counters; a group owns 256 of them.
KERNEL random_truncated(float *dst, const u64 *key, const u64 *counter, i64 n) {
  EACH(g, (n + 3) / 4) {
    Philox p = stream_at(key, counter, (u64)g * 256);
    float v[4], kept[4];
    for (int have = 0; have < 4;) {
      normals(p, v);
      for (int i = 0; i < 4; i++)
        if (have < 4 && fabsf(v[i]) < 2.f) kept[have++] = v[i];
    }
    store(dst, n, g, kept);
  }
}
