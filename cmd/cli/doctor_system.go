package cli

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// known is a figure of the system; nil if unknown.
func known(n int64, ok bool) any {
	if !ok {
		return nil
	}
	return n
}

// listedGPUs are the models of the GPUs that NVIDIA's driver lists.
func listedGPUs() []string {
	files, err := filepath.Glob("/proc/driver/nvidia/gpus/*/information")
	if err != nil {
		return nil
	}
	var out []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			if model, ok := strings.CutPrefix(line, "Model:"); ok {
				out = append(out, strings.TrimSpace(model))
			}
		}
	}
	return out
}

// findLibrary looks for a shared library where the system's loader would, without loading it.
func findLibrary(name string) []string {
	dirs := filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))
	machine := map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[runtime.GOARCH]
	dirs = append(dirs, "/usr/local/lib", "/usr/local/cuda/lib64", "/usr/lib64", filepath.Join("/usr/lib", machine), "/usr/lib",
		filepath.Join("/lib", machine), "/opt/homebrew/lib")
	var found []string
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, name+"*"))
		if err != nil || dir == "" {
			continue
		}
		slices.SortFunc(files, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
		if len(files) > 0 {
			found = append(found, files[0])
			break
		}
	}
	return found
}
