package kernels

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/nvrtc"
	"github.com/goestimator/goestimator/internal/testkit"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/goestimator/goestimator/internal/runtime/kernels.(*pool).worker"))
}

func compiler(t *testing.T) nvrtc.Compiler {
	t.Helper()
	c, err := nvrtc.Open(dylib.WheelFolders(dylib.NVRTC, filepath.Join(testkit.Root(), ".venv"))...)
	if err != nil {
		t.Skipf("skipped: no CUDA compiler: %v", err)
	}
	return c
}

var (
	entry = regexp.MustCompile(`\.entry (\w+)\(([^)]*)\)`)
	param = regexp.MustCompile(`\.param \.(\w+)`)
)

// ptxTypes are PTX's types of the letters of Kernel.Params.
var ptxTypes = map[rune]string{'p': "u64", 'l': "u64", 'i': "u32", 'f': "f32"}

// checkPTX checks that a compiled module has its declared kernels with their declared arguments.
func checkPTX(t *testing.T, m Module, ptx string) {
	t.Helper()
	found := map[string]string{}
	for _, e := range entry.FindAllStringSubmatch(ptx, -1) {
		var types []string
		for _, p := range param.FindAllStringSubmatch(e[2], -1) {
			types = append(types, p[1])
		}
		found[e[1]] = strings.Join(types, " ")
	}
	for _, k := range m.Kernels {
		var want []string
		for _, p := range k.Params {
			want = append(want, ptxTypes[p])
		}
		if got, ok := found[k.Name]; !ok || got != strings.Join(want, " ") {
			t.Errorf("%s: expected arguments %v, got %v (present: %v)", k.Name, want, got, ok)
		}
		delete(found, k.Name)
	}
	for name := range found {
		t.Errorf("%s is not described", name)
	}
}

func TestEveryModuleCompiles(t *testing.T) {
	c := compiler(t)
	for _, m := range Modules() {
		for _, arch := range []nvrtc.Arch{80, 90} {
			ptx, err := c.Compile(t.Context(), m.Source(), arch)
			if err != nil {
				t.Error(err)
				continue
			}
			checkPTX(t, m, string(ptx))
		}
	}
}
