//go:build !noserve

package cli

import (
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/imported/session"
)

// TestNeeds: a missing part comes with advice.
func TestNeeds(t *testing.T) {
	for want, g := range map[string]session.Gap{
		"enable_control_flow_v2":   {Op: "StackPopV2"},
		"without queues":           {Op: "FIFOQueueV2"},
		"without py_function":      {Op: "EagerPyFunc"},
		"a kernel of the op":       {Op: "FractionalMaxPool"},
		"does not know":            {Op: "NoSuchOp"},
		"a wider kernel: T = half": {Op: "MatMul", Why: "T = half"},
		"a translation: none":      {Op: "Loop", ONNX: true, Why: "none"},
	} {
		if got := needs(g); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, expected %q in it", g.Op, got, want)
		}
	}
}
