package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// The ceilings: the highest rates of arithmetic (products whose operands stay in
// a core's cache, with little gathering or packing) and of memory (copy and
// triad, in the caches and in main memory).
var (
	computeCeilings = []string{"gemm/112x128x256", "gemm/256x256x256", "gemm/1024x1024x1024"}
	memoryCeilings  = []string{"copy/256KB", "copy/8MB", "copy/256MB", "triad/256KB", "triad/8MB", "triad/256MB"}
)

func ceilingCases() []string {
	return append(append([]string{}, computeCeilings...), memoryCeilings...)
}

// ceilingWork is the number of floating-point operations or bytes in one step.
func ceilingWork(name string) float64 {
	kind, size, _ := strings.Cut(name, "/")
	if kind == "gemm" {
		return flops(size)
	}
	arrays := 2.0
	if kind == "triad" {
		arrays = 3
	}
	return arrays * 4 * float64(ceilingElements(size, int(arrays)))
}

// ceilingElements is the length of each array such that all together have the size.
func ceilingElements(size string, arrays int) int {
	n, unit := 0, ""
	_, _ = fmt.Sscanf(size, "%d%s", &n, &unit)
	return n << map[string]uint{"KB": 10, "MB": 20}[unit] / 4 / arrays
}

func ceilingsField(context.Context, settings, string) (field, error) {
	argv, err := self("ceilings")
	return field{contenders: []contender{{name: ours, argv: argv}}}, err
}

// arrayCopy is a copy, or a sum of two arrays into a third.
type arrayCopy struct{ dst, a, b []float32 }

// Run processes a range.
func (m *arrayCopy) Run(lo, hi int) {
	if m.b == nil {
		copy(m.dst[lo:hi], m.a[lo:hi])
		return
	}
	kernels.Binary(kernels.Add, m.dst[lo:hi], m.a[lo:hi], m.b[lo:hi])
}

func ceilingsWorker(l *link, _ []string) error {
	kernels.SetThreads(threads())
	ready := map[string]func(){}
	return l.serve(reply{Version: runtime.Version() + " " + kernels.ActiveLevel().String()}, func(c command) (reply, error) {
		if ready[c.name] == nil {
			clear(ready) // only one case's arrays at a time
			step, err := ceilingStep(c.name)
			if err != nil {
				return reply{}, err
			}
			ready[c.name] = step
		}
		step, begun := ready[c.name], time.Now()
		for range c.steps {
			step()
		}
		return reply{Seconds: time.Since(begun).Seconds()}, nil
	})
}

func ceilingStep(name string) (func(), error) {
	kind, size, _ := strings.Cut(name, "/")
	switch kind {
	case "gemm":
		p, err := parseProduct(size)
		if err != nil {
			return nil, err
		}
		g := p.operands()
		return func() { kernels.Gemm(g) }, nil
	case "copy":
		n := ceilingElements(size, 2)
		m := &arrayCopy{dst: touched(n), a: touched(n)}
		return func() { kernels.Parallel(n, 1<<12, m) }, nil
	case "triad":
		n := ceilingElements(size, 3)
		dst, a, b := touched(n), touched(n), touched(n)
		return func() { kernels.Binary(kernels.Add, dst, a, b) }, nil
	}
	return nil, fmt.Errorf("unknown case %q", name)
}

// touched allocates memory and writes to it, so that the system provides it.
func touched(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i & 7)
	}
	return x
}
