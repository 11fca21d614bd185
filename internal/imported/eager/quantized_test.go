package eager

import (
	"testing"
)

// TestQuantized: ops on quantized tensors give TensorFlow 2.15's results, bit for bit, and its refusals.
func TestQuantized(t *testing.T) {
	seen, failed := map[string]bool{}, map[string]int{}
	for _, c := range readCases[goldenCase](t, "testdata/quantized_graphs.json.gz") {
		n, in := c.node(t)
		out, err := Run(t.Context(), n, in, nil)
		if c.Error != "" {
			if err == nil {
				t.Errorf("%s: got %v, expected the error %q", c.Name, describe(out[0].T), c.Error)
			}
			continue
		}
		seen[c.Op] = true
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		for k := range out {
			want := c.Outputs[k].tensor()
			if q, ok := quantizedTypes[out[k].T.DType]; ok && want.DType.Size() == q.dtype.Size() {
				want.DType = q.dtype // the recorder has only the bits
			}
			if err := near(out[k].T, want, 0); err != nil {
				if failed[c.Op]++; failed[c.Op] < 4 {
					t.Errorf("%s: output %d of %s: %v", c.Name, k, describe(in[0].T), err)
				}
			}
		}
	}
	for op, n := range failed {
		t.Errorf("%s: %d outputs differ", op, n)
	}
	for op := range quantizedOps {
		if !seen[op.Name] {
			t.Errorf("%s has no recorded case", op.Name)
		}
	}
}
