package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// addGoMLX builds the worker of bench/gomlx, a separate module, into dir and
// adds contenders that run it with their argv. If it cannot be built, for example because
// its modules cannot be downloaded, it leaves them out.
//
// GoMLX's Go backend has no gradients of convolutions and max pools, so it does not train
// cnn and resnet20.
func (f *field) addGoMLX(ctx context.Context, s settings, dir string, cs ...contender) {
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
	cmd.Env = append(os.Environ(), "GOEXPERIMENT=simd") // use AVX2 or AVX-512 for products
	if err := cmd.Run(); err != nil {
		f.missing = append(f.missing, fmt.Sprintf("GoMLX: not built (%v): go -C bench/gomlx build tells why", err))
		return
	}
	for _, c := range cs {
		c.argv = append([]string{exe}, c.argv...)
		f.contenders = append(f.contenders, c)
	}
}
