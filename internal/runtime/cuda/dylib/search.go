package dylib

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// PathVariable names the environment variable with directories to search before all others.
const PathVariable = "GOESTIMATOR_CUDA_PATH"

// Name is a shared library of CUDA, without its version.
type Name string

// The libraries that the CUDA device can use. Only Driver comes with the GPU's driver; the others come with the CUDA
// toolkit or with Python packages.
const (
	Driver   Name = "libcuda.so"
	NVRTC    Name = "libnvrtc.so"
	CuBLAS   Name = "libcublas.so"
	CuBLASLt Name = "libcublasLt.so"
	CuDNN    Name = "libcudnn.so"
	NCCL     Name = "libnccl.so"
)

// wheels are the folders below site-packages/nvidia in which NVIDIA's Python packages keep a library.
var wheels = map[Name]string{NVRTC: "cuda_nvrtc", CuBLAS: "cublas", CuBLASLt: "cublas", CuDNN: "cudnn", NCCL: "nccl"}

// NotFoundError reports that a library is not on this machine.
type NotFoundError struct {
	Name   Name
	Looked []string // directories
}

// Error implements error.
func (e *NotFoundError) Error() string {
	hint := "install the CUDA toolkit, or name its folder in " + PathVariable
	if e.Name == Driver {
		hint = "install NVIDIA's driver, or make it visible in the container"
	}
	return fmt.Sprintf("%s not found in %d folders (%s): %s", e.Name, len(e.Looked), shorten(e.Looked), hint)
}

func shorten(dirs []string) string {
	const most = 4
	if len(dirs) > most {
		return strings.Join(dirs[:most], ", ") + ", ..."
	}
	return strings.Join(dirs, ", ")
}

// Find returns the path of the newest version of a library in the first directory that has one. It looks in the given
// directories, GOESTIMATOR_CUDA_PATH and LD_LIBRARY_PATH, the active Python environment, the environment of the first python3
// in the PATH, then the usual directories of the system and of its Python.
func Find(name Name, first ...string) (string, error) {
	dirs := Folders(name, first...)
	for _, dir := range dirs {
		if file := newest(dir, name); file != "" {
			return file, nil
		}
	}
	return "", &NotFoundError{Name: name, Looked: dirs}
}

// Folders lists the existing directories in which Find looks, in order.
func Folders(name Name, first ...string) []string {
	dirs := slices.Clone(first)
	dirs = append(dirs, filepath.SplitList(os.Getenv(PathVariable))...)
	dirs = append(dirs, filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))...)
	for _, v := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if home := os.Getenv(v); home != "" {
			dirs = append(dirs, filepath.Join(home, "lib64"), filepath.Join(home, "lib"))
		}
	}
	dirs = append(dirs, wheelFolders(name, pythonRoots()...)...)
	dirs = append(dirs, systemFolders()...)
	dirs = append(dirs, wheelFolders(name, append(slices.Clone(systemRoots), filepath.Join(homeFolder(), ".local"))...)...)
	return existing(dirs)
}

func systemFolders() []string {
	machine := map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[runtime.GOARCH]
	dirs := []string{filepath.Join("/usr/lib", machine), "/usr/lib64", filepath.Join("/lib", machine), "/usr/lib",
		"/usr/local/nvidia/lib64", "/usr/lib/wsl/lib", "/run/opengl-driver/lib", "/usr/local/cuda/lib64"}
	versions, err := filepath.Glob("/usr/local/cuda-*/lib64")
	if err == nil {
		slices.SortFunc(versions, func(a, b string) int { return compareVersions(b, a) })
		dirs = append(dirs, versions...)
	}
	return append(dirs, "/opt/cuda/lib64", "/usr/local/lib")
}

// systemRoots are searched last.
var systemRoots = []string{"/usr/local", "/usr"}

// pythonRoots returns the active Python environments: the ones named by variables, and the environment of the first python3 in
// the PATH. (Its link is not followed: an environment's python3 is a link to the system's.)
func pythonRoots() []string {
	var roots []string
	for _, v := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if root := os.Getenv(v); root != "" {
			roots = append(roots, root)
		}
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		info, err := os.Stat(filepath.Join(dir, "python3"))
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			continue
		}
		if root := filepath.Dir(filepath.Clean(dir)); filepath.Base(dir) == "bin" && !slices.Contains(systemRoots, root) {
			roots = append(roots, root)
		}
		break
	}
	return roots
}

// WheelFolders returns the folders below the root of a Python environment in which NVIDIA's packages keep a library.
func WheelFolders(name Name, root string) []string { return existing(wheelFolders(name, root)) }

func wheelFolders(name Name, roots ...string) []string {
	wheel := wheels[name]
	if wheel == "" {
		return nil
	}
	var dirs []string
	for _, root := range roots {
		for _, packages := range []string{"site-packages", "dist-packages"} {
			found, err := filepath.Glob(filepath.Join(root, "lib", "python3*", packages, "nvidia", wheel, "lib"))
			if err == nil {
				dirs = append(dirs, found...)
			}
			// CUDA 13's packages share one folder.
			found, err = filepath.Glob(filepath.Join(root, "lib", "python3*", packages, "nvidia", "cu1*", "lib"))
			if err == nil {
				dirs = append(dirs, found...)
			}
		}
	}
	return dirs
}

func homeFolder() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return "/nonexistent"
	}
	return home
}

// existing keeps absolute directories that exist, each once. (With relative ones, an attacker who chooses the working
// directory could choose the code that is loaded.)
func existing(dirs []string) []string {
	var out []string
	for _, d := range dirs {
		if !filepath.IsAbs(d) || slices.Contains(out, filepath.Clean(d)) {
			continue
		}
		if info, err := os.Stat(d); err == nil && info.IsDir() {
			out = append(out, filepath.Clean(d))
		}
	}
	return out
}

// newest returns the file of a library with the highest version in dir, "" if there is none.
func newest(dir string, name Name) string {
	files, err := filepath.Glob(filepath.Join(dir, string(name)+"*"))
	if err != nil {
		return ""
	}
	files = slices.DeleteFunc(files, func(f string) bool {
		rest := strings.TrimPrefix(filepath.Base(f), string(name))
		return rest != "" && rest[0] != '.'
	})
	if len(files) == 0 {
		return ""
	}
	return slices.MaxFunc(files, compareVersions)
}

// compareVersions orders paths by the numbers in them, then by text.
func compareVersions(a, b string) int {
	return cmp.Or(slices.Compare(numbers(a), numbers(b)), cmp.Compare(a, b))
}

func numbers(s string) []int {
	var out []int
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' }) {
		if n, err := strconv.Atoi(f); err == nil {
			out = append(out, n)
		}
	}
	return out
}
