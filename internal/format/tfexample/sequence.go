package tfexample

import "context"

// EachFeatureList calls f with the name and serialized tf.train.FeatureList of each feature list of a
// tf.train.SequenceExample, as [EachFeature] does for features.
func EachFeatureList(ctx context.Context, example []byte, f func(name, list []byte) bool) bool {
	w := decoder{ctx: ctx, f: f}
	return w.maps(example, 2)
}

// EachStep calls f with the serialized tf.train.Feature of each step of a feature list, in order, until f returns false.
// It returns false if f did, if the bytes are malformed, or if ctx has ended.
func EachStep(ctx context.Context, list []byte, f func(feature []byte) bool) bool {
	w := decoder{ctx: ctx}
	for len(list) > 0 {
		step, rest, ok := w.next(list)
		if !ok {
			return false
		}
		list = rest
		if step.number != 1 {
			continue
		}
		if step.kind != wireBytes || !f(step.data) {
			return false
		}
	}
	return true
}
