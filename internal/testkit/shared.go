package testkit

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// Root returns the root folder of the repository.
func Root() string { return root() }

var root = sync.OnceValue(func() string {
	_, file, _, _ := runtime.Caller(0)
	dir := filepath.Dir(file)
	if !filepath.IsAbs(dir) { // built with -trimpath: tests start in the folder of their package
		dir = started
	}
	for up := dir; ; up = filepath.Dir(up) {
		if _, err := os.Stat(filepath.Join(up, "go.mod")); err == nil {
			return up
		}
		if up == filepath.Dir(up) {
			panic("testkit: no go.mod above " + dir)
		}
	}
})

// started is the folder in which the process began; tests may change theirs
// later.
var started, _ = os.Getwd()

// Shared returns the path of a file or folder below the optional shared folder
// beside the repository (name is slash separated, for example
// "data/iris/iris.data"). It skips the test, saying so, if that is missing.
func Shared(t testing.TB, name string) string {
	t.Helper()
	p := filepath.Join(filepath.Dir(Root()), "shared", filepath.FromSlash(name))
	if _, err := os.Stat(p); err != nil {
		t.Skipf("skipped: ../shared/%s is not here (%v)", name, err)
	}
	return p
}
