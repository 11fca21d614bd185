package inputs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCachedObjects: later data sets and all their passes read parts of objects from the cache folder; a replaced object comes from the store.
func TestCachedObjects(t *testing.T) {
	web, url := newStore(t)
	web.Put("a.csv", string(tableText(1000)))
	spec := Spec{Format: "csv", Files: []string{url("a.csv")}, Columns: objectColumns, Header: true, Delimiter: ",", Cache: t.TempDir()}
	want := rowsOfInput(t, spec, Context{})
	reads := web.Reads("a.csv")
	if reads == 0 {
		t.Fatal("nothing was read")
	}
	if d := cmp.Diff(want, rowsOfInput(t, spec, Context{})); d != "" {
		t.Errorf("from the folder: %.500s", d)
	}
	if n := web.Reads("a.csv"); n != reads {
		t.Errorf("the store was read %d times more", n-reads)
	}
	web.Put("a.csv", string(tableText(10)))
	if got := rowsOfInput(t, spec, Context{}); cmp.Equal(want, got) || web.Reads("a.csv") == reads {
		t.Error("the object that was there before was read")
	}
	for _, c := range []struct {
		key string
		bad func(*Spec)
	}{
		{"cache", func(s *Spec) { s.Cache = "s3://bucket/cache" }},
		{"cache", func(s *Spec) { s.Files = []string{"-"} }},
		{"cache", func(s *Spec) { *s = Spec{Format: "concat", Concat: []Spec{*s}, Cache: s.Cache} }},
		{"cache_mb", func(s *Spec) { s.Cache, s.CacheMB = "", 5 }},
		{"cache_mb", func(s *Spec) { s.CacheMB = 1 << 43 }},
	} {
		s := spec
		c.bad(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "\n  "+c.key+": got") {
			t.Errorf("%s: got %v", c.key, err)
		}
	}
}

// TestCacheOfLocalFiles: local files need no cache folder.
func TestCacheOfLocalFiles(t *testing.T) {
	dir := t.TempDir()
	file, cache := filepath.Join(dir, "a.csv"), filepath.Join(dir, "parts")
	if err := os.WriteFile(file, tableText(10), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := Spec{Format: "csv", Files: []string{file}, Columns: objectColumns, Header: true, Delimiter: ",", Cache: cache}
	rowsOfInput(t, spec, Context{})
	if _, err := os.Stat(cache); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder for parts of objects: %v, expected none", err)
	}
}
