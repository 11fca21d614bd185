package boosted

import "fmt"

// Feature holds one feature of all rows: bucket or category numbers, Columns of them per row.
type Feature struct {
	Values  []int32
	Columns int
}

// Check fails if a split uses a feature, or a column of one, that features does not have.
func (e *Ensemble) Check(features []Feature) error {
	for i, t := range e.trees {
		for id, n := range t.nodes {
			if n.kind == leaf {
				continue
			}
			if int(n.feature) >= len(features) {
				return fmt.Errorf("tree %d, node %d: feature %d: expected less than the %d given", i, id, n.feature, len(features))
			}
			if columns := features[n.feature].Columns; int(n.column) >= columns {
				return fmt.Errorf("tree %d, node %d: dimension %d of feature %d: expected less than %d", i, id, n.column, n.feature, columns)
			}
		}
	}
	return nil
}

// Logits adds the trees' values for a row to out, which has Width values. It adds in float32 and in the order of the trees, as TensorFlow does.
// Features must have passed Check.
func (e *Ensemble) Logits(features []Feature, row int, out []float32) {
	for i := range e.trees {
		t := &e.trees[i]
		values := t.values[t.leafOf(features, row):]
		for j := range out {
			out[j] += t.weight * values[j]
		}
	}
}

// leafOf returns where the values of a row's leaf begin.
func (t *tree) leafOf(features []Feature, row int) int32 {
	n := &t.nodes[0]
	for n.kind != leaf {
		f := &features[n.feature]
		v := f.Values[row*f.Columns+int(n.column)]
		if n.kind == bucketized && v <= n.threshold || n.kind == categorical && v == n.threshold {
			n = &t.nodes[n.left]
		} else {
			n = &t.nodes[n.right]
		}
	}
	return n.left
}

// Bucket returns the bucket of a value: the index of the first boundary that is not below it, at most the last index; 0 if there
// are no boundaries. Boundaries ascend. No boundary is below NaN, so it falls into the first bucket.
func Bucket(boundaries []float32, v float32) int32 {
	low, high := 0, len(boundaries)
	for low < high {
		if mid := (low + high) / 2; boundaries[mid] < v {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return int32(max(0, min(low, len(boundaries)-1)))
}
