"""Models as programs of TensorFlow 1 export them: estimators, graphs with sessions, frozen graphs."""
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

from served import Exported, F, I, S, f32, r, text

v1 = tf.compat.v1
fc = tf.feature_column
age, size = fc.numeric_column("age"), fc.numeric_column("size", shape=(2,))
job = fc.categorical_column_with_vocabulary_list("job", ["cook", "clerk"], num_oov_buckets=1)
town = fc.categorical_column_with_hash_bucket("town", 12)
wide = [age, fc.bucketized_column(age, [20.0, 40.0]), job, town, fc.crossed_column(["job", "town"], 20)]
deep = [age, size, fc.indicator_column(job), fc.embedding_column(town, 3), fc.weighted_categorical_column(job, "weight")]
deep[-1] = fc.embedding_column(deep[-1], 2)


def example(a, j, t):
    e = tf.train.Example()
    e.features.feature["age"].float_list.value.append(a)
    e.features.feature["size"].float_list.value.extend([a / 10, 1])
    e.features.feature["job"].bytes_list.value.extend([v.encode() for v in j])
    e.features.feature["weight"].float_list.value.extend([0.5 + k for k in range(len(j))])
    e.features.feature["town"].bytes_list.value.extend([v.encode() for v in t])
    return e.SerializeToString()


ROWS = text(example(30, ["cook"], ["Ulm"]), example(55, ["thief", "clerk"], ["Rom", "Oslo"]), example(12, [], []))


def estimator(make, labels, columns=wide + deep, signatures=("serving_default",)):
    def save(path):
        with tempfile.TemporaryDirectory() as base:
            e = make(tf.estimator.RunConfig(model_dir=os.path.join(base, "run"), tf_random_seed=1))
            spec = fc.make_parse_example_spec(columns)
            e.train(lambda: tf.data.Dataset.from_tensors((tf.io.parse_example(tf.constant(ROWS.tolist()), spec), tf.constant(labels))).repeat(), steps=3)
            made = e.export_saved_model(os.path.join(base, "made"), tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)).decode()
            shutil.move(made, path)

    return Exported(save, *[(s, {"examples" if s == "predict" else "inputs": ROWS}) for s in signatures])


def estimator_linear():
    return estimator(lambda c: tf.estimator.LinearClassifier(wide, n_classes=3, config=c), [0, 1, 2], signatures=("serving_default", "predict"))


def estimator_linear_regressor():
    return estimator(lambda c: tf.estimator.LinearRegressor(wide, sparse_combiner="mean", config=c), [0.5, 1, 2])


def estimator_dnn():
    return estimator(lambda c: tf.estimator.DNNClassifier([8, 4], deep, n_classes=3, batch_norm=True, dropout=0.2, config=c), [0, 1, 2], signatures=("serving_default", "predict"))


def estimator_dnn_regressor():
    return estimator(lambda c: tf.estimator.DNNRegressor([8], deep, label_dimension=1, config=c), [0.5, 1.0, 2.0])


def estimator_combined():
    return estimator(lambda c: tf.estimator.DNNLinearCombinedClassifier(linear_feature_columns=wide, dnn_feature_columns=deep, dnn_hidden_units=[6], label_vocabulary=["no", "yes"], config=c),
                     ["no", "yes", "no"], signatures=("serving_default", "predict", "classification"))


def estimator_multi_head():
    head = tf.estimator.MultiLabelHead(3)
    return estimator(lambda c: tf.estimator.DNNEstimator(head, [5], deep, config=c), [[1, 0, 1], [0, 0, 1], [1, 1, 0]])


def session(build, *runs):
    """A model of a graph and a session; BUILD returns its signatures, and what the main op is."""

    def save(path):
        with tf.Graph().as_default(), v1.Session() as s:
            v1.set_random_seed(3)
            sigs, main = build()
            for v in v1.global_variables():  # one after another: an average begins with the value of another variable
                s.run(v.initializer)
            s.run(v1.tables_initializer())
            b = v1.saved_model.Builder(path)
            b.add_meta_graph_and_variables(s, ["serve"], sigs, assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS), main_op=main)
            b.save()

    return Exported(save, *runs)


def signature(inputs, outputs):
    return {"serving_default": v1.saved_model.predict_signature_def(inputs, outputs)}


def v1_layers():
    def build():
        x = v1.placeholder(F, (None, 12, 12, 1), "x")
        y = v1.layers.conv2d(x, 4, 3, activation=tf.nn.relu)
        y = v1.layers.dropout(v1.layers.batch_normalization(v1.layers.max_pooling2d(y, 2, 2)), 0.4)
        y = v1.layers.dense(v1.layers.flatten(y), 3)
        return signature({"x": x}, {"p": tf.nn.softmax(y), "class": tf.argmax(y, 1)}), None

    return session(build, ("serving_default", {"x": f32(2, 12, 12, 1)}))


def v1_dynamic_rnn():
    def build():
        v1.disable_control_flow_v2()
        x, n = v1.placeholder(F, (None, None, 3), "x"), v1.placeholder(tf.int32, (None,), "n")
        cell = v1.nn.rnn_cell.MultiRNNCell([v1.nn.rnn_cell.LSTMCell(4, use_peepholes=True), v1.nn.rnn_cell.GRUCell(3)])
        y, _ = v1.nn.dynamic_rnn(cell, x, n, dtype=F)
        v1.enable_control_flow_v2()
        return signature({"x": x, "n": n}, {"y": y}), None

    return session(build, ("serving_default", {"x": f32(2, 5, 3), "n": np.array([5, 3], "int32")}))


def v1_bidirectional():
    def build():
        v1.disable_control_flow_v2()
        x, n = v1.placeholder(F, (None, None, 3), "x"), v1.placeholder(tf.int32, (None,), "n")
        (a, b), _ = v1.nn.bidirectional_dynamic_rnn(v1.nn.rnn_cell.BasicLSTMCell(3), v1.nn.rnn_cell.BasicLSTMCell(3), x, n, dtype=F)
        v1.enable_control_flow_v2()
        return signature({"x": x, "n": n}, {"y": tf.concat([a, b], 2)}), None

    return session(build, ("serving_default", {"x": f32(2, 5, 3), "n": np.array([2, 5], "int32")}))


def v1_branches():
    def build():
        v1.disable_control_flow_v2()
        x, flag = v1.placeholder(F, (None,), "x"), v1.placeholder(tf.bool, (), "flag")
        y = v1.cond(flag, lambda: x * 2, lambda: v1.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v + tf.cast(i, F)), [0, x])[1])
        v1.enable_control_flow_v2()
        return signature({"x": x, "flag": flag}, {"y": y}), None

    return session(build, ("serving_default", {"x": f32(3), "flag": np.bool_(True)}), ("serving_default", {"x": f32(3), "flag": np.bool_(False)}))


def v1_vocabulary():
    """A classifier with labels from a file among the assets."""

    def build():
        file = os.path.join(tempfile.mkdtemp(), "labels.txt")
        with open(file, "w") as f:
            f.write("red\ngreen\nblue\n")
        x = v1.placeholder(S, (None,), "x")
        names = tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(file, I, tf.lookup.TextFileIndex.LINE_NUMBER, S, tf.lookup.TextFileIndex.WHOLE_LINE), "?")
        rows = tf.lookup.StaticVocabularyTable(tf.lookup.TextFileInitializer(file, S, tf.lookup.TextFileIndex.WHOLE_LINE, I, tf.lookup.TextFileIndex.LINE_NUMBER), 2)
        w = v1.get_variable("w", (5, 3), partitioner=v1.fixed_size_partitioner(2))
        at = rows.lookup(x)
        top = tf.argmax(v1.nn.embedding_lookup(w, at, "div"), 1)
        return signature({"x": x}, {"label": names.lookup(top), "at": at}), v1.tables_initializer()

    return session(build, ("serving_default", {"x": text("red", "pink", "blue")}))


def v1_examples():
    """Classify and regress signatures that parse examples themselves."""

    def build():
        e = v1.placeholder(S, (None,), "e")
        p = v1.parse_example(e, {"age": v1.FixedLenFeature((), F), "job": v1.VarLenFeature(S)})
        n = tf.cast(v1.sparse_reduce_sum(tf.SparseTensor(p["job"].indices, tf.ones_like(p["job"].values, F), p["job"].dense_shape), 1), F)
        y = tf.sigmoid(v1.layers.dense(tf.stack([p["age"] / 50, tf.reshape(n, tf.shape(p["age"]))], 1), 2))
        names = tf.tile(tf.constant([["no", "yes"]]), (tf.shape(y)[0], 1))
        m = v1.saved_model
        return {"serving_default": m.classification_signature_def(e, names, y), "regress": m.regression_signature_def(e, y[:, :1])}, None

    return session(build, ("serving_default", {"inputs": ROWS}), ("regress", {"inputs": ROWS}))


def v1_frozen():
    """A frozen graph: weights are constants."""

    def save(path):
        with tf.Graph().as_default(), v1.Session() as s:
            v1.set_random_seed(4)
            x = v1.placeholder(F, (None, 8), "x")
            y = tf.identity(tf.nn.l2_normalize(v1.layers.dense(v1.layers.dense(x, 6, tf.nn.elu), 3), 1), "y")
            s.run(v1.global_variables_initializer())
            frozen = v1.graph_util.convert_variables_to_constants(s, s.graph_def, [y.op.name])
        with tf.Graph().as_default() as g, v1.Session() as s:
            v1.import_graph_def(frozen, name="net")
            v1.saved_model.simple_save(s, path, {"x": g.get_tensor_by_name("net/x:0")}, {"y": g.get_tensor_by_name("net/y:0")})

    return Exported(save, ("serving_default", {"x": f32(3, 8)}))


def v1_reference_variables():
    """Variables without resources, as before TensorFlow 1.11, with an average of them."""

    def build():
        v1.disable_resource_variables()
        x = v1.placeholder(F, (None, 4), "x")
        w, b, n = (v1.get_variable(k, shape, initializer=v1.random_normal_initializer(seed=2)) for k, shape in (("w", (4, 2)), ("b", (2,)), ("n", ())))
        average = tf.train.ExponentialMovingAverage(0.9)
        average.apply([w])
        seen = tf.identity(v1.assign_add(n, 1.0))
        v1.enable_resource_variables()
        return signature({"x": x}, {"y": v1.nn.xw_plus_b(x, average.average(w), b), "seen": seen}), None

    return session(build, ("serving_default", {"x": f32(2, 4)}), ("serving_default", {"x": f32(2, 4)}))


def v1_shared_reads():
    """Values of reference variables that change after they were read."""

    def build():
        v1.disable_resource_variables()
        x = v1.placeholder(F, (), "x")
        v = v1.get_variable("v", (3,), initializer=v1.constant_initializer(5.0))
        read = v.value()
        before = tf.reduce_sum(read)
        with tf.control_dependencies([before]):
            up = v1.assign_add(v, tf.fill([3], x))
        with tf.control_dependencies([up]):
            after, twice = tf.identity(read), 2 * read
        v1.enable_resource_variables()
        return signature({"x": x}, {"read": read, "before": before, "after": after, "twice": twice, "product": read * tf.reduce_max(after)}), None

    return session(build, *[("serving_default", {"x": np.float32(i)}) for i in range(3)])


def v1_training():
    """Each request trains: optimizers on reference variables, slots and slices of them."""

    def build():
        v1.disable_resource_variables()
        x, ids = v1.placeholder(F, (None, 2), "x"), v1.placeholder(tf.int32, (None,), "ids")
        w = v1.get_variable("w", (2, 1), initializer=v1.ones_initializer())
        e = v1.get_variable("e", (5, 2), initializer=v1.constant_initializer(0.5))
        last = v1.get_variable("last", (4,), initializer=v1.zeros_initializer())
        loss = tf.reduce_mean(tf.matmul(x, w) ** 2) + tf.reduce_sum(v1.nn.embedding_lookup(e, ids) ** 2)
        with tf.control_dependencies([v1.train.AdamOptimizer(0.1).minimize(loss)]):
            second = v1.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True).minimize(tf.reduce_sum(w.value() ** 2), var_list=[w])
        with tf.control_dependencies([second]):
            kept = last[1:3].assign(x[0])
        with tf.control_dependencies([kept]):
            after = {"w": tf.identity(w.value()), "e": tf.identity(e.value()), "last": tf.identity(last.value())}
        v1.enable_resource_variables()
        return signature({"x": x, "ids": ids}, {"loss": tf.identity(loss), **after}), None

    run = ("serving_default", {"x": f32(2, 2), "ids": np.array([1, 3, 1], "int32")})
    return session(build, run, run)


def v1_words():
    def build():
        x = v1.placeholder(S, (None,), "x")
        words = v1.string_split(x, " ")
        rows = tf.SparseTensor(words.indices, v1.string_to_hash_bucket_fast(words.values, 20), words.dense_shape)
        e = v1.get_variable("e", (20, 4), initializer=v1.truncated_normal_initializer(seed=1))
        y = v1.nn.embedding_lookup_sparse(e, rows, None, combiner="sum")
        return signature({"x": x}, {"y": y, "words": v1.sparse_tensor_to_dense(words, "")}), None

    return session(build, ("serving_default", {"x": text("a b c", "d")}))
