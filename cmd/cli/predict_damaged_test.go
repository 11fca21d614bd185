package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/config"
)

// TestOneHint: for a damaged image that an evaluation would leave out, the error suggests a setting that helps, not the one that is already set.
func TestOneHint(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "1.png"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	ds, err := inputs.ImageFolder(dir, inputs.Images{Height: 2, Width: 2})
	if err != nil {
		t.Fatal(err)
	}
	_, damaged := ds.Gather(t.Context(), []int64{0})
	cfg := &config.Config{}
	cfg.Eval.Input = inputs.Spec{Format: "images", OnError: "skip"}
	err = unpredictable(cfg, damaged)
	if row := new(inputs.DataError); !errors.As(err, &row) {
		t.Errorf("%v is no DataError", err)
	}
	const want = "1.png: image cannot be decoded: it is not a PNG, JPEG, WebP, GIF or BMP image; --set predict.on_error=skip leaves such rows out, so that there are fewer predictions than rows"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, expected %s", err, want)
	}
	cfg.Eval.Input.OnError = ""
	if err := unpredictable(cfg, damaged); !strings.HasSuffix(err.Error(), "; replace it, remove it, or set on_error to skip") {
		t.Errorf("got %v, expected the hint of the input", err)
	}
}
