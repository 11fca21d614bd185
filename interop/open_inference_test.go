package interop_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// TestOpenInference: Triton's clients work over REST and gRPC, including load and unload.
func TestOpenInference(t *testing.T) {
	p := peers(t)
	if err := exec.Command(p.path, "-c", "import tritonclient.http, tritonclient.grpc").Run(); err != nil {
		t.Skip("skipped: tritonclient is not installed (make peers)")
	}
	golden := testkit.Shared(t, "golden/tensorflow-serving/saved_model_half_plus_two_cpu/00000123")
	base := filepath.Join(t.TempDir(), "m")
	if err := os.CopyFS(filepath.Join(base, "1"), os.DirFS(golden)); err != nil {
		t.Fatal(err)
	}
	at := serve(t, "--model", "m="+base)
	if out := p.run(t, "open_inference.py", at.REST, at.GRPC); !strings.Contains(out, "done") {
		t.Errorf("got %q", out)
	}
}
