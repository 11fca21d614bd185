package nccl

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/testkit"
)

// compileC compiles with the headers of NVIDIA's Python package or of the system.
func compileC(t *testing.T, to string, options ...string) {
	t.Helper()
	header := "/usr/include"
	found, err := filepath.Glob(filepath.Join(testkit.Root(), ".venv/lib/python3*/site-packages/nvidia/nccl/include"))
	if err == nil && len(found) > 0 {
		header = found[0]
	}
	if _, err := os.Stat(filepath.Join(header, "nccl.h")); err != nil {
		t.Skipf("skipped: no nccl.h: %v", err)
	}
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skipf("skipped: no C compiler: %v", err)
	}
	args := append([]string{"-I", "testdata/include", "-I", header, "-w", "-o", to}, options...)
	if out, err := exec.CommandContext(t.Context(), "cc", args...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
}

// TestNumbersOfTheHeader compares every constant and every size and offset in use with NVIDIA's header.
func TestNumbersOfTheHeader(t *testing.T) {
	want := map[string]int{
		"ncclInt64": typeInt64, "ncclFloat32": typeFloat32, "ncclFloat64": typeFloat64, "ncclBfloat16": typeBFloat16, "ncclSum": operationSum,
		"ncclSuccess": 0, "ncclUnhandledCudaError": int(ResultCUDA), "ncclSystemError": int(ResultSystem), "ncclInternalError": int(ResultInternal),
		"ncclInvalidArgument": int(ResultArgument), "ncclInvalidUsage": int(ResultUsage), "ncclRemoteError": int(ResultRemote), "ncclInProgress": int(ResultInProgress),
		"NCCL_UNIQUE_ID_BYTES": idBytes, "sizeof(ncclUniqueId)": int(unsafe.Sizeof(ID{})), "NCCL_CONFIG_UNDEF_INT": undefined, "NCCL_VERSION(2,17,0)": leastVersion,
		"sizeof(ncclConfig_t)":             int(unsafe.Sizeof(config{})),
		"offsetof(ncclConfig_t, magic)":    int(unsafe.Offsetof(config{}.magic)),
		"offsetof(ncclConfig_t, version)":  int(unsafe.Offsetof(config{}.version)),
		"offsetof(ncclConfig_t, blocking)": int(unsafe.Offsetof(config{}.blocking)), "offsetof(ncclConfig_t, cgaClusterSize)": int(unsafe.Offsetof(config{}.cluster)),
		"offsetof(ncclConfig_t, minCTAs)": int(unsafe.Offsetof(config{}.leastCTA)), "offsetof(ncclConfig_t, maxCTAs)": int(unsafe.Offsetof(config{}.mostCTA)),
		"offsetof(ncclConfig_t, netName)": int(unsafe.Offsetof(config{}.net)), "offsetof(ncclConfig_t, splitShare)": int(unsafe.Offsetof(config{}.splitShare)),
		"sizeof(ncclComm_t)": 8, "sizeof(cudaStream_t)": 8, "sizeof(ncclResult_t)": 4, "sizeof(ncclDataType_t)": 4, "sizeof(ncclRedOp_t)": 4,
	}
	var c strings.Builder
	c.WriteString("#include <stddef.h>\n#include <stdio.h>\n#include <nccl.h>\nint main(void) {\n")
	for name := range want {
		fmt.Fprintf(&c, "printf(\"%s=%%d\\n\", (int)(%s));\n", name, name)
	}
	c.WriteString("return 0;\n}\n")
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "numbers.c"), filepath.Join(dir, "numbers")
	if err := os.WriteFile(src, []byte(c.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	compileC(t, bin, src)
	out, err := exec.CommandContext(t.Context(), bin).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	for line := range bytes.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), "=")
		got++
		if fmt.Sprint(want[name]) != value {
			t.Errorf("%s: expected %s, got %d", name, value, want[name])
		}
	}
	if got != len(want) {
		t.Errorf("expected %d numbers, got %d", len(want), got)
	}
}

// wheelFolders returns the folders of NVIDIA's own library in this repository's Python environment.
func wheelFolders() []string {
	return dylib.WheelFolders(dylib.NCCL, filepath.Join(testkit.Root(), ".venv"))
}

// TestTheRealLibrary finds all functions. IDs need no GPU; an impossible rank is refused with the
// library's message.
func TestTheRealLibrary(t *testing.T) {
	n, err := bind(wheelFolders()...)
	var missing *dylib.NotFoundError
	if errors.As(err, &missing) || errors.Is(err, dylib.ErrNoLoader) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := n.check("call", uintptr(ResultUsage)); err == nil || !strings.Contains(err.Error(), "invalid usage") {
		t.Errorf("expected the library's words, got %v", err)
	}
	id, err := n.newID()
	if err != nil {
		t.Skipf("skipped: this machine has no network for NCCL: %v", err)
	}
	if id == (ID{}) {
		t.Error("the ID is empty")
	}
	var c communicator
	var said *Error
	if err := n.enter(membership{id: &id, rank: 7, total: 3, blocking: true}, &c); !errors.As(err, &said) || c != 0 {
		t.Errorf("rank 7 of 3: expected an error and no rank, got %v, %#x", err, c)
	}
}
