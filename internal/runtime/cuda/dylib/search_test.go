package dylib

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func touch(t *testing.T, path string) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("not a library"), 0o644)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFindPrefersTheFirstFolderAndTheNewestVersion(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	touch(t, filepath.Join(a, "libnvrtc.so.9"))
	want := touch(t, filepath.Join(a, "libnvrtc.so.12"))
	touch(t, filepath.Join(a, "libnvrtc-builtins.so.99"))
	touch(t, filepath.Join(b, "libnvrtc.so.13"))
	t.Setenv(PathVariable, a+string(os.PathListSeparator)+b)
	if got, err := Find(NVRTC); err != nil || got != want {
		t.Errorf("expected %s, got %s, %v", want, got, err)
	}
	if got, err := Find(NVRTC, b); err != nil || filepath.Dir(got) != b {
		t.Errorf("a folder given: expected one in %s, got %s, %v", b, got, err)
	}
}

func TestFindInAPythonEnvironment(t *testing.T) {
	root := t.TempDir()
	want := touch(t, filepath.Join(root, "lib/python3.11/site-packages/nvidia/cudnn/lib/libcudnn.so.9"))
	t.Setenv(PathVariable, "")
	t.Setenv("LD_LIBRARY_PATH", "")
	t.Setenv("CUDA_HOME", "")
	t.Setenv("CUDA_PATH", "")
	t.Setenv("VIRTUAL_ENV", root)
	if got, err := Find(CuDNN); err != nil || got != want {
		t.Errorf("expected %s, got %s, %v", want, got, err)
	}
	if got := WheelFolders(CuDNN, root); len(got) != 1 || got[0] != filepath.Dir(want) {
		t.Errorf("folders: got %v", got)
	}
}

// TestFindBesideThePython looks in the environment of the first python3 in the PATH, and only there.
func TestFindBesideThePython(t *testing.T) {
	for _, v := range []string{PathVariable, "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"} {
		t.Setenv(v, "")
	}
	python := func(root string, mode os.FileMode) string {
		touch(t, filepath.Join(root, "lib/python3.12/site-packages/nvidia/cudnn/lib/libcudnn.so.9"))
		if err := os.Chmod(touch(t, filepath.Join(root, "bin/python3")), mode); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(root, "bin")
	}
	none, data, first, second := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	path := []string{none, python(data, 0o644), python(first, 0o755), python(second, 0o755)}
	t.Setenv("PATH", strings.Join(path, string(os.PathListSeparator)))
	want := filepath.Join(first, "lib/python3.12/site-packages/nvidia/cudnn/lib")
	if got, err := Find(CuDNN); err != nil || filepath.Dir(got) != want {
		t.Errorf("expected one in %s, got %s, %v", want, got, err)
	}
	for _, dir := range Folders(CuDNN) {
		if strings.HasPrefix(dir, second) || strings.HasPrefix(dir, data) {
			t.Errorf("expected nothing beside another python3, got %s", dir)
		}
	}
	t.Setenv("VIRTUAL_ENV", second)
	if got, err := Find(CuDNN); err != nil || !strings.HasPrefix(got, second) {
		t.Errorf("the active environment: expected one in %s, got %s, %v", second, got, err)
	}
	t.Setenv("VIRTUAL_ENV", "")
	t.Setenv("PATH", filepath.Join(first, "odd")+string(os.PathListSeparator)+"bin")
	t.Chdir(first)
	if got := pythonRoots(); len(got) != 1 || filepath.IsAbs(got[0]) {
		t.Errorf("a relative folder: got %v", got)
	}
	for _, dir := range Folders(CuDNN) {
		if strings.HasPrefix(dir, first) {
			t.Errorf("a relative folder of the PATH was looked in: %s", dir)
		}
	}
}

func TestRelativeFoldersAreIgnored(t *testing.T) {
	t.Chdir(t.TempDir())
	touch(t, "here/libodd.so.1")
	t.Setenv(PathVariable, "here")
	_, err := Find("libodd.so")
	var missing *NotFoundError
	if !errors.As(err, &missing) || missing.Name != "libodd.so" {
		t.Errorf("expected a *NotFoundError, got %v", err)
	}
}

func TestOpenOfABrokenFile(t *testing.T) {
	dir := t.TempDir()
	path := touch(t, filepath.Join(dir, "libodd.so"))
	if _, err := Open("libodd.so", dir); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("expected an error with the path, got %v", err)
	}
}

func TestBindNamesWhatIsMissing(t *testing.T) {
	lib, err := Open("libm.so", "/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64")
	if err != nil {
		t.Skipf("skipped: no loadable library on this system: %v", err)
	}
	var p Proc
	if err := lib.Bind(map[string]*Proc{"no_such_function": &p}); err == nil || !strings.Contains(err.Error(), "no_such_function") {
		t.Errorf("expected an error naming the function, got %v", err)
	}
	if err := lib.Bind(map[string]*Proc{"ilogb": &p}); err != nil || p == 0 {
		t.Errorf("ilogb: got %v, %v", p, err)
	}
}
