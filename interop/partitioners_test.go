package interop_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// TestPartitionersAreRecorded: the recorded partitions and placements of variables, which the tests
// of parameter servers use, are TensorFlow's.
func TestPartitionersAreRecorded(t *testing.T) {
	got := peers(t).run(t, "partitioners.py")
	want, err := os.ReadFile(filepath.Join(testkit.Root(), "internal", "distributed", "ps", "testdata", "partitions.json"))
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Error("partitions.json is not what partitioners.py prints: record it again, and see whether the tests of internal/distributed/ps agree")
	}
}
