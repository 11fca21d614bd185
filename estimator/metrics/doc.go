// Package metrics holds mergeable accumulators that compute the metrics of an
// evaluation batch by batch, with TensorFlow's definitions.
//
// An [Accumulator] is updated with host tensors, batch by batch, and asked for its
// [Value] at the end. Its state is a small vector of float64 sums. So several
// evaluators can each see a part of the data, send their states (MarshalBinary) and
// merge them. The result is the same as for one accumulator that saw everything, up
// to the rounding of float64 sums.
//
// Arguments are labels, predictions and, optionally, weights, in that order;
// [Mean], [AccuracyBaseline], [Min] and [Max] take values and, optionally,
// weights. Three rules hold for all of them, as in TensorFlow:
//
//   - Labels and predictions have the same shape. A trailing dimension of 1 is
//     dropped from either if that makes them equal ([B] fits [B, 1]).
//   - Weights are a scalar, one per example ([B] or [B, 1]), or have the shape
//     of what they weigh, in which any dimension may be 1. Missing trailing
//     dimensions are 1.
//   - A ratio whose denominator is 0 is 0 (tf.math.divide_no_nan), so every
//     mean, ratio and area over no examples is 0. Only Min and Max of nothing
//     are NaN.
//
// The definitions follow tf.keras.metrics (which tf.estimator's V2 heads use);
// [AUC] also offers the summation methods of tf.compat.v1.metrics.auc. Inputs are
// float32, float64 and every integer type. Sums are float64, in the order of the
// elements, so a result never depends on scheduling. Predictions are compared with
// thresholds as float32, as in TensorFlow.
//
// In one respect the metrics are stricter than TensorFlow, which casts silently: a
// binary label that is not 0 or 1, a probability outside [0, 1] and a class id out of
// range are errors that name the value and the element.
//
// An Update that fails leaves its accumulator unchanged. Accumulators are not
// safe for concurrent use: give each goroutine its own and merge.
package metrics
