package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// product is a case of the subject matmul. Its name, which peers parse too, is
// MxNxK, then -ta or -tb if A or B is stored transposed.
type product struct {
	m, n, k int
	ta, tb  bool
}

var products = []product{
	{m: 128, n: 512, k: 784}, {m: 784, n: 512, k: 128, ta: true}, {m: 128, n: 784, k: 512, tb: true},
	{m: 128, n: 256, k: 512}, {m: 512, n: 256, k: 128, ta: true}, {m: 128, n: 10, k: 256},
	{m: 1024, n: 1024, k: 1024}, {m: 2048, n: 64, k: 576}, {m: 64, n: 576, k: 2048}, {m: 32, n: 128, k: 1024},
	{m: 8, n: 512, k: 784}, {m: 8, n: 8, k: 8}, {m: 32, n: 32, k: 32}, {m: 64, n: 64, k: 64}, {m: 4096, n: 32, k: 27},
	{m: 1, n: 512, k: 784}, {m: 512, n: 1, k: 784}, {m: 128, n: 24, k: 256}, {m: 128, n: 33, k: 256}, {m: 100, n: 100, k: 100},
}

func (p product) String() string {
	s := fmt.Sprintf("%dx%dx%d", p.m, p.n, p.k)
	if p.ta {
		s += "-ta"
	}
	if p.tb {
		s += "-tb"
	}
	return s
}

func parseProduct(name string) (p product, err error) {
	size, flags, _ := strings.Cut(name, "-")
	p.ta, p.tb = flags == "ta", flags == "tb"
	if _, err = fmt.Sscanf(size, "%dx%dx%d", &p.m, &p.n, &p.k); err != nil {
		err = fmt.Errorf("case %q: expected MxNxK, then -ta or -tb", name)
	}
	return p, err
}

func matmulCases() []string {
	var out []string
	for _, p := range products {
		out = append(out, p.String())
	}
	return out
}

// flops is the number of floating-point operations in a case.
func flops(name string) float64 {
	p, err := parseProduct(name)
	if err != nil {
		return 0
	}
	return 2 * float64(p.m) * float64(p.n) * float64(p.k)
}

// checkedElements are the indices of the elements of C that are compared: the first and the last.
func (p product) checkedElements() []int { return []int{0, p.m*p.n - 1} }

// element is element i of matrix A (salt 1) or B (salt 2), between -0.5 and 0.5;
// every worker computes them itself.
func element(i, salt int) float32 {
	return float32((uint32(i)*2654435761+uint32(salt)*40503)>>16)/65536 - 0.5
}

// operands are A and B in their storage order, and C filled with zeros.
func (p product) operands() kernels.GemmArgs[float32] {
	g := kernels.GemmArgs[float32]{M: p.m, N: p.n, K: p.k, Alpha: 1, Beta: 1, TransA: p.ta, TransB: p.tb, LDA: p.k, LDB: p.n, LDC: p.n,
		A: make([]float32, p.m*p.k), B: make([]float32, p.k*p.n), C: make([]float32, p.m*p.n)}
	if p.ta {
		g.LDA = p.m
	}
	if p.tb {
		g.LDB = p.k
	}
	for i := range g.A {
		g.A[i] = element(i, 1)
	}
	for i := range g.B {
		g.B[i] = element(i, 2)
	}
	return g
}

// reference returns the checked elements, computed in float64.
func (p product) reference() []float64 {
	g := p.operands()
	var out []float64
	for _, e := range p.checkedElements() {
		r, c, sum := e/p.n, e%p.n, 0.0
		for k := range p.k {
			a, b := r*p.k+k, k*p.n+c
			if p.ta {
				a = k*p.m + r
			}
			if p.tb {
				b = c*p.k + k
			}
			sum += float64(g.A[a]) * float64(g.B[b])
		}
		out = append(out, sum)
	}
	return out
}

// matmulField compares with NumPy's OpenBLAS, called from C in all core types
// that this CPU supports, and with PyTorch.
func matmulField(ctx context.Context, s settings, dir string) (field, error) {
	argv, err := self("matmul")
	if err != nil {
		return field{}, err
	}
	f := field{contenders: []contender{{name: ours, argv: argv}}, reference: map[string][]float64{}, tolerance: 1e-4}
	for _, p := range products {
		f.reference[p.String()] = p.reference()
	}
	exe, lib, err := s.blasWorker(ctx, dir)
	if err != nil {
		f.missing = append(f.missing, "OpenBLAS: "+err.Error())
	} else {
		for _, core := range []string{"Haswell", "SkylakeX", "Cooperlake"} {
			f.contenders = append(f.contenders, contender{name: "OpenBLAS " + core, argv: append([]string{exe, lib}, matmulCases()...),
				env: []string{"OPENBLAS_CORETYPE=" + core, "LD_LIBRARY_PATH=" + filepath.Dir(lib)}})
		}
	}
	f.contenders = append(f.contenders, s.peer("torch", "matmul.py", matmulCases()...))
	return f, nil
}

// blasWorker compiles the C worker and finds NumPy's OpenBLAS.
func (s settings) blasWorker(ctx context.Context, dir string) (exe, lib string, err error) {
	libs, err := filepath.Glob(filepath.Join(filepath.Dir(s.python), "..", "lib", "python*", "site-packages", "numpy.libs", "libopenblas*"))
	if err != nil || len(libs) == 0 {
		return "", "", errors.New("not found next to NumPy: make bench-peers installs it")
	}
	exe = filepath.Join(dir, "blas")
	out, err := exec.CommandContext(ctx, "cc", "-O2", "-o", exe, filepath.Join("bench", "peers", "blas.c"), "-ldl").CombinedOutput()
	if err != nil {
		return "", "", fmt.Errorf("cc: %w: %s", err, lastLines(string(out), 2))
	}
	return exe, libs[0], nil
}

// matmulWorker multiplies with our kernels.
func matmulWorker(l *link, _ []string) error {
	kernels.SetThreads(threads())
	args := map[string]kernels.GemmArgs[float32]{}
	values := map[string][]float64{}
	for _, p := range products {
		g := p.operands()
		kernels.Gemm(g)
		for _, e := range p.checkedElements() {
			values[p.String()] = append(values[p.String()], float64(g.C[e]))
		}
		args[p.String()] = g
	}
	return l.serve(reply{Values: values, Version: runtime.Version() + " " + kernels.ActiveLevel().String()}, func(c command) (reply, error) {
		g, ok := args[c.name]
		if !ok {
			return reply{}, fmt.Errorf("unknown case %q", c.name)
		}
		clear(g.C)
		before, begun := mallocs(), time.Now()
		for range c.steps {
			kernels.Gemm(g)
		}
		seconds := time.Since(begun).Seconds()
		return reply{Seconds: seconds, Allocs: float64(mallocs()-before) / float64(c.steps)}, nil
	})
}
