package tabular

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// TestJoinedTexts: a reader that returns io.EOF with its last bytes, as decompressors do, is followed by the next text.
func TestJoinedTexts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "2.jsonl")
	if err := os.WriteFile(file, []byte("2"), 0o600); err != nil {
		t.Fatal(err)
	}
	first := text{iotest.DataErrReader(strings.NewReader("1")), io.NopCloser(nil)}
	j := &joinedTexts{ctx: t.Context(), present: first, files: []string{file}}
	if all, err := io.ReadAll(j); string(all) != "1\n2" || err != nil {
		t.Errorf("got %q, %v", all, err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}
