"""Writes SavedModels of JAX's programs as jax2tf makes them, with inputs and what JAX answers, for TestModelsOfJAX.

    python stablehlo_models.py DIR

DIR/NAME/1 is a version, DIR/NAME/in.npz and DIR/NAME/out.npz hold inputs and outputs by their names. Models whose package is not there are left out.
"""
import os
import sys

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf
from jax import lax
from jax.experimental import jax2tf

RNG = np.random.default_rng(3)


def f32(*shape, scale=1.0):
    return (scale * RNG.normal(size=shape)).astype(np.float32)


def save(where, name, f, params, inputs, poly=None, **options):
    """Saves f(params, **inputs), whose batch is open where poly says so."""
    path = os.path.join(where, name)
    names = list(inputs)
    shapes = None if poly is None else [None] + [poly[n] for n in names]
    converted = jax2tf.convert(lambda p, *xs: f(p, *xs), polymorphic_shapes=shapes, with_gradient=False, **options)
    module = tf.Module()
    module.params = jax.tree_util.tree_map(tf.Variable, params)
    open_sizes = lambda n, x: [None if not part.strip().isdigit() else int(part) for part in poly[n].split(",")] if poly else x.shape

    @tf.function(autograph=False, input_signature=[tf.TensorSpec(open_sizes(n, inputs[n]), inputs[n].dtype, name=n) for n in names])
    def serve(*xs):
        out = converted(module.params, *xs)
        leaves = jax.tree_util.tree_leaves(out)
        return {"y_%d" % i: y for i, y in enumerate(leaves)}

    tf.saved_model.save(module, os.path.join(path, "1"), signatures=serve)
    out = jax.tree_util.tree_leaves(jax.jit(f)(params, *inputs.values()))
    np.savez(os.path.join(path, "in.npz"), **inputs)
    np.savez(os.path.join(path, "out.npz"), **{"y_%d" % i: np.asarray(o) for i, o in enumerate(out)})


def gpt(where):
    d, heads, layers, words, length = 16, 2, 2, 11, 6
    block = {"qkv": f32(layers, d, 3 * d, scale=0.2), "proj": f32(layers, d, d, scale=0.2), "up": f32(layers, d, 4 * d, scale=0.2), "down": f32(layers, 4 * d, d, scale=0.2)}
    params = {"wte": f32(words, d), "wpe": f32(length, d), "block": block}

    def norm(x):
        return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

    def layer(x, p):
        q, k, v = jnp.split(norm(x) @ p["qkv"], 3, -1)
        split = lambda t: t.reshape(*t.shape[:2], heads, -1).transpose(0, 2, 1, 3)
        s = split(q) @ split(k).swapaxes(-1, -2) / np.sqrt(d / heads)
        s = jnp.where(jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool)), s, -jnp.inf)
        a = (jax.nn.softmax(s) @ split(v)).transpose(0, 2, 1, 3).reshape(x.shape)
        x = x + a @ p["proj"]
        return x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"], None

    def f(p, ids):
        x = p["wte"][ids] + p["wpe"][: ids.shape[1]]
        x, _ = lax.scan(layer, x, p["block"])
        logits = norm(x) @ p["wte"].T
        return logits, jnp.argmax(logits[:, -1], -1)

    ids = RNG.integers(0, words, (3, length)).astype(np.int32)
    save(where, "gpt", f, params, {"ids": ids})
    save(where, "gpt_open", f, params, {"ids": ids}, {"ids": "b, %d" % length})


def generate(where):
    params = {"table": f32(7, 7)}

    def f(p, start, seed):
        def step(i, carry):
            ids, key = carry
            key, sub = jax.random.split(key)
            logits = p["table"][ids[:, i]]
            return ids.at[:, i + 1].set(jax.random.categorical(sub, logits).astype(jnp.int32)), key

        ids = jnp.zeros((start.shape[0], 8), jnp.int32).at[:, 0].set(start)
        return lax.fori_loop(0, 7, step, (ids, jax.random.PRNGKey(seed[0])))[0]

    save(where, "generate", f, params, {"start": np.array([1, 2, 3], np.int32), "seed": np.array([5], np.int32)})


def kinds(where):
    def f(p, x, i, flag, byte, text_ids):
        return {"sum": x.sum(-1) + i, "flags": ~flag, "bytes": byte + jnp.uint8(250), "pairs": (x.astype(jnp.bfloat16).astype(jnp.float32), text_ids.astype(jnp.uint32) >> 1)}

    inputs = {"x": f32(2, 3), "i": np.array([1, -2], np.int32), "flag": np.array([True, False]), "byte": np.array([1, 9], np.uint8), "text_ids": np.array([3, 7], np.int32)}
    save(where, "kinds", f, {}, inputs, {"x": "b, 3", "i": "b", "flag": "b", "byte": "b", "text_ids": "b"})


def platforms(where):
    """A module for several platforms has its number as first argument."""
    try:
        save(where, "platforms", lambda p, x: jnp.tanh(x @ p), f32(4, 5), {"x": f32(2, 4)}, native_serialization_platforms=("cpu", "tpu", "cuda"))
    except (TypeError, ValueError) as err:
        print("platforms:", err)


def flax_models(where):
    import flax.linen as nn

    class CNN(nn.Module):
        @nn.compact
        def __call__(self, x):
            for width in (8, 16):
                x = nn.Conv(width, (3, 3), strides=(1, 1))(x)
                x = nn.BatchNorm(use_running_average=True)(x)
                x = nn.relu(x)
                x = nn.max_pool(x, (2, 2), (2, 2))
            x = nn.Conv(16, (3, 3), feature_group_count=16)(x)
            x = nn.avg_pool(x, (2, 2), (1, 1), "SAME")
            x = x.reshape(x.shape[0], -1)
            return nn.softmax(nn.Dense(10)(nn.Dropout(0.5, deterministic=True)(x)))

    class Transformer(nn.Module):
        @nn.compact
        def __call__(self, ids):
            x = nn.Embed(13, 16)(ids)
            mask = nn.make_attention_mask(ids > 0, ids > 0)
            for _ in range(2):
                x = x + nn.MultiHeadDotProductAttention(2)(nn.LayerNorm()(x), nn.LayerNorm()(x), mask=mask)
                x = x + nn.Dense(16)(nn.gelu(nn.Dense(32)(nn.LayerNorm()(x))))
            return nn.GroupNorm(num_groups=4)(x), x.mean(1)

    class LSTM(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(3)(nn.RNN(nn.OptimizedLSTMCell(8))(x)[:, -1]), nn.RNN(nn.GRUCell(8))(x)

    image = f32(2, 16, 16, 3)
    ids = np.array([[1, 5, 2, 0, 0], [3, 3, 12, 7, 1]], np.int32)
    series = f32(2, 5, 4)
    for name, model, x, poly in [("cnn", CNN(), image, "b, 16, 16, 3"), ("transformer", Transformer(), ids, "b, 5"), ("lstm", LSTM(), series, "b, 5, 4")]:
        params = model.init(jax.random.PRNGKey(0), x)
        save(where, "flax_" + name, lambda p, x, model=model: model.apply(p, x), params, {"x": x}, {"x": poly})
        save(where, "flax_" + name + "_fixed", lambda p, x, model=model: model.apply(p, x), params, {"x": x})


def nnx_models(where):
    from flax import nnx

    class MLP(nnx.Module):
        def __init__(self, rngs):
            self.a, self.norm, self.b = nnx.Linear(4, 8, rngs=rngs), nnx.BatchNorm(8, use_running_average=True, rngs=rngs), nnx.Linear(8, 3, rngs=rngs)

        def __call__(self, x):
            return self.b(nnx.relu(self.norm(self.a(x))))

    graph, state = nnx.split(MLP(nnx.Rngs(0)))
    params = nnx.to_pure_dict(state) if hasattr(nnx, "to_pure_dict") else state.to_pure_dict()

    def f(p, x):
        model = MLP(nnx.Rngs(0))
        now = nnx.state(model)
        (nnx.replace_by_pure_dict(now, p) if hasattr(nnx, "replace_by_pure_dict") else now.replace_by_pure_dict(p))
        nnx.update(model, now)
        return model(x)

    save(where, "nnx_mlp", f, params, {"x": f32(3, 4)}, {"x": "b, 4"})


def main(where):
    for make in [gpt, generate, kinds, platforms, flax_models, nnx_models]:
        try:
            make(where)
        except ImportError as err:
            print(make.__name__, err)


if __name__ == "__main__":
    main(sys.argv[1])
