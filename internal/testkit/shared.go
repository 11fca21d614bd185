package testkit

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Root returns the absolute path of the repository's root folder.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

// Shared returns the path of a file or folder below the optional shared folder
// that lies beside the repository (name is slash separated, for example
// "data/iris/iris.data"). It skips the test, saying so, where that is absent.
func Shared(t testing.TB, name string) string {
	t.Helper()
	p := filepath.Join(filepath.Dir(Root()), "shared", filepath.FromSlash(name))
	if _, err := os.Stat(p); err != nil {
		t.Skipf("skipped: ../shared/%s is not here (%v)", name, err)
	}
	return p
}
