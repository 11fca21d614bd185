package interop_test

import (
	"archive/tar"
	"compress/bzip2"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordedForests are models of TensorFlow Decision Forests, made by python/forests.py, so that the peers' environment does not need it. They
// are unpacked to dir. The short form has two.
func recordedForests(t *testing.T, dir string) (kinds []servedKind) {
	t.Helper()
	f, err := os.Open("../internal/imported/session/testdata/forests.tar.bz2")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := tar.NewReader(bzip2.NewReader(f))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return kinds
		}
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(strings.TrimSuffix(h.Name, ".json"), "/")
		if os.Getenv("GOESTIMATOR_ACCEPT") != "1" && name != "rf_classes" && name != "gbt_sets" {
			continue
		}
		if strings.HasSuffix(h.Name, ".json") {
			kinds = append(kinds, servedKind{"decision forests", name})
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		data, err := io.ReadAll(r)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o777)
		}
		if err == nil {
			err = os.WriteFile(path, data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestServeForests: the program serves the recorded models with the results of TensorFlow Decision Forests. It needs no peer.
func TestServeForests(t *testing.T) {
	dir := t.TempDir()
	kinds := recordedForests(t, dir)
	s := newKindServer(t)
	for _, k := range kinds {
		if r := s.try(t, k, dir); r.what != answered {
			t.Errorf("%s: %s: %v", k.name, r.what, r.why)
		}
	}
	if len(kinds) == 0 {
		t.Error("the archive has no models")
	}
}
