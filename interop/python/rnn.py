"""rnn.py MODE CASES DATA OUT: tf.estimator's recurrent models, for rnn_test.go. Modes and files are canned.py's."""
import numpy as np
import tensorflow as tf

import canned

fc = tf.feature_column
static_column, static_dataset, predict = canned.column, canned.dataset, tf.estimator.Estimator.predict
LENGTH = 8  # steps that predictions are given


def column(s, known):
    if not s.get("sequence"):
        return static_column(s, known)
    if s["type"] == "numeric":
        return fc.sequence_numeric_column(s["key"])
    if s["type"] == "hash_bucket":
        return fc.sequence_categorical_column_with_hash_bucket(s["key"], s["buckets"])
    assert s["type"] == "vocabulary", s
    return fc.sequence_categorical_column_with_vocabulary_list(s["key"], s["vocabulary"])


def estimator(case, model_dir):
    known, p = canned.columns(case["columns"]), dict(case["params"])
    for k in list(p):
        if k.endswith("feature_columns"):
            p[k] = [known[name] for name in p[k]]
        elif k.endswith("optimizer"):
            p[k] = canned.optimizer(p[k])
    if p.get("head"):
        p["head"] = tf.estimator.RegressionHead()
    if isinstance(p.get("cell_type"), list):
        kinds = {"simple_rnn": tf.keras.layers.SimpleRNNCell, "lstm": tf.keras.layers.LSTMCell, "gru": tf.keras.layers.GRUCell}
        cells = list(zip(p.pop("cell_type"), p.pop("units")))
        p["rnn_cell_fn"] = lambda: [kinds[kind](units) for kind, units in cells]
    config = tf.estimator.RunConfig(model_dir=model_dir, tf_random_seed=5, save_checkpoints_steps=case["steps"], save_summary_steps=50, keep_checkpoint_max=None)
    e = getattr(tf.estimator.experimental, case["class"])(config=config, **p)
    e.predict = lambda *a, **k: map(padded, predict(e, *a, **k))
    return e


def padded(p):
    """Steps after the last of the batch repeat it, as masked ones do."""
    x = p.get("logits")
    if x is not None and x.ndim == 2:
        p["logits"] = np.concatenate([x] + [x[-1:]] * (LENGTH - len(x)))
    return p


def dataset(data, case, first, count):
    if case["label"] != "label_steps":
        return static_dataset(data, case, first, count)
    batch = case["batch"]
    end = min((first + count) * batch, len(data["age"]))
    labels = tf.RaggedTensor.from_row_splits(data["label_steps"], data["offsets"])[first * batch:end].to_sparse()
    other = static_dataset(data, {**case, "label": "label2"}, first, count).unbatch().map(lambda x, y: x)
    return tf.data.Dataset.zip((other, tf.data.Dataset.from_tensor_slices(labels))).batch(batch)


canned.column, canned.estimator, canned.dataset = column, estimator, dataset
canned.main()
