package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/internal/testkit"
)

func TestDocumentIsUpToDate(t *testing.T) {
	want, err := render(testkit.Root())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(testkit.Root(), "docs", "config.md"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(got), want); d != "" {
		t.Errorf("docs/config.md is stale; run go generate ./internal/config (-file +type):\n%s", d)
	}
}

func TestFolderWithoutSources(t *testing.T) {
	if _, err := render(t.TempDir()); err == nil {
		t.Error("got no error for a folder without the sources")
	}
}
