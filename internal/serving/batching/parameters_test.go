package batching

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestParse(t *testing.T) {
	p, err := Parse([]byte(`max_batch_size { value: 32 } batch_timeout_micros { value: 1500 } max_enqueued_batches { value: 7 } num_batch_threads { value: 3 }
		thread_pool_name { value: "pool" } allowed_batch_sizes: 8 allowed_batch_sizes: 32 pad_variable_length_inputs: true`))
	want := Parameters{MaxBatchSize: 32, BatchTimeout: 1500 * time.Microsecond, MaxEnqueuedBatches: 7, NumBatchThreads: 3, ThreadPoolName: "pool",
		AllowedBatchSizes: []int{8, 32}, PadVariableLengthInputs: true}
	if err != nil || !cmp.Equal(p, want) {
		t.Errorf("got %v, %s", err, cmp.Diff(want, p))
	}
	if p, err = Parse(nil); err != nil || !cmp.Equal(p, Defaults()) {
		t.Errorf("empty: %v, %s", err, cmp.Diff(Defaults(), p))
	}
}

// The example of TensorFlow Serving's tests is read.
func TestGolden(t *testing.T) {
	p, err := ReadFile(testkit.Shared(t, "golden/tensorflow-serving/batching_config.txt"))
	if err != nil || p.MaxBatchSize != 128 || p.MaxEnqueuedBatches != 1000000 || p.NumBatchThreads != 8 {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`max_batch_size { value: 10 } allowed_batch_sizes: 2 allowed_batch_sizes: 8`: "Last entry in allowed_batch_sizes must match max_batch_size; last entry was 8; expected 10",
		`max_batch_size { value: 8 } allowed_batch_sizes: 8 allowed_batch_sizes: 8`:  "allowed_batch_sizes entries must be monotonically increasing",
		`max_batch_size { value: 0 }`:        "max_batch_size must be positive; was 0",
		`batch_timeout_micros { value: -1 }`: "batch_timeout_micros must be non-negative; was -1",
		`max_enqueued_batches { value: -1 }`: "max_enqueued_batches must be non-negative; was -1",
		`num_batch_threads { value: 0 }`:     "num_batch_threads must be positive; was 0",
		`max_batch_size { value: 8 } enable_large_batch_splitting { value: true } max_execution_batch_size { value: 9 }`:                        "max_execution_batch_size",
		`max_batch_size { value: 8 } enable_large_batch_splitting { value: true } max_execution_batch_size { value: 4 } allowed_batch_sizes: 2`: "Last entry in allowed_batch_sizes must be equal to max_execution_batch_size; last entry was 2; expected 4",
		`max_batch_size { value: 8 } enable_large_batch_splitting { value: true } max_execution_batch_size { value: 4 } allowed_batch_sizes: 9`: "Last entry in allowed_batch_sizes must be less than or equal to max_batch_size; last entry was 9; expected 8",
	} {
		_, err := Parse([]byte(text))
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, expected %q", text, err, want)
		}
	}
	if _, err := Parse([]byte("max_batch_size: 3")); err == nil {
		t.Error("a bare number was taken for a wrapped one")
	}
}

func TestForModel(t *testing.T) {
	dir := t.TempDir()
	if _, ok, err := ForModel(dir); ok || err != nil {
		t.Errorf("without a file: %v, %v", ok, err)
	}
	file := filepath.Join(dir, ParametersFile)
	if err := os.WriteFile(file, []byte("max_batch_size { value: 4 }"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, ok, err := ForModel(dir); !ok || err != nil || p.MaxBatchSize != 4 {
		t.Errorf("got %+v, %v, %v", p, ok, err)
	}
	if err := os.WriteFile(file, []byte("max_batch_size {"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := ForModel(dir); ok || err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a broken file: %v, %v", ok, err)
	}
}

// Every accepted text has valid parameters.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`max_batch_size { value: 32 } allowed_batch_sizes: [8, 32] batch_timeout_micros { value: 9223372036854775807 }`))
	f.Add([]byte(`enable_large_batch_splitting { value: true } max_execution_batch_size { value: -1 }`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse(text)
		if err == nil && (p.Validate() != nil || p.BatchRows() < 1 || p.BatchTimeout < 0) {
			t.Errorf("accepted %+v", p)
		}
	})
}
