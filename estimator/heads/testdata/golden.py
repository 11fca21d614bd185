"""Writes golden.json: losses, metrics and predictions of tf.estimator's V2 heads.

Run with TensorFlow 2.15 (the last with tf.estimator): python golden.py > golden.json
"""
import json

import numpy as np
import tensorflow as tf

SUM = tf.keras.losses.Reduction.SUM
MEAN = tf.keras.losses.Reduction.SUM_OVER_BATCH_SIZE
rng = np.random.RandomState(7)
BATCHES = [7, 7, 6]


def plain(x):
    """numpy to JSON: lists, bytes as text."""
    x = np.asarray(x)
    if x.dtype == object:
        return [plain(y) if isinstance(y, np.ndarray) else (y.decode() if isinstance(y, bytes) else y) for y in x.ravel().tolist()] if x.ndim < 2 else [plain(r) for r in x]
    return x.astype(np.float64).tolist() if x.dtype.kind == 'f' else x.tolist()


def logits(dim):
    """Values of a moderate size and a few large ones."""
    return [(rng.randn(n, dim) * (8 if i == 1 else 2)).astype(np.float32) for i, n in enumerate(BATCHES)]


def weights(dim=1):
    out = [np.round(rng.rand(n, dim) * 3, 2).astype(np.float32) for n in BATCHES]
    out[0][0] = 0
    return out


def ints(n_classes, dim=1):
    return [rng.randint(0, n_classes, size=(n, dim)).astype(np.int64) for n in BATCHES]


def floats(f, dim=1):
    return [f(rng.randn(n, dim)).astype(np.float32) for n in BATCHES]


def words(ids, vocabulary):
    return [np.array(vocabulary, dtype=object)[x] for x in ids]


def by_head(predictions):
    return {'/'.join(k) if isinstance(k, tuple) else k: plain(v.numpy()) for k, v in predictions.items()}


def run(name, head, options, logits_, labels, weights_=None, label_tensor=None, regularization=None):
    """One case: the head over all batches; the gradient and the predictions are the first one's. label_tensor makes TensorFlow's labels."""
    label_tensor = label_tensor or (lambda x: {k: tf.constant(v) for k, v in x.items()} if isinstance(x, dict) else tf.constant(x))
    reg = None if regularization is None else [tf.constant(r) for r in regularization]
    metrics = head.metrics(regularization_losses=reg) if reg else head.metrics()
    parts = [] if not hasattr(head, '_heads') else [(h, h.metrics()) for h in head._heads]
    losses, predictions, gradient = [], [], None
    for i, z in enumerate(logits_):
        features = {'x': tf.constant([[1.]])}
        if weights_ is not None:
            features['w'] = tf.constant(weights_[i])
        y = label_tensor(labels[i])
        logit = tf.constant(z)
        with tf.GradientTape() as tape:
            tape.watch(logit)
            loss = head.loss(y, logit, features=features, mode='train', regularization_losses=reg)
        losses.append(float(loss))
        gradient = gradient or plain(tape.gradient(loss, logit).numpy())
        predictions.append(by_head(head.predictions(logit)))
        metrics = head.update_metrics(metrics, features, logit, y, regularization_losses=reg) or metrics
        at = 0
        for h, m in parts:  # eager update_metrics of a MultiHead starts these anew at each batch, the graph of an Estimator does not
            metrics.update(h.update_metrics(m, features, logit[:, at:at + h.logits_dimension], y[h.name]))
            at += h.logits_dimension
    def listed(x):
        return {k: plain(v) for k, v in x.items()} if isinstance(x, dict) else plain(x) if isinstance(x, np.ndarray) else x
    return {
        'name': name, 'options': options, 'logits': [plain(z) for z in logits_], 'labels': [listed(y) for y in labels],
        'weights': None if weights_ is None else [plain(w) for w in weights_],
        'losses': losses, 'gradient': gradient, 'predictions': predictions[0],
        'regularization': regularization,
        'metrics': {k: float(m.result().numpy()) for k, m in metrics.items()},
    }


cases = []
W = dict(weight_column='w')
O = lambda **o: o

# Binary
ts = [0.25, 0.5, 0.9]
cases.append(run('binary', tf.estimator.BinaryClassHead(), O(head='binary'), logits(1), ints(2)))
cases.append(run('binary weighted', tf.estimator.BinaryClassHead(thresholds=ts, name='h', **W),
                 O(head='binary', thresholds=ts, name='h', weight_column='w'), logits(1), ints(2), weights()))
cases.append(run('binary sum', tf.estimator.BinaryClassHead(loss_reduction=SUM, **W),
                 O(head='binary', loss_reduction='sum', weight_column='w'), logits(1), ints(2), weights(), regularization=[0.5, 0.25]))
voc = ['no', 'yes']
cases.append(run('binary words', tf.estimator.BinaryClassHead(label_vocabulary=voc),
                 O(head='binary', label_vocabulary=voc), logits(1), words(ints(2), voc)))
# Multi-class
cases.append(run('multi class', tf.estimator.MultiClassHead(3), O(head='multi_class', n_classes=3), logits(3), ints(3)))
voc = ['ant', 'bee', 'cow', 'd\u00e9']
cases.append(run('multi class words', tf.estimator.MultiClassHead(4, label_vocabulary=voc, name='kind', **W),
                 O(head='multi_class', n_classes=4, label_vocabulary=voc, name='kind', weight_column='w'),
                 logits(4), words(ints(4), voc), weights()))
cases.append(run('multi class sum', tf.estimator.MultiClassHead(3, loss_reduction=SUM, **W),
                 O(head='multi_class', n_classes=3, loss_reduction='sum', weight_column='w'), logits(3), ints(3), weights(),
                 regularization=[0.125]))
# Multi-label
cases.append(run('multi label', tf.estimator.MultiLabelHead(3), O(head='multi_label', n_classes=3), logits(3), ints(2, 3)))
cases.append(run('multi label weighted', tf.estimator.MultiLabelHead(3, thresholds=ts[:2], classes_for_class_based_metrics=[0, 2], name='ml', **W),
                 O(head='multi_label', n_classes=3, thresholds=ts[:2], class_metrics=[0, 2], name='ml', weight_column='w'),
                 logits(3), ints(2, 3), weights()))
voc = ['a', 'b', 'c']
ragged = [[list(rng.choice(voc, size=rng.randint(0, 4), replace=False)) for _ in range(n)] for n in BATCHES]


def sparse(rows):
    ids = [(i, j) for i, r in enumerate(rows) for j in range(len(r))]
    values = [v for r in rows for v in r]
    return tf.sparse.SparseTensor(np.array(ids, np.int64).reshape(-1, 2), np.array(values, dtype=object) if values else tf.constant([], tf.string),
                                  [len(rows), max([1] + [len(r) for r in rows])])


cases.append(run('multi label words', tf.estimator.MultiLabelHead(3, label_vocabulary=voc, loss_reduction=SUM,
                                                                  classes_for_class_based_metrics=['b', 'c']),
                 O(head='multi_label', n_classes=3, label_vocabulary=voc, loss_reduction='sum', class_metric_names=['b', 'c']),
                 logits(3), [[[str(v) for v in r] for r in rows] for rows in ragged], label_tensor=sparse))
# Regression
cases.append(run('regression', tf.estimator.RegressionHead(), O(head='regression', label_dimension=1), logits(1), floats(lambda x: 3 * x)))
cases.append(run('regression weighted', tf.estimator.RegressionHead(label_dimension=2, name='r', **W),
                 O(head='regression', label_dimension=2, name='r', weight_column='w'), logits(2), floats(lambda x: 3 * x, 2), weights()))
cases.append(run('regression per logit', tf.estimator.RegressionHead(label_dimension=2, loss_reduction=SUM, **W),
                 O(head='regression', label_dimension=2, loss_reduction='sum', weight_column='w'), logits(2), floats(lambda x: 3 * x, 2),
                 weights(2), regularization=[1.5]))
counts = lambda x: np.floor(np.exp(x))
small = [np.clip(z, -3, 3) for z in logits(1)]
cases.append(run('poisson', tf.estimator.PoissonRegressionHead(**W), O(head='poisson', label_dimension=1, weight_column='w'),
                 small, floats(counts), weights()))
small = [np.clip(z, -3, 3) for z in logits(2)]
cases.append(run('poisson short', tf.estimator.PoissonRegressionHead(label_dimension=2, compute_full_loss=False, loss_reduction=SUM),
                 O(head='poisson', label_dimension=2, full_loss=False, loss_reduction='sum'), small, floats(counts, 2)))
cases.append(run('logistic', tf.estimator.LogisticRegressionHead(name='lr', **W), O(head='logistic', name='lr', weight_column='w'),
                 logits(1), floats(lambda x: 1 / (1 + np.exp(-x))), weights()))
# Multi-head
def multi(weights_=None, **o):
    hs = [tf.estimator.MultiClassHead(3, name='kind', **o), tf.estimator.RegressionHead(name='size', **o), tf.estimator.BinaryClassHead(name='sold', **o)]
    return tf.estimator.MultiHead(hs, weights_)


def multi_labels():
    a, b, c = ints(3), floats(lambda x: 2 * x), ints(2)
    return [{'kind': a[i], 'size': b[i], 'sold': c[i]} for i in range(len(BATCHES))]


cases.append(run('multi head', multi(), O(head='multi'), logits(5), multi_labels()))
cases.append(run('multi head weighted', multi([1., 0.5, 2.], **W), O(head='multi', head_weights=[1., 0.5, 2.], weight_column='w'),
                 logits(5), multi_labels(), weights(), regularization=[0.5]))


def exports(head, dim):
    """Signature names of a head's export."""
    with tf.Graph().as_default():
        spec = head.create_estimator_spec({}, 'infer', tf.constant(np.zeros([2, dim], np.float32)))
        return {k: type(v).__name__ for k, v in spec.export_outputs.items()}


def signature(head, dim):
    with tf.Graph().as_default():
        spec = head.create_estimator_spec({}, 'infer', tf.constant(np.zeros([2, dim], np.float32)))
        return sorted(k for k in spec.export_outputs['predict'].outputs)


H = tf.estimator
exported = {k: {'kinds': exports(h, d), 'predict': signature(h, d)} for k, h, d in [
    ('binary', H.BinaryClassHead(), 1), ('multi_class', H.MultiClassHead(3), 3), ('multi_label', H.MultiLabelHead(3), 3),
    ('regression', H.RegressionHead(), 1), ('poisson', H.PoissonRegressionHead(), 1), ('logistic', H.LogisticRegressionHead(), 1), ('multi', multi(), 5)]}


def rounded(x):
    """float32 values keep 9 digits, which is all they have."""
    if isinstance(x, float):
        return float('%.9g' % x)
    if isinstance(x, dict):
        return {k: rounded(v) for k, v in x.items()}
    return [rounded(v) for v in x] if isinstance(x, list) else x


print(json.dumps(rounded({'cases': cases, 'exports': exported}), separators=(',', ':')))
