package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNewestVersion: versions are ordered as numbers, whatever the name of the folder.
func TestNewestVersion(t *testing.T) {
	base := filepath.Join(t.TempDir(), "models[1]*")
	for _, name := range []string{"9", "00000010", "2", "99x", "+77", "temp-100"} {
		if err := os.MkdirAll(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := newestVersion(base); err != nil || filepath.Base(got) != "00000010" {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := newestVersion(filepath.Join(base, "9")); err == nil || !strings.Contains(err.Error(), "is no SavedModel") {
		t.Errorf("an empty folder: got %v", err)
	}
	if _, err := newestVersion(filepath.Join(base, "none")); !os.IsNotExist(err) {
		t.Errorf("no folder: got %v", err)
	}
}
