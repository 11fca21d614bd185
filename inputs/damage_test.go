package inputs

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// TestDamagedBytes changes bytes of files at random: the library must neither
// allocate all memory nor end the process.
func TestDamagedBytes(t *testing.T) {
	testkit.NotConcurrent(t)
	r := rand.New(rand.NewPCG(3, 7))
	for _, name := range []string{"plain.arrow", "lz4.arrow", "stream.arrow", "snappy.parquet", "zstd.parquet"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		open := arrowRecords
		if filepath.Ext(name) == ".parquet" {
			open = func(s seekable) (*recordFile, error) { return parquetRecords(s, nil, 3) }
		}
		for range 100 {
			damaged := bytes.Clone(data)
			for range 1 + r.IntN(4) {
				damaged[r.IntN(len(damaged))] = byte(r.IntN(256))
			}
			fuzzRecords(t, damaged, open)
		}
	}
}
