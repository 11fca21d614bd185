package main

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

// The first two batches share no id and are repeated with a lower loss, so that
// comparing losses shows whether rows are updated.
func TestEmbeddingReference(t *testing.T) {
	x, y := embeddingBatches()
	ids, labels := tensor.Values[int64](x), tensor.Values[int64](y)
	n := tableBatch * tableIDs
	for i := range n {
		if ids[i]%2 != 0 || ids[n+i]%2 != 1 || ids[2*n+i] != ids[i] || ids[3*n+i] != ids[n+i] {
			t.Fatalf("id %d of the first four batches: %d, %d, %d, %d", i, ids[i], ids[n+i], ids[2*n+i], ids[3*n+i])
		}
	}
	losses := embeddingReference(ids, labels)[""]
	if len(losses) != checkedSteps || math.Abs(losses[0]-math.Ln2) > 1e-12 {
		t.Fatalf("losses %v: expected %d, from ln 2 on, as the table begins with zeros", losses, checkedSteps)
	}
	if losses[2] > losses[0]-1e-3 {
		t.Errorf("losses %v: the third batch is the first again, expected a lower loss", losses)
	}
}
