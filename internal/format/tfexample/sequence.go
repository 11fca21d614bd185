package tfexample

import "context"

// EachFeatureList calls f with the name and serialized tf.train.FeatureList of every feature list of a
// tf.train.SequenceExample, as [EachFeature] does with the features of its context.
func EachFeatureList(ctx context.Context, example []byte, f func(name, list []byte) bool) bool {
	w := decoder{ctx: ctx, f: f}
	return w.maps(example, 2)
}

// EachStep calls f with the serialized tf.train.Feature of every step of a feature list, in order, until it returns false.
// It returns false where f did, where the bytes are malformed, and where ctx has ended.
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
