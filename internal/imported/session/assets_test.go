package session

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestOpenAsset: vocabularies are regular files of the model, not links that lead out of it, and not files that may never end.
func TestOpenAsset(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, "assets", name) }
	if err := errors.Join(
		os.Mkdir(at(""), 0o755), os.Mkdir(at("folder"), 0o755), os.WriteFile(filepath.Join(dir, "words"), []byte("yes"), 0o600),
		os.WriteFile(at("plain"), []byte("yes"), 0o600), os.Symlink("../words", at("within")),
		os.Symlink("/etc/hostname", at("out")), os.Symlink("/dev/zero", at("endless")), os.Symlink("../../words", at("above")),
	); err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{"plain": true, "within": true, "out": false, "endless": false, "above": false, "folder": false, "none": false} {
		f, err := openAsset(dir, at(name))
		if (err == nil) != ok {
			t.Errorf("%s: got %v", name, err)
		}
		if err != nil {
			continue
		}
		if b, err := io.ReadAll(f); err != nil || string(b) != "yes" {
			t.Errorf("%s: got %q, %v", name, b, err)
		}
		f.Close()
	}
}
