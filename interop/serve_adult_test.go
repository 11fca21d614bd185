package interop_test

import (
	"bufio"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// TestAdultServed trains, exports and serves the wide and deep model for Adult. Python makes tf.Examples from rows of
// the test file, including rows with "?". The server, TensorFlow and `predict` classify them equally.
func TestAdultServed(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: runs processes (-short)")
	}
	py, data := peers(t), testkit.Shared(t, "data/adult")
	steps, rows := "50", 600
	if os.Getenv("GOESTIMATOR_ACCEPT") == "1" {
		steps, rows = "1000", 1<<20
	}
	work := t.TempDir()
	file := firstRows(t, filepath.Join(data, "adult.test.gz"), filepath.Join(work, "rows.csv"), rows)
	args := []string{"--config", "configs/adult_wide_deep.yaml", "--set", "data_dir=" + data, "--set", "model_dir=" + filepath.Join(work, "model"),
		"--set", "train.max_steps=" + steps, "--set", "eval.exporters=[]"}
	goestimator(t, append([]string{"train"}, args...)...)
	model := exported(t, filepath.Join(work, "adult"), args...)
	want := predictRows(t, file, append(args, "--set", "predict.keys=[probabilities, logistic, classes]")...)
	writeJSON(t, filepath.Join(work, "want.json"), want)
	at := serve(t, "--model", "adult="+filepath.Dir(model), "--enable-batching")
	py.run(t, "serve_adult.py", at.GRPC, model, file, filepath.Join(work, "want.json"))
}

// firstRows decompresses rows of Adult's test file, whose first line is not a row.
func firstRows(t *testing.T, from, to string, n int) string {
	t.Helper()
	f, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for lines := bufio.NewScanner(z); n > 0 && lines.Scan(); {
		if line := lines.Text(); line != "" && !strings.HasPrefix(line, "|") {
			out.WriteString(line + "\n")
			n--
		}
	}
	write(t, to, []byte(out.String()))
	return to
}
