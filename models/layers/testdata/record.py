"""Records what Keras' layers answer: python record.py > keras.json. The test feeds our layers the same weights."""
import json
import numpy as np
import tensorflow as tf

tf.random.set_seed(1)
tf.keras.backend.set_floatx("float64")
rng = np.random.default_rng(1)
L = tf.keras.layers


def case(name, layer, x, call=None, **extra):
    x = tf.constant(x)
    call = call or (lambda x: layer(x))
    call(x)
    for v in layer.weights:
        v.assign(rng.normal(size=v.shape))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = call(x)
        loss = tf.reduce_sum(y * tf.cos(tf.cast(tf.reshape(tf.range(tf.size(y)), y.shape), y.dtype)))
    dx = tape.gradient(loss, x)
    flat = lambda t: np.asarray(t, np.float64).ravel().tolist()
    return dict(name=name, shape=list(x.shape), out=list(y.shape), x=flat(x), weights=[dict(shape=list(v.shape), values=flat(v)) for v in layer.weights],
                y=flat(y), dx=flat(dx), **extra)


x = rng.normal(size=(2, 4, 6))
mask = np.array([[1, 1, 0, 1], [1, 0, 1, 1]], bool)
mha = L.MultiHeadAttention(num_heads=2, key_dim=3)
wide = L.MultiHeadAttention(num_heads=3, key_dim=2, value_dim=4, use_bias=False)
causal = L.MultiHeadAttention(num_heads=2, key_dim=3)
masked = L.MultiHeadAttention(num_heads=2, key_dim=3)
volumes = rng.normal(size=(2, 2, 3, 2, 2))
cases = [
    case("attention", mha, x, lambda x: mha(x, x)),
    case("wide", wide, x, lambda x: wide(x, x)),
    case("causal", causal, x, lambda x: causal(x, x, use_causal_mask=True)),
    case("masked", masked, x, lambda x: masked(x, x, attention_mask=tf.constant(mask[:, None, :])), mask=mask.ravel().astype(int).tolist()),
    case("group", L.GroupNormalization(groups=3), x),
    case("prelu", L.PReLU(), x),
    case("bidirectional", L.Bidirectional(L.LSTM(3, return_sequences=True)), x),
    case("spread steps", L.Conv1DTranspose(5, 3, strides=2, padding="same"), x),
    case("spread steps whole", L.Conv1DTranspose(2, 2, strides=3), x),
    case("separable steps", L.SeparableConv1D(5, 3, depth_multiplier=2, padding="causal", dilation_rate=2), x),
    case("spread volumes", L.Conv3DTranspose(3, (2, 3, 1), strides=(2, 1, 1), padding="same"), volumes),
    case("spread volumes whole", L.Conv3DTranspose(3, (2, 3, 2), strides=(1, 2, 3)), volumes),
]
print(json.dumps(cases))
