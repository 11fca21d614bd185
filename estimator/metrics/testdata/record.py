"""Records what Keras' metrics answer: python record.py > keras.json. Weights are by example; a batch of null weights has none."""
import json
import numpy as np
import tensorflow as tf

M = tf.keras.metrics
rng = np.random.default_rng(3)


def number(x):
    return "NaN" if np.isnan(x) else "Inf" if np.isinf(x) else float(x)


def case(kind, params, metric, batches, seen=lambda y, p: (y, p)):
    """seen makes of labels and predictions what Keras takes for them."""
    out = dict(kind=kind, params=params, batches=[])
    for y, p, w in batches:
        y, p = (x if x.dtype == np.int64 else x.astype(np.float32) for x in (y, p))
        a, b = (np.asarray(x, np.float32) for x in seen(y, p))
        metric.update_state(tf.constant(a), tf.constant(b), sample_weight=None if w is None else tf.constant(w.astype(np.float32)))
        out["batches"].append(dict(labels=dict(shape=y.shape, values=[number(x) for x in y.ravel()]), predictions=dict(shape=p.shape, values=[number(x) for x in p.ravel()]),
                                   weights=None if w is None else w.tolist()))
    out["want"] = [number(x) for x in np.ravel(metric.result().numpy())]
    return out


def onehot(n):
    return lambda y, p: (np.eye(n)[y], np.eye(n)[p])


def ids(n, among):
    return [(rng.integers(0, among, k), rng.integers(0, among, k), w and rng.integers(0, 4, k) / 2) for k, w in ((7, None), (5, 1))]


def numbers(*shape):
    return [(rng.normal(size=(k, *shape)), rng.normal(size=(k, *shape)), w and rng.integers(0, 4, k) / 2) for k, w in ((6, None), (4, 1))]


def scores(n):
    return [(rng.integers(0, n, k), np.round(rng.random((k, n)), 1), w and rng.integers(0, 4, k) / 2) for k, w in ((8, None), (5, 1))]


def binary():
    return [(rng.integers(0, 2, (k, 1)), np.round(rng.random((k, 1)), 1), None) for k in (9, 4)]


def labels(n):
    return [(rng.integers(0, 2, (k, n)).astype(float), np.round(rng.random((k, n)), 1), w and rng.integers(0, 4, k) / 2) for k, w in ((8, None), (5, 1))]


cases = []
for name, average in (("f1_macro", "macro"), ("f1_micro", "micro"), ("f1_weighted", "weighted"), ("f1_per_class", None)):
    cases.append(case(name, dict(classes=4), M.F1Score(average=average), ids(4, 4), onehot(4)))
    cases.append(case(name, dict(classes=5), M.F1Score(average=average), ids(5, 3), onehot(5)))  # classes without examples
    cases.append(case(name, dict(classes=3, thresholds=[0.5]), M.F1Score(average=average, threshold=0.5), labels(3)))
    none = [(np.zeros((3, 2)), np.zeros((3, 2)), None)]  # no positives
    cases.append(case(name, dict(classes=2, thresholds=[0.5]), M.F1Score(average=average, threshold=0.5), none))
cases.append(case("f1", dict(thresholds=[0.5]), M.F1Score(average="micro", threshold=0.5), binary()))
cases.append(case("f1", dict(thresholds=[0.3]), M.F1Score(average="micro", threshold=0.3), binary()))
for n in (1, 3):
    cases.append(case("r2", dict(outputs=n), M.R2Score(), numbers(n)))
same = np.ones((3, 1))
cases.append(case("r2", dict(outputs=1), M.R2Score(), [(same, same, None)]))
cases.append(case("r2", dict(outputs=1), M.R2Score(), [(same, same + 1, None)]))
cases.append(case("mape", {}, M.MeanAbsolutePercentageError(), numbers(2)))
cases.append(case("mape", {}, M.MeanAbsolutePercentageError(), [(np.array([0.0, 1, -2]), np.array([0.0, 2, 2]), None)]))
cases.append(case("cosine_similarity", {}, M.CosineSimilarity(), numbers(3)))
zeros = np.array([[0.0, 0], [3, 4], [1, np.nan]])
cases.append(case("cosine_similarity", {}, M.CosineSimilarity(), [(zeros[:2], np.array([[1.0, 2], [4, 3]]), None)]))
cases.append(case("cosine_similarity", {}, M.CosineSimilarity(), [(zeros, zeros, None)]))
cases.append(case("iou", dict(classes=4, class_ids=[0, 2]), M.IoU(4, [0, 2]), ids(4, 4)))
cases.append(case("iou", dict(classes=5, class_ids=[1, 4]), M.IoU(5, [1, 4]), ids(5, 3)))
cases.append(case("iou", dict(classes=3, class_ids=[2]), M.IoU(3, [2]), ids(3, 2)))
cases.append(case("mean_iou", dict(classes=4), M.MeanIoU(4), ids(4, 4)))
for targets in ([0, 1], [0], [1]):
    cases.append(case("binary_iou", dict(thresholds=[0.5], class_ids=targets), M.BinaryIoU(targets, 0.5), binary()))
for k in (1, 2, 7):  # ties, and more than there are classes
    cases.append(case("top_k", dict(k=k), M.SparseTopKCategoricalAccuracy(k), scores(4)))
nan = np.array([[0.1, np.nan, 0.3], [0.3, 0.2, 0.1]])
cases.append(case("top_k", dict(k=2), M.SparseTopKCategoricalAccuracy(2), [(np.array([2, 0]), nan, None)]))
for beta in (0.5, 2.0):
    for name, average in (("fbeta_macro", "macro"), ("fbeta_micro", "micro"), ("fbeta_weighted", "weighted"), ("fbeta_per_class", None)):
        cases.append(case(name, dict(classes=5, beta=beta), M.FBetaScore(average=average, beta=beta), ids(5, 3), onehot(5)))
        cases.append(case(name, dict(classes=3, beta=beta, thresholds=[0.5]), M.FBetaScore(average=average, beta=beta, threshold=0.5), labels(3)))
    cases.append(case("fbeta", dict(beta=beta, thresholds=[0.3]), M.FBetaScore(average="micro", beta=beta, threshold=0.3), binary()))
print(json.dumps(cases))
