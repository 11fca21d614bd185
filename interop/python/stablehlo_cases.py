"""Writes programs that JAX exports, with inputs and what JAX answers, for the tests of internal/imported/stablehlograph.

    python stablehlo_cases.py FILE.tar.bz2             # what is served
    python stablehlo_cases.py FILE.tar.bz2 refused     # and what is not

NAME.npz in it holds: module, the bytes; in_0, in_1, ... and out_0, out_1, ...; where sizes are open, more_in_0, ... and more_out_0, ... of
other sizes.
"""
import io
import sys
import tarfile
import zipfile

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

try:
    from jax import export as exporting

    NEW = True

    def export(f, args, shapes):
        platforms = ["tpu"] if getattr(f, "tpu", False) else None
        return exporting.export(jax.jit(f), platforms=platforms)(*shapes)

    def symbolic(args, specs):
        scope = exporting.SymbolicScope()
        return [jax.ShapeDtypeStruct(exporting.symbolic_shape(s, scope=scope), a.dtype) for a, s in zip(args, specs)]
except ImportError:
    NEW = False
    from jax.experimental.export import export as exporting

    def export(f, args, shapes):
        return exporting.export(f)(*shapes)

    def symbolic(args, specs):
        return exporting.args_specs(args, list(specs))


RNG = np.random.default_rng(1)
INF, NAN = np.inf, np.nan
EDGES = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, 1e-8, -1e-8, 3.7, -3.7, 1e10, INF, -INF, NAN], np.float32)
INTS = np.array([0, 1, -1, 2, -2, 7, -7, 100, 2**31 - 1, -(2**31)], np.int32)


def f32(*shape):
    return RNG.normal(size=shape).astype(np.float32)


CASES = {}


def case(name, f, *args, poly=None, more=None):
    CASES[name] = (f, args, poly, more)


# Elementwise.
for name in ["abs", "ceil", "cos", "exp", "expm1", "floor", "isfinite", "log", "log1p", "negative", "rint", "sign", "sin", "sqrt", "tan", "tanh", "cbrt", "isnan", "square", "arcsin", "arccos", "arctan",
             "sinh", "cosh", "arcsinh", "arccosh", "arctanh"]:
    case("unary_" + name, getattr(jnp, name), EDGES)
for name in ["logistic", "rsqrt", "erf", "erfc", "erf_inv", "lgamma", "digamma"]:
    case("lax_" + name, getattr(lax, name), EDGES[:13])
case("round_away", lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), EDGES)
case("int_unary", lambda x: (jnp.abs(x), -x, jnp.sign(x), ~x, lax.population_count(x), lax.clz(x)), INTS)
case("uint_unary", lambda x: (-x, jnp.sign(x), ~x, lax.population_count(x), lax.clz(x)), INTS.astype(np.uint32))
A, B = [g.ravel() for g in np.meshgrid(EDGES, EDGES)]
for name in ["add", "subtract", "multiply", "divide", "maximum", "minimum", "arctan2", "remainder", "fmod"]:
    case("float_" + name, getattr(jnp, name), A, B)
case("float_pow", lambda x, y: lax.pow(x, y), np.abs(A), B)
case("float_compare", lambda x, y: (x < y, x <= y, x > y, x >= y, x == y, x != y), A, B)
I, J = [g.ravel() for g in np.meshgrid(INTS, INTS)]
case("int_binary", lambda x, y: (x + y, x - y, x * y, lax.div(x, y), lax.rem(x, y), jnp.maximum(x, y), jnp.minimum(x, y), x & y, x | y, x ^ y), I, J)
case("int_floor", lambda x, y: (x // y, x % y), I, np.where(J == 0, 3, J))
case("int_compare", lambda x, y: (x < y, x <= y, x > y, x >= y, x == y, x != y), I, J)
U, V = I.astype(np.uint32), J.astype(np.uint32)
case("uint_binary", lambda x, y: (x + y, x - y, x * y, lax.div(x, y), lax.rem(x, y), jnp.maximum(x, y), jnp.minimum(x, y), x & y, x | y, x ^ y, x < y, x >= y), U, V)
S = np.arange(-1, 36, dtype=np.int32)
for t in [np.int32, np.uint32, np.uint8, np.int8, np.int16]:
    xs = np.full(S.shape, -5).astype(t)
    case("shifts_" + t.__name__, lambda x, s: (lax.shift_left(x, s), lax.shift_right_logical(x, s), lax.shift_right_arithmetic(x, s)), xs, S.astype(t))
case("small_ints", lambda x, y: (x + y, x * y, x - y, jnp.maximum(x, y), x < y, lax.div(x, y)), np.arange(-128, 128).astype(np.int8), np.full(256, 7, np.int8))
case("small_uints", lambda x, y: (x + y, x * y, x - y, jnp.maximum(x, y), x < y, lax.div(x, y)), np.arange(256).astype(np.uint8), np.full(256, 7, np.uint8))
case("bools", lambda x, y: (x & y, x | y, x ^ y, ~x, x == y, x < y, jnp.where(x, 1.0, 2.0)), np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool))
for t in [jnp.int32, jnp.uint8, jnp.int8, jnp.bool_, jnp.uint32, jnp.float16]:
    case("convert_" + t.__name__.strip("_"), lambda x, t=t: x.astype(t).astype(jnp.float32) if t == jnp.float16 else x.astype(t), EDGES)
case("convert_ints", lambda x: (x.astype(jnp.float32), x.astype(jnp.int8), x.astype(jnp.uint32), x.astype(bool), x.astype(jnp.uint8)), INTS)
case("bfloat16", lambda x, w: jax.nn.relu((x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)) + 1).astype(jnp.float32), f32(3, 4), f32(4, 5))
case("float16", lambda x, w: jnp.tanh(x.astype(jnp.float16) @ w.astype(jnp.float16) * 0.1).astype(jnp.float32), f32(3, 4), f32(4, 5))
case("complex", lambda x, y: (jnp.real(lax.complex(x, y) * lax.complex(y, x)), jnp.imag(jnp.conj(lax.complex(x, y))), jnp.abs(lax.complex(x, y))), f32(5), f32(5))
case("bitcast", lambda x: (lax.bitcast_convert_type(x, jnp.int32), lax.bitcast_convert_type(x, jnp.uint8)), EDGES)
case("clamp", lambda x: (jnp.clip(x, -1, 2), lax.clamp(0.5, x, 0.2)), EDGES)
case("reduce_precision", lambda x: lax.reduce_precision(x, 8, 7), f32(10))

# Shapes.
case("shapes", lambda x: (x.reshape(6, 4), x.transpose(2, 0, 1), x[:, ::-1], x[:, 1:, ::2], jnp.concatenate([x, x], 1), jnp.pad(x, ((1, 0), (0, 2), (1, 1))), jnp.flip(x, (0, 2)), jnp.tile(x, (2, 1, 1))),
     f32(2, 3, 4))
case("pads", lambda x: (lax.pad(x, 9.0, [(1, 2, 1), (0, 0, 3)]), lax.pad(x, 9.0, [(-1, 2, 1), (0, -1, 2)]), lax.pad(x, 9.0, [(-1, -1, 0), (2, -3, 0)])), f32(3, 4))
case("iotas", lambda x: (jnp.arange(5) + x, lax.broadcasted_iota(jnp.float32, (2, 3), 1), lax.broadcasted_iota(jnp.uint8, (2, 3), 0), jnp.eye(3), jnp.tri(4)), np.int32(3))
case("broadcasts", lambda x, y: (x[:, None] + y[None, :], jnp.broadcast_to(x, (4, 3)), jnp.ones((2, 2)), jnp.outer(x, y), jnp.stack([x, x], 1), lax.broadcast_in_dim(x, (3, 2), (0,))), f32(3), f32(2))
case("empty", lambda x: (jnp.sum(x), jnp.concatenate([x, jnp.ones((2, 3))]), x * 2, x.T), f32(0, 3))
case("dynamic_slices", lambda x, i: (lax.dynamic_slice(x, (i, i), (2, 3)), lax.dynamic_update_slice(x, jnp.zeros((2, 2)), (i, i + 1)), lax.dynamic_index_in_dim(x, i, 1)), f32(4, 5), np.int32(2))
for i in [-100, -3, -1, 0, 3, 4, 100]:
    case("dynamic_slices_%d" % i, lambda x, i: (lax.dynamic_slice(x, (i, i), (2, 3)), lax.dynamic_update_slice(x, jnp.zeros((2, 2)), (i, i))), f32(4, 5), np.int32(i))
case("dynamic_slice_unsigned", lambda x, i: lax.dynamic_slice(x, (i,), (2,)), f32(6), np.uint32(2**32 - 1))

# Products.
case("dots", lambda x, y, z: (x @ y, jnp.dot(x, z), x.T @ x, jnp.einsum("ij,kj->ik", x, x), jnp.einsum("ij,ij->", x, x), jnp.vdot(z, z), jnp.tensordot(x, y, 1)), f32(3, 4), f32(4, 5), f32(4))
case("batched_dots", lambda x, y: (jnp.einsum("bhqd,bhkd->bhqk", x, y), jnp.einsum("bhqd,bkhd->bqhk", x, y.transpose(0, 2, 1, 3)), jnp.matmul(x, y.swapaxes(-1, -2))), f32(2, 3, 4, 5), f32(2, 3, 6, 5))
case("int_dots", lambda x, y: (x @ y, lax.dot(x.astype(jnp.int8), y.astype(jnp.int8), preferred_element_type=jnp.int32)), np.arange(12, dtype=np.int32).reshape(3, 4), np.arange(8, dtype=np.int32).reshape(4, 2))


def conv(x, w, **k):
    return lax.conv_general_dilated(x, w, k.pop("strides", (1, 1)), k.pop("padding", "SAME"), dimension_numbers=k.pop("dims", ("NHWC", "HWIO", "NHWC")), **k)


case("convs", lambda x, w: (conv(x, w), conv(x, w, strides=(2, 2)), conv(x, w, padding="VALID"), conv(x, w, rhs_dilation=(2, 2)), conv(x, w, lhs_dilation=(2, 2), padding=((1, 1), (2, 1))), conv(x, w, padding=((2, 0), (1, 3))),
                                conv(x, w, padding=((-1, 0), (0, -1)))), f32(2, 7, 8, 4), f32(3, 3, 4, 6))
case("conv_nchw", lambda x, w: conv(x, w, dims=("NCHW", "OIHW", "NCHW")), f32(2, 3, 7, 8), f32(5, 3, 3, 2))
case("conv_groups", lambda x, w, d: (conv(x, w, feature_group_count=2), conv(x, d, feature_group_count=4), conv(x, d, feature_group_count=4, strides=(2, 1))), f32(2, 6, 6, 4), f32(3, 3, 2, 6), f32(3, 3, 1, 8))
case("conv_1d", lambda x, w: (lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")), lax.conv_general_dilated(x, w, (2,), "VALID", dimension_numbers=("NWC", "WIO", "NWC"))),
     f32(2, 9, 3), f32(3, 3, 4))
case("conv_3d", lambda x, w: lax.conv_general_dilated(x, w, (1, 2, 1), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC")), f32(1, 4, 5, 6, 2), f32(2, 3, 2, 2, 3))
case("conv_transpose", lambda x, w: (lax.conv_transpose(x, w, (2, 2), "SAME"), lax.conv_transpose(x, w, (2, 2), "VALID", transpose_kernel=True)), f32(2, 4, 5, 3), f32(3, 3, 3, 3))

# Reductions and windows.
case("reductions", lambda x: (x.sum(), x.sum(1), x.mean((0, 2)), x.max(0), x.min((1, 2)), x.prod(2), jnp.any(x > 1, 1), jnp.all(x > -1, 0), x.var(1), jnp.linalg.norm(x)), f32(2, 3, 4))
case("reductions_edges", lambda x: (x.max(), x.min(), x.sum(), jnp.nanmax(x), x.max(initial=5.0)), EDGES)
case("reductions_ints", lambda x: (x.sum(), x.max(), x.min(), x.prod(), (x > 0).sum()), INTS)
case("reductions_uints", lambda x: (x.sum(), x.max(), x.min()), INTS.astype(np.uint32))
case("reduction_of_its_own", lambda x: lax.reduce(x, 1.0, lambda a, b: a * 0.5 + b, (0,)), f32(4, 3))
case("bitwise_reductions", lambda x: (lax.reduce(x, jnp.int32(0), lax.bitwise_xor, (0,)), lax.reduce(x, jnp.int32(-1), lax.bitwise_and, (0,)), lax.reduce(x, jnp.int32(0), lax.bitwise_or, (1,))), INTS.reshape(2, 5))
case("arg", lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 1), jnp.argmax(x), jnp.argmin(x, 0)), RNG.integers(-2, 3, (4, 6)).astype(np.float32))
case("arg_edges", lambda x: (jnp.argmax(x), jnp.argmin(x), jnp.argmax(x[:-1]), jnp.argmin(x[:-1]), jnp.argmax(x[:2]), jnp.argmin(x[:2])), EDGES)
case("arg_ints", lambda x: (jnp.argmax(x), jnp.argmin(x)), np.array([3, 7, 7, -2, -2], np.int32))
case("cumulative", lambda x: (jnp.cumsum(x, 1), jnp.cumprod(x, 0), lax.cummax(x, 1), lax.cummin(x, 1), lax.cumsum(x, 1, reverse=True), lax.cumlogsumexp(x, 1)), f32(3, 7))


def window(x, op, init, dims, strides, pad="VALID", **k):
    return lax.reduce_window(x, init, op, dims, strides, pad, **k)


case("pools", lambda x: (window(x, lax.max, -jnp.inf, (1, 2, 2, 1), (1, 2, 2, 1)), window(x, lax.add, 0.0, (1, 3, 2, 1), (1, 2, 1, 1), "SAME"), window(x, lax.max, -jnp.inf, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"),
                              window(x, lax.min, jnp.inf, (1, 2, 2, 1), (1, 1, 1, 1)), window(x, lax.mul, 1.0, (1, 2, 1, 1), (1, 1, 1, 1)), window(x, lax.add, 0.0, (1, 2, 2, 1), (1, 1, 1, 1), window_dilation=(1, 2, 2, 1))),
     f32(2, 7, 6, 3))
case("windows", lambda x: (window(x, lax.add, 0.0, (3,), (1,), [(2, 0)]), window(x, lax.add, 0.0, (8,), (1,), [(7, 0)]), window(x, lax.mul, 1.0, (8,), (1,), [(0, 7)]), window(x, lax.max, -jnp.inf, (4,), (3,), "SAME")), f32(8))

# Order.
case("sorts", lambda x: (jnp.sort(x, 1), jnp.argsort(x, 1), jnp.sort(x, 0), -jnp.sort(-x)), RNG.integers(-3, 4, (4, 6)).astype(np.float32))
case("sort_edges", lambda x: (jnp.sort(x), jnp.argsort(x)), EDGES)
case("sort_kinds", lambda x: (jnp.sort(x), jnp.sort(x.astype(jnp.uint32)), jnp.sort(x > 0), jnp.argsort(x.astype(jnp.int8))), INTS)
case("lexsort", lambda x, y: (jnp.lexsort((x, y)), *lax.sort((x, y, jnp.arange(12)), num_keys=2)), RNG.integers(0, 3, 12).astype(np.float32), RNG.integers(0, 3, 12).astype(np.int32))
case("top_k", lambda x: lax.top_k(x, 3), RNG.integers(-3, 4, (4, 6)).astype(np.float32))
case("top_k_ints", lambda x: lax.top_k(x, 3), RNG.integers(-3, 4, (4, 6)).astype(np.int32))
case("unique_like", lambda x: (jnp.searchsorted(jnp.sort(x), jnp.array([0.0, 0.5, 9.0])), jnp.median(x), jnp.percentile(x, 30.0)), f32(9))

# Indices.
IDX = np.array([0, 3, -1, -5, 2, 100, -100], np.int32)
case("takes", lambda x, i: (x[i], jnp.take(x, i, axis=1), jnp.take(x, i, axis=0, mode="clip"), jnp.take(x, i, axis=0, mode="wrap"), jnp.take(x, i, axis=0, mode="fill"), x.at[i].get(mode="promise_in_bounds") if False else x[i]), f32(5, 4), IDX)
case("gathers", lambda x, i, j: (x[i, j], x[:, i], x[i][:, j], x[i, :, j], jnp.take_along_axis(x, x.argsort(1), 1), x[jnp.newaxis, i]), f32(5, 4, 3), IDX, IDX[::-1].copy())
case("batched_gathers", lambda x, i: (jax.vmap(lambda r, k: r[k])(x, i), jax.vmap(lambda r, k: lax.dynamic_slice(r, (k, 0), (2, 3)))(x, i), jnp.take_along_axis(x[:, :, 0], i[:, None], 1)), f32(4, 5, 3), np.array([0, 3, 4, -9], np.int32))
case("scatters", lambda x, i, u: (x.at[i].set(u), x.at[i].add(u), x.at[i].max(u), x.at[i].min(u), x.at[i].multiply(u), x.at[:, 1].set(7.0), x.at[1:3].add(2.0), x.at[i, 0].add(1.0)), f32(5, 4), np.array([0, 3, -1, 2, 100, -100], np.int32), f32(6, 4))
case("scatter_windows", lambda x, i: (x.at[i, 1:3].set(5.0), jax.vmap(lambda r, k: lax.dynamic_update_slice(r, jnp.ones((2,)), (k,)))(x, i), jax.vmap(lambda r, k: r.at[k].add(1.0))(x, i)), f32(4, 6), np.array([0, 3, 2, 9], np.int32))
case("scatter_ints", lambda x, i: (jnp.zeros(6, jnp.int32).at[i].add(x), jnp.bincount(i, length=6), jnp.zeros(6, bool).at[i].set(True)), np.arange(7, dtype=np.int32), np.array([0, 5, 5, 2, 2, 2, 9], np.int32))
case("segments", lambda x, i: (jax.ops.segment_sum(x, i, 4), jax.ops.segment_max(x, i, 4), jax.nn.one_hot(i, 5)), f32(6, 2), np.array([0, 2, 2, 3, 0, -1], np.int32))
case("embedding", lambda t, i: t[i], f32(7, 3), np.array([[0, 6], [3, 3]], np.int32))

# Control.
case("fori", lambda x: lax.fori_loop(0, 5, lambda i, c: c * 0.5 + i, x), f32(3))
case("while", lambda x: lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + 1, c[1] * 1.1), (jnp.int32(0), x)), f32(3))
W = f32(4, 4)
case("scan", lambda x: lax.scan(lambda c, r: (jnp.tanh(c @ W + r), c.sum()), jnp.zeros(4), x), f32(5, 4))
case("cond", lambda x, p: lax.cond(p > 0, lambda x: x * 2, lambda x: x - W[0], x), f32(4), np.int32(1))
case("cond_other", lambda x, p: lax.cond(p > 0, lambda x: x * 2, lambda x: x - W[0], x), f32(4), np.int32(0))
for k in [-1, 0, 2, 5]:
    case("switch_%d" % k, lambda x, i: lax.switch(i, [lambda x: x + 1, lambda x: x * 2, lambda x: x.at[0].set(9.0)], x), f32(4), np.int32(k))
    case("raw_case_%d" % k, lambda x, i: lax.switch(i, [lambda x: x + 1, lambda x: x * 2], x), f32(4), np.int32(k))
case("map", lambda x: lax.map(lambda r: jnp.sort(r)[:2], x), f32(3, 4))
case("associative_scan", lambda x: lax.associative_scan(jnp.add, x, axis=0), f32(6, 2))

case("images", lambda x: (jax.image.resize(x, (2, 9, 5, 3), "bilinear"), jax.image.resize(x, (2, 3, 3, 3), "nearest"), jax.image.resize(x, (2, 8, 8, 3), "cubic")), f32(2, 6, 6, 3))
case("lookups", lambda x: (jnp.interp(x, jnp.arange(5.0), jnp.arange(5.0) ** 2), jnp.digitize(x, jnp.array([0.0, 1.0])), jnp.histogram(x, bins=4, range=(-2, 2))[0], jnp.where(x > 0, size=3, fill_value=-1)[0], jnp.nonzero(x > 0, size=4)[0]), f32(9))
case("polynomials", lambda x: (jnp.polyval(jnp.array([1.0, 2.0, 3.0]), x), jnp.cross(x[:3], x[3:6]), jnp.trapezoid(x) if hasattr(jnp, "trapezoid") else x.sum(), jnp.convolve(x, x[:3]), jnp.diff(x), jnp.roll(x, 2), jnp.kron(x[:2], x[2:4])), f32(9))
case("open_arithmetic", lambda x: (x.reshape(-1), x[: x.shape[0] // 2 * 2].reshape(-1, 2, 3).sum(1), jnp.arange(2 * x.shape[0] + 1), jnp.concatenate([x, jnp.zeros((x.shape[0] + 1, 3))]), x / x.shape[0]), f32(4, 3), poly=["2*b, 3"], more=[f32(10, 3)])
case("open_images", lambda x: (jax.image.resize(x, (x.shape[0], 9, 5, 3), "bilinear"), x.mean((1, 2)), x.reshape(x.shape[0], -1) @ W[:2].reshape(-1, 1)[:8].repeat(x.shape[1] * x.shape[2] * 3 // 8, 0)), f32(2, 4, 4, 3), poly=["b, 4, 4, 3"], more=[f32(3, 4, 4, 3)])
case("open_random", lambda x, k: x + jax.random.normal(k, x.shape), f32(2, 4), np.array([0, 7], np.uint32), poly=["b, 4", "2"], more=[f32(5, 4), np.array([1, 7], np.uint32)])
case("open_cond", lambda x, p: lax.cond(p > 0, lambda x: jnp.sort(x), lambda x: x - 1, x), f32(2, 4), np.int32(1), poly=["b, 4", ""], more=[f32(3, 4), np.int32(0)])
case("nested_loops", lambda x: lax.fori_loop(0, 3, lambda i, c: lax.fori_loop(0, 2, lambda j, d: d @ W * 0.3 + i + j, c), x), f32(2, 4))
case("wide_scan", lambda x: lax.scan(lambda c, r: ((c[0] + r.sum(), c[1].at[jnp.int32(c[0]) % 4].add(1.0)), {"a": r[::-1], "b": c[0] > 0}), (jnp.float32(0), jnp.zeros(4)), x, reverse=True), f32(5, 3))

# Random numbers: threefry is arithmetic.
case("random", lambda k: (jax.random.normal(k, (5,)), jax.random.uniform(k, (2, 3)), jax.random.bernoulli(k, 0.3, (8,)), jax.random.randint(k, (6,), 0, 10), jax.random.permutation(k, 7),
                               jax.random.split(k, 3), jax.random.fold_in(k, 5), jax.random.gumbel(k, (3,)), jax.random.categorical(k, jnp.zeros((4, 5))), jax.random.truncated_normal(k, -1, 1, (3,))), np.array([0, 42], np.uint32))

# Transforms.
case("ffts", lambda x: (jnp.abs(jnp.fft.fft(x)), jnp.abs(jnp.fft.rfft(x)), jnp.fft.irfft(jnp.fft.rfft(x)), jnp.abs(jnp.fft.fft2(x)), jnp.real(jnp.fft.ifft(jnp.fft.fft(x)))), f32(4, 8))

# Parts of networks.
case("softmaxes", lambda x: (jax.nn.softmax(x), jax.nn.log_softmax(x), jax.nn.gelu(x), jax.nn.gelu(x, approximate=False), jax.nn.silu(x), jax.nn.elu(x), jax.nn.softplus(x), jax.nn.relu6(x), jax.nn.logsumexp(x),
                                  jax.nn.leaky_relu(x), jax.nn.hard_swish(x), jax.nn.selu(x), jax.nn.glu(x), jax.nn.standardize(x)), f32(3, 4))


def attention(x, w):
    q, k, v = jnp.split(x @ w, 3, -1)
    heads = lambda t: t.reshape(*t.shape[:-1], 2, -1)
    s = jnp.einsum("bqhd,bkhd->bhqk", heads(q), heads(k)) / jnp.sqrt(jnp.float32(4))
    s = jnp.where(jnp.tril(jnp.ones(s.shape[-2:], bool)), s, -1e9)
    y = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s), heads(v)).reshape(x.shape)
    y = y + x
    m = y.mean(-1, keepdims=True)
    return (y - m) * lax.rsqrt(y.var(-1, keepdims=True) + 1e-6)


case("attention", attention, f32(2, 5, 8), f32(8, 24))
case("open_attention", attention, f32(2, 5, 8), f32(8, 24), poly=["b, 5, 8", "8, 24"], more=[f32(3, 5, 8), f32(8, 24)])
case("open_attention_lengths", attention, f32(2, 5, 8), f32(8, 24), poly=["b, t, 8", "8, 24"], more=[f32(3, 7, 8), f32(8, 24)])
case("open_mlp", lambda x, w: jax.nn.softmax(jax.nn.relu(x @ w + 1.0)), f32(2, 4), f32(4, 5), poly=["b, 4", "4, 5"], more=[f32(7, 4), f32(4, 5)])
case("open_shapes", lambda x: (x.reshape(-1, 6), x.reshape(x.shape[0], -1), x.mean(0), jnp.arange(x.shape[0]) * 2, x[:, 1:], jnp.concatenate([x, x], 0), jnp.pad(x, ((1, 1), (0, 0), (0, 0))), jnp.flip(x, 0),
                                    jnp.broadcast_to(x[:1], x.shape), x[1:], x[::2], jnp.tile(x, (2, 1, 1)), x.T), f32(2, 3, 4), poly=["b, 3, 4"], more=[f32(5, 3, 4)])
case("open_convs", lambda x, w: (conv(x, w), conv(x, w, strides=(2, 2)), window(x, lax.max, -jnp.inf, (1, 2, 2, 1), (1, 2, 2, 1)), window(x, lax.add, 0.0, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")), f32(2, 7, 8, 4), f32(3, 3, 4, 6),
     poly=["b, 7, 8, 4", "3, 3, 4, 6"], more=[f32(3, 7, 8, 4), f32(3, 3, 4, 6)])
case("open_gathers", lambda x, i: (x[jnp.arange(x.shape[0]), i], jnp.take_along_axis(x, i[:, None], 1), x.at[jnp.arange(x.shape[0]), i].set(0.0), jax.nn.one_hot(i, 4), jnp.take(x, i, axis=0, mode="clip"), x[i]), f32(2, 4), np.array([1, 3], np.int32),
     poly=["b, 4", "b"], more=[f32(5, 4), np.array([0, 3, 2, 9, -1], np.int32)])
case("open_order", lambda x: (jnp.sort(x), jnp.argmax(x, 1), jnp.argsort(x, 0), jnp.cumsum(x, 1), x.max(0)), f32(2, 4), poly=["b, 4"], more=[f32(5, 4)])
case("open_top_k", lambda x: lax.top_k(x, 2), f32(2, 4), poly=["b, 4"], more=[f32(5, 4)])
case("open_scan", lambda x: lax.scan(lambda c, r: (jnp.tanh(c @ W + r), c), jnp.zeros((x.shape[0], 4)), x.transpose(1, 0, 2)), f32(2, 5, 4), poly=["b, 5, 4"], more=[f32(3, 5, 4)])
case("open_sum_of_sizes", lambda x, y: jnp.concatenate([x, y]).sum(1), f32(2, 4), f32(3, 4), poly=["a, 4", "b, 4"], more=[f32(1, 4), f32(1, 4)])


# More functions, and open sizes.
case("topk_nan", lambda x: lax.top_k(x, 5), EDGES)
case("partition", lambda x: jnp.partition(x, 3), f32(9))
case("unique", lambda x: jnp.unique(x, size=4, return_counts=True), RNG.integers(0, 3, 9).astype(np.int32))
case("einsum3", lambda a, b, c: jnp.einsum('ij,jk,kl->il', a, b, c), f32(2, 3), f32(3, 4), f32(4, 2))
case("onehot_argmax", lambda x: jax.nn.one_hot(jnp.argmax(x, -1), 4)@x.T, f32(3, 4))
case("checkpoint", lambda x: jax.checkpoint(lambda y: jnp.sin(y)@y)(x), f32(3, 3))
case("remat_scan", lambda x: lax.scan(jax.checkpoint(lambda c, _: (jnp.sin(c), c)), x, None, length=3), f32(3))
case("bessel", lambda x: (jax.scipy.special.i0e(x), jax.scipy.special.i1e(x), jax.scipy.special.gammaln(jnp.abs(x)+1), jax.scipy.special.ndtr(x), jax.scipy.special.ndtri(jax.nn.sigmoid(x))), f32(5))
case("betainc", lambda x: jax.scipy.special.betainc(2., 3., jax.nn.sigmoid(x)), f32(5))
case("igamma", lambda x: jax.scipy.special.gammainc(2., jnp.abs(x)), f32(5))
case("poly_special", lambda x: (jax.scipy.special.zeta(jnp.abs(x)+2, 1.5), jax.scipy.special.polygamma(1, jnp.abs(x)+1)), f32(5))
case("random_more", lambda k: (jax.random.gamma(k, 2., (3,)), jax.random.poisson(k, 3., (4,)), jax.random.beta(k, 2., 3., (3,)), jax.random.choice(k, 5, (3,), replace=False), jax.random.dirichlet(k, jnp.ones(3)), jax.random.laplace(k, (2,))), np.array([0, 42], np.uint32))
case("while_open", lambda x: lax.while_loop(lambda c: c[1]<x.shape[0], lambda c: (c[0]*1.1, c[1]+1), (x, 0))[0], f32(2, 3), poly=["b, 3"], more=[f32(4, 3)])
case("vmap_while", lambda x: jax.vmap(lambda v: lax.while_loop(lambda c: c<10, lambda c: c*2+1, v))(x), np.array([1., 3., 20.], np.float32))
case("fft_open", lambda x: jnp.abs(jnp.fft.rfft(x)), f32(2, 8), poly=["b, 8"], more=[f32(3, 8)])
case("dus_open", lambda x, i: lax.dynamic_update_slice(x, jnp.ones((x.shape[0], 1)), (0, i)), f32(2, 5), np.int32(3), poly=["b, 5",""], more=[f32(3, 5), np.int32(9)])
case("kv_cache", lambda c, k, p: (lax.dynamic_update_slice(c, k[:, None], (0, p, 0)), jnp.where(jnp.arange(6)<=p, (c*k[:, None]).sum(-1), -jnp.inf)), f32(2, 6, 4), f32(2, 4), np.int32(2))
case("logsumexp_open", lambda x: jax.nn.logsumexp(x, 0), f32(4, 3), poly=["b, 3"], more=[f32(6, 3)])
case("segment_open", lambda x, i: jax.ops.segment_sum(x, i, num_segments=3), f32(4, 2), np.array([0, 1, 1, 7], np.int32), poly=["b, 2","b"], more=[f32(5, 2), np.array([2, 2, 0, -1, 1], np.int32)])
case("gather_open_many", lambda x, i: (x[:, i], x[i], x[jnp.newaxis, i], jnp.take_along_axis(x, jnp.argsort(x, 1), 1)), f32(2, 4), np.array([0, 1], np.int32), poly=["b, 4","n"], more=[f32(3, 4), np.array([0, 2, -1], np.int32)])
case("grad", lambda x: jax.grad(lambda x: (jax.nn.relu(x)**2).sum())(x), f32(4))
case("reductions_from", lambda x, b: (lax.reduce(x, np.float32(2), lax.add, (0,)), lax.reduce(x, np.float32(2), lax.max, (1,)), lax.reduce(x, np.float32(-2), lax.min, (0, 1)), lax.reduce(x, np.float32(3), lax.mul, (1,)),
                                      lax.reduce(b, np.bool_(True), lax.bitwise_or, (0,)), lax.reduce(b, np.bool_(False), lax.bitwise_and, (0,))), f32(3, 4), np.array([True, False]))

if NEW:  # before, JAX could not compare the sizes
    case("conv_open_hw", lambda x, w: lax.conv_general_dilated(x, w, (2, 2),"SAME", dimension_numbers=("NHWC","HWIO","NHWC")), f32(1, 6, 6, 2), f32(3, 3, 2, 2), poly=["b, h, w, 2","3,3,2,2"], more=[f32(2, 9, 7, 2), f32(3, 3, 2, 2)])
    case("pool_open_hw", lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1),"SAME"), lax.reduce_window(x, 0., lax.add, (1, 3, 3, 1), (1, 1, 1, 1),"VALID")), f32(1, 6, 6, 2), poly=["b, h, w, 2"], more=[f32(2, 9, 7, 2)])
    case("mean_open", lambda x: ((x-x.mean((1, 2), keepdims=True))/jnp.sqrt(x.var((1, 2), keepdims=True)+1e-5)), f32(1, 4, 4, 2), poly=["b, h, w, 2"], more=[f32(2, 5, 3, 2)])

    # For TPUs, JAX writes operations where it calls LAPACK on CPUs, and other forms of running sums.
    def tpu(name, f, *args, **k):
        f.tpu = True
        case("tpu_" + name, f, *args, **k)

    POSITIVE = f32(2, 4, 4)
    POSITIVE = POSITIVE @ POSITIVE.swapaxes(1, 2) + 3 * np.eye(4, dtype=np.float32)
    tpu("cholesky", lambda x: (jnp.linalg.cholesky(x), jnp.linalg.cholesky(x, upper=True)), POSITIVE)
    for left in (True, False):
        for lower in (True, False):
            for turned in (True, False):
                tpu("solve_%d%d%d" % (left, lower, turned), lambda a, b, k=(left, lower, turned): (
                    lax.linalg.triangular_solve(a, b, left_side=k[0], lower=k[1], transpose_a=k[2]), lax.linalg.triangular_solve(a, b, left_side=k[0], lower=k[1], transpose_a=k[2], unit_diagonal=True)), POSITIVE,
                    f32(2, 4, 3) if left else f32(2, 3, 4))
    case("approx_max", lambda x: lax.approx_max_k(x, 3), f32(2, 9))  # JAX 0.10.2 writes one comparator for both in a program
    case("approx_min", lambda x: lax.approx_min_k(x, 3), f32(2, 9))
    case("cholesky", lambda x: (jnp.linalg.cholesky(x), jnp.linalg.cholesky(x, upper=True)), POSITIVE)
    case("solves", lambda a, b: (jax.scipy.linalg.solve_triangular(a, b, lower=True), jax.scipy.linalg.solve_triangular(a, b, trans=1, unit_diagonal=True),
                                 lax.linalg.triangular_solve(a, b.swapaxes(1, 2)), jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a), True), b)), POSITIVE, f32(2, 4, 3))
    tpu("cumulative", lambda x: (jnp.cumsum(x, 1), jnp.cumprod(x, 0), lax.cummax(x, 1), lax.cumsum(x, 1, reverse=True), lax.cummin(x, 0, reverse=True), jnp.cumsum(x > 0, 1)), f32(3, 7))
    tpu("order", lambda x: (jnp.sort(x), jnp.argmax(x, 1), jnp.argmin(x, 0), lax.top_k(x, 2), jnp.argsort(x, 0)), f32(3, 7))
    tpu("random", lambda k: (jax.random.normal(k, (5,)), jax.random.permutation(k, 7), jax.random.split(k)), np.array([0, 42], np.uint32))
    tpu("networks", lambda x, w: (jax.nn.gelu(x @ w, approximate=False), jax.nn.softmax(x), lax.erf_inv(jnp.tanh(x)), lax.lgamma(x)), f32(3, 4), f32(4, 5))


# Edges: places that are all equal, NaN and -0, windows that leave what they slide over, regions that call functions or give a constant.
ONE_OF_THREE = lax.ScatterDimensionNumbers((1, 2), (), (0,))
case("scatter_equal_places", lambda x, u: (lax.scatter(x, jnp.zeros((5, 1), jnp.int32), u, ONE_OF_THREE), lax.scatter_add(x, jnp.ones((5, 1), jnp.int32), u, ONE_OF_THREE)), f32(6, 4), f32(5, 2, 4))
case("scatter_edges", lambda x, i, u: (x.at[i].max(u), x.at[i].min(u)), np.array([1, NAN, 3, -0.0, 0.0], np.float32), np.arange(5, dtype=np.int32), np.array([NAN, 1, 2, 0.0, -0.0], np.float32))
case("scatter_edges_halves", lambda x, i, u: (x.at[i].max(u).astype(jnp.float32), x.at[i].min(u).astype(jnp.float32)), np.array([1, NAN, 3, -0.0], np.float16), np.arange(4, dtype=np.int32), np.array([NAN, 1, -2, 0], np.float16))
case("top_k_edges", lambda x: lax.top_k(x, 8), np.array([-0.0, 0.0, -0.0, 0.0, NAN, -NAN, 1, -INF], np.float32))
case("order_of_three", lambda x, y, z: lax.sort((x, y, z), num_keys=3), np.array([NAN, 1, 1, -0.0, 0.0, -NAN, 1, NAN], np.float32), np.array([1, 2, 2, 5, 4, 0, -2, 0], np.int32), np.array([1, 0, 1, 0, 1, 0, 1, 0], bool))
case("pool_of_padding", lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 1, 1, 1), [(0, 0), (-1, 1), (2, -1), (0, 0)]), lax.reduce_window(x, -jnp.inf, lax.max, (1, 4, 4, 1), (1, 1, 1, 1), "VALID")), f32(1, 3, 4, 1))
case("conv_of_nothing", lambda x, w: lax.conv_general_dilated(x, w, (2,), "VALID", dimension_numbers=("NWC", "WIO", "NWC")), f32(1, 3, 2), f32(4, 2, 3))
case("reduction_that_calls", lambda x: lax.reduce(x, np.float32(1), lambda a, b: jnp.where(a > b, a * 0.5, jnp.clip(b, 0, 1)), (0,)), f32(4, 3))
case("reduction_to_a_constant", lambda x: lax.reduce(x, np.float32(1), lambda a, b: jnp.float32(3), (0,)), f32(4, 3))
case("precisions", lambda x: (1e6 * lax.reduce_precision(x, 5, 10), 1e6 * lax.reduce_precision(x, 8, 7)), np.array([1e-6, -1e-6, 1e-8, 65519, 65520, 6.1035e-5, 6.1034e-5, 1e-40, NAN, -INF], np.float32))
case("roots_of_zeros", lambda x: 1 / jnp.cbrt(x), np.array([0.0, -0.0, 8, -27, NAN, INF, -INF], np.float32))
case("pads_beyond", lambda x: (lax.pad(x, np.float32(9), [(-2, 3, 0)]), lax.pad(x, np.float32(9), [(3, -2, 0)]), lax.pad(x[:0], np.float32(9), [(1, 1, 2)])), f32(1))
case("windows_of_ints", lambda x: (lax.reduce_window(x, np.int32(0), lax.add, (3,), (2,), [(1, 2)], base_dilation=(2,), window_dilation=(2,)), lax.reduce_window(x, np.int32(5), lax.add, (2,), (1,), [(-1, 0)])), np.array([1, -5, 2**31 - 1, 7, 9], np.int32))
case("small_int_edges", lambda x, y: (lax.div(x, y), lax.rem(x, y), lax.shift_right_logical(x, y), lax.shift_left(x, y), lax.shift_right_arithmetic(x, y), lax.clz(x)), np.array([-128, -128, 127, 5, 0, -7], np.int8), np.array([-1, 0, 8, 7, 0, 3], np.int8))

if NEW:
    def with_metadata(x):  # operations with equal attributes of their own
        from jax.experimental.xla_metadata import set_xla_metadata

        with set_xla_metadata(a="b"):
            return jnp.sum(x * 3.0) + 5.0, lax.slice(x, (0,), (2,)), lax.slice(x, (1,), (4,)), x.reshape(2, 2).T

    case("metadata", with_metadata, np.arange(4, dtype=np.float32))


# NaN in pools, their gradients, and random bits.
POOLED = RNG.integers(-3, 4, (2, 6, 5, 3)).astype(np.float32)
POOLED[0, 2, 2, 1], POOLED[1, 0, 0, 0], POOLED[1, 3:, :, 2] = NAN, INF, -INF
case("pools_with_nan", lambda x: (window(x, lax.max, -jnp.inf, (1, 2, 2, 1), (1, 2, 2, 1)), window(x, lax.max, -jnp.inf, (1, 3, 3, 1), (1, 2, 1, 1), "SAME"), window(x, lax.min, jnp.inf, (1, 2, 2, 1), (1, 1, 1, 1)),
                                      window(x[None], lax.max, -jnp.inf, (1, 1, 2, 2, 1), (1, 1, 2, 1, 1)), window(x, lax.max, jnp.float32(0), (1, 2, 2, 1), (1, 2, 2, 1))), POOLED)
case("pool_gradients", lambda x: tuple(jax.grad(lambda x, k=k: (window(x, lax.max, -jnp.inf, *k) ** 2).sum())(x) for k in [((1, 2, 2, 1), (1, 2, 2, 1)), ((1, 3, 3, 1), (1, 2, 2, 1), "SAME"), ((1, 3, 2, 1), (1, 1, 1, 1))]),
     RNG.integers(-3, 4, (2, 7, 6, 3)).astype(np.float32))
for k in [[0, 0, 0, 0], [1, 2, 3, 4], [7, 2**31, 2**32 - 2, 2**32 - 1]]:
    case("random_bits_%d" % k[0], lambda k: (*lax.rng_bit_generator(k, (3, 7)), lax.rng_bit_generator(k, (5,), jnp.uint8)[1], lax.rng_bit_generator(k, ())[1]), np.array(k, np.uint32))
case("random_bits_of_a_constant", lambda x: x ^ lax.rng_bit_generator(jnp.array([5, 6, 7, 2**32 - 1], jnp.uint32), (3,))[1], np.array([0, 1, 2**32 - 1], np.uint32))


def qr_both(x):
    q, r = jnp.linalg.qr(x)
    return q, r, *jnp.linalg.qr(x, "complete")


def up_to_signs(x):
    """Vectors of LAPACK have signs of their own."""
    u, s, v = jnp.linalg.svd(x, full_matrices=False)
    w, z = jnp.linalg.eigh(x @ x.swapaxes(-1, -2))
    whole = jnp.linalg.svd(x, full_matrices=True)
    return s, (u * s[..., None, :]) @ v, jnp.abs(u), w, (z * w[..., None, :]) @ z.swapaxes(-1, -2), jnp.linalg.svd(x, compute_uv=False), jnp.abs(whole[0][..., : s.shape[-1]]), jnp.linalg.eigvalsh(x @ x.swapaxes(-1, -2))


MATRICES = f32(2, 3, 5, 4)
SQUARE = f32(2, 4, 4)
ZEROS = np.array([[0, 2, 1], [0, 0, 3], [0, 0, 0], [-1, 1, 1]], np.float32)
case("qr", qr_both, MATRICES)
case("qr_wide", qr_both, MATRICES[0, 0].T.copy())
case("qr_of_zeros", qr_both, ZEROS)
case("qr_many_columns", lambda x: jnp.linalg.qr(x), f32(80, 70))
case("lu", lambda x: lax.linalg.lu(x), SQUARE)
case("lu_tall", lambda x: (*lax.linalg.lu(x), *lax.linalg.lu(x.swapaxes(-1, -2))), MATRICES)
case("lu_of_zeros", lambda x: lax.linalg.lu(x), ZEROS)
case("inverses", lambda x, b: (jnp.linalg.inv(x), jnp.linalg.det(x), *jnp.linalg.slogdet(x), jnp.linalg.solve(x, b)), SQUARE, f32(2, 4, 3))
case("decompositions", up_to_signs, MATRICES)
case("pseudo_inverse", lambda x, b: (jnp.linalg.pinv(x), jnp.linalg.lstsq(x[0, 0], b)[0], jnp.linalg.matrix_rank(x), jnp.linalg.cond(x[0, 0]), jnp.linalg.norm(x[0, 0], 2)), MATRICES, f32(5))
case("open_qr", qr_both, f32(2, 4, 3), poly=["b, 4, 3"], more=[f32(3, 4, 3)])
case("open_lu", lambda x: lax.linalg.lu(x), SQUARE, poly=["b, 4, 4"], more=[f32(3, 4, 4)])
case("older_cholesky", lambda a, b: (jnp.linalg.cholesky(a), lax.linalg.triangular_solve(a, b, left_side=True, lower=True), lax.linalg.triangular_solve(a, b.swapaxes(1, 2), transpose_a=True, unit_diagonal=True)), SQUARE @ SQUARE.swapaxes(1, 2) + 3 * np.eye(4, dtype=np.float32), f32(2, 4, 3))

# Loops of many rounds stay loops; loops of few are unrolled.
for n in [1, 64, 65, 200]:
    case("rounds_%d" % n, lambda x, n=n: (lax.fori_loop(0, n, lambda i, c: jnp.tanh(c @ W * 0.3 + i), x), lax.scan(lambda c, i: (c * 0.9 + i, c.sum()), x, jnp.arange(float(n)))), f32(2, 4))
case("layers_in_a_scan", lambda x, w: lax.scan(lambda c, p: (c + jnp.tanh(c @ p), c[:, 0]), x, w), f32(3, 4), f32(5, 4, 4))
case("open_layers_in_a_scan", lambda x, w: lax.scan(lambda c, p: (c + jnp.tanh(c @ p), c), x, w), f32(3, 4), f32(5, 4, 4), poly=["b, 4", "5, 4, 4"], more=[f32(2, 4), f32(5, 4, 4)])
case("update_in_one_axis", lambda x, u: (lax.dynamic_update_slice(x, u, (1, 0)), lax.dynamic_update_slice(x, u, (9, 9)), lax.dynamic_update_slice(x, u, (-9, 0)), lax.dynamic_update_slice(x, x * 2, (1, 1)), lax.dynamic_update_slice(x, u[:, :2], (1, 1))), f32(4, 3), f32(2, 3))


# What is refused.
REFUSED = {
    "bits": (lambda k: lax.rng_bit_generator(k, (3,), algorithm=lax.RandomAlgorithm.RNG_THREE_FRY)[1], (np.arange(4, dtype=np.uint32),), None, None),
    "two": (lambda k, x: (jnp.linalg.eig(x)[0].real, lax.rng_bit_generator(k, (3,), algorithm=lax.RandomAlgorithm.RNG_THREE_FRY)[1]), (np.arange(4, dtype=np.uint32), f32(3, 3)), None, None),
    "scatter": (lambda x, i: lax.scatter_apply(x, i[:, None], lambda v: v * 2 + 1, lax.ScatterDimensionNumbers((), (0,), (0,)), update_shape=(2,)), (f32(5), np.array([1, 3], np.int32)), None, None),
    "float8": (lambda x: x.astype(jnp.float8_e4m3fn).astype(jnp.float32), (f32(3),), None, None),
}


def recorded(f, args, poly, more):
    """Returns the arrays of a case."""
    args = [np.asarray(a) for a in args]
    e = export(f, args, symbolic(args, poly) if poly else args)
    out = {"module": np.frombuffer(bytes(e.mlir_module_serialized), np.uint8)}
    for prefix, these in [("", args), ("more_", more)]:
        if not these:
            continue
        for i, k in enumerate(e.module_kept_var_idx):
            out["%sin_%d" % (prefix, i)] = np.asarray(these[k])
        for i, o in enumerate(jax.tree_util.tree_leaves(jax.jit(f)(*these))):
            out["%sout_%d" % (prefix, i)] = np.asarray(o)
    return out


def main(path, kind="served"):
    cases = {"served": CASES, "refused": REFUSED}[kind]
    with tarfile.open(path, "w:bz2", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(cases):
            file = io.BytesIO()
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as z:
                for key, value in recorded(*cases[name]).items():
                    array = io.BytesIO()
                    np.save(array, value)
                    z.writestr(zipfile.ZipInfo(key + ".npy"), array.getvalue())
            info = tarfile.TarInfo(name + ".npz")
            info.size = len(file.getvalue())
            archive.addfile(info, io.BytesIO(file.getvalue()))


if __name__ == "__main__":
    main(*sys.argv[1:])
