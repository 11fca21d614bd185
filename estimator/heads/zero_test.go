package heads_test

import (
	"errors"
	"testing"

	"github.com/goestimator/goestimator/estimator/heads"
)

// TestZeroHeads: a head that no constructor made is an error, not a panic.
func TestZeroHeads(t *testing.T) {
	for _, h := range []heads.Head{heads.MultiHead{}, heads.SequentialHead{}} {
		if err := heads.Check(h); !errors.Is(err, heads.ErrOption) {
			t.Errorf("%T: got %v, expected ErrOption", h, err)
		}
		h.Name()
		h.LogitsDimension()
		h.LossReduction()
	}
}
