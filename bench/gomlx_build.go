package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"
)

// addGoMLX builds the worker of bench/gomlx, a module of its own, into dir and
// adds it to the contenders; where it cannot be built, because its modules cannot be
// downloaded, it is left out.
//
// cases are those that its backend in Go can run. It has no gradients of
// convolutions and max pools, and no batch norm: no step of cnn and resnet20.
func (f *field) addGoMLX(ctx context.Context, s settings, dir, kind string, cases ...string) {
	if s.oursOnly {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	exe, err := filepath.Abs(filepath.Join(dir, "gomlx"))
	if err != nil {
		f.missing = append(f.missing, "GoMLX: "+err.Error())
		return
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", exe, ".")
	cmd.Dir = filepath.Join("bench", "gomlx")
	if err := cmd.Run(); err != nil {
		f.missing = append(f.missing, fmt.Sprintf("GoMLX: not built (%v): go -C bench/gomlx build tells why", err))
		return
	}
	// Its Adam corrects the bias before it adds epsilon.
	f.contenders = append(f.contenders, contender{name: "GoMLX", argv: []string{exe, kind, dir}, cases: cases, tolerance: 5e-3})
}
