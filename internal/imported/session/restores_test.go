package session

import (
	"testing"

	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

// Variables may be restored twice, and small ones often, but not as often as a graph says.
func TestRestoresAreBounded(t *testing.T) {
	prefix := t.TempDir() + "/variables"
	w, err := bundle.NewWriter(atomicfile.OS{}, prefix, 1)
	if err != nil {
		t.Fatal(err)
	}
	large := tensor.New(tensor.Float32, restoresBesides/4)
	if err := w.Add("large", large); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	r, err := bundle.Open(atomicfile.OS{}, prefix)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	restoring := restoresOf(r)
	for i := range 10 {
		if err := restoring(restoresBesides); (err == nil) != (i < 3) {
			t.Errorf("time %d: %v", i, err)
		}
	}
}
