package worker

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestFolders: files are in the folders of --allow-path, and nowhere else.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	_, err := folders(nil).of(filepath.Join(dir, "model"))
	if status.Code(StatusOf(err)) != codes.PermissionDenied || !strings.Contains(err.Error(), "--allow-path DIR") || !strings.Contains(err.Error(), dir) {
		t.Errorf("no folder: got %v", err)
	}
	root, err := atomicfile.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	f := folders{root}
	if _, err := f.of(filepath.Join(dir, "a", "model")); err != nil {
		t.Error(err)
	}
	if _, err := f.of("/elsewhere/model"); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "/elsewhere/model") {
		t.Errorf("another folder: got %v", err)
	}
	if _, err := f.bundle(filepath.Join(dir, "model")); status.Code(StatusOf(err)) != codes.NotFound {
		t.Errorf("no checkpoint: got %v", err)
	}
}
