//go:build linux && (amd64 || arm64) && !static

package cudnn

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/lower"
	"github.com/goestimator/goestimator/tensor"
)

func convs() []lower.Convolution {
	explicit := conv(6, 3, 1, 1, false)
	explicit.PadTop, explicit.PadLeft, explicit.OutH, explicit.OutW = 2, 0, 6, 6 // more padding before than after
	return []lower.Convolution{conv(6, 3, 1, 1, true), conv(6, 3, 2, 1, true), conv(7, 3, 2, 1, false), conv(6, 1, 2, 1, true),
		conv(8, 2, 1, 1, true), conv(9, 3, 2, 2, true), conv(12, 5, 3, 1, true), explicit}
}

// TestPlansComputeConvolutions compares with the host's kernels, for engines with any padding and engines that need equal padding
// on both sides, and for engines with and without the epilogue.
func TestPlansComputeConvolutions(t *testing.T) {
	r := newRig(t)
	for _, equal := range []bool{false, true} {
		r.lib.offers = func(g fakeGraph, mode int) []fakeEngine {
			if equal && g.pre != g.post || equal && (g.bias != nil || g.relu) {
				return []fakeEngine{{refuses: true}}
			}
			return []fakeEngine{{refuses: true}, {workspace: 1000}}
		}
		for _, c := range convs() {
			for _, c.Direction = range []lower.Direction{lower.Forward, lower.InputGradient, lower.FilterGradient} {
				for _, c.Type = range []tensor.DType{tensor.Float32, tensor.BFloat16} {
					c.Batch = 2 + map[bool]int{true: 1}[equal] // another problem, since plans are kept
					before := len(r.lib.jobs)
					r.check(r.newCase(c, false))
					if h, w := problemOf(c).axes(); len(r.lib.jobs) == before && (h.post-h.pre)%h.dilation == 0 && (w.post-w.pre)%w.dilation == 0 {
						t.Errorf("%+v: not done by cuDNN", c)
					}
					if c.Direction == lower.FilterGradient {
						c.GradientType = tensor.Float32
						r.check(r.newCase(c, false))
						c.GradientType = c.Type
					}
					if c.Direction == lower.Forward {
						r.check(r.newCase(c, true))
						c.Relu = true
						r.check(r.newCase(c, true))
						r.check(r.newCase(c, false))
						c.Relu = false
					}
				}
			}
		}
	}
}

func TestPlansAreKept(t *testing.T) {
	r := newRig(t)
	c := conv(6, 3, 1, 1, true)
	for range 3 {
		r.check(r.newCase(c, false))
	}
	if r.lib.asked != 1 {
		t.Errorf("the heuristics were asked %d times", r.lib.asked)
	}
	c.Batch++
	r.check(r.newCase(c, false))
	if r.lib.asked != 2 {
		t.Errorf("the heuristics were asked %d times after a change", r.lib.asked)
	}
}

// TestEnginesThatAreRefused checks which of several engines runs.
func TestEnginesThatAreRefused(t *testing.T) {
	r := newRig(t)
	batch := 1
	for _, c := range []struct {
		name    string
		offers  []fakeEngine
		precise lower.Precision
		typ     tensor.DType
		want    int // engine, -1: own kernels
	}{
		{"nondeterministic", []fakeEngine{{notes: []int32{noteNondeterminist}}, {}}, lower.TF32, tensor.BFloat16, 1},
		{"too large", []fakeEngine{{workspace: workspaceLimit + 1}, {workspace: 7}}, lower.TF32, tensor.Float32, 1},
		{"no plan", []fakeEngine{{refuses: true}, {}}, lower.TF32, tensor.Float32, 1},
		{"tensor cores, precise", []fakeEngine{{notes: []int32{noteTensorCore}}, {notes: []int32{noteWinograd6x6 - 2}}}, lower.Float32, tensor.Float32, 1},
		{"tensor cores, tf32", []fakeEngine{{notes: []int32{noteTensorCore}}, {}}, lower.TF32, tensor.Float32, 0},
		{"tensor cores, bfloat16", []fakeEngine{{notes: []int32{noteTensorCore}}, {}}, lower.Float32, tensor.BFloat16, 0},
		{"half precision", []fakeEngine{{notes: []int32{noteTensorCore, noteDownConvert}}}, lower.TF32, tensor.Float32, -1},
		{"none", nil, lower.TF32, tensor.Float32, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.offers {
				c.offers[i].workspace += int64(i) // distinguishes them
			}
			r.lib.offers = func(fakeGraph, int) []fakeEngine { return slices.Clone(c.offers) }
			v, before := conv(6, 3, 1, 1, true), len(r.lib.jobs)
			batch++
			v.Batch, v.Type, v.Precision = batch, c.typ, c.precise
			r.check(r.newCase(v, false))
			ran := len(r.lib.jobs) > before
			if refused := len(r.Refused()); refused != map[bool]int{true: 1}[c.name == "half precision"]+map[bool]int{true: 2}[c.name == "none"] {
				t.Errorf("%d are refused: %q", refused, r.Refused())
			}
			if ran != (c.want >= 0) || ran && r.lib.jobs[before].engine.workspace != c.offers[c.want].workspace {
				t.Errorf("expected engine %d, ran %+v", c.want, r.lib.jobs[before:])
			}
		})
	}
}

func TestTheFallbackIsAskedLast(t *testing.T) {
	r := newRig(t)
	var modes []string
	r.lib.offers = func(g fakeGraph, mode int) []fakeEngine {
		modes = append(modes, fmt.Sprint(mode, g.pre == g.post))
		if mode == heuristicFallback && g.pre == g.post {
			return []fakeEngine{{}}
		}
		return nil
	}
	r.check(r.newCase(conv(6, 3, 2, 1, true), false))
	want := []string{fmt.Sprint(heuristicA, false), fmt.Sprint(heuristicA, true), fmt.Sprint(heuristicFallback, false), fmt.Sprint(heuristicFallback, true)}
	if !slices.Equal(modes, want) {
		t.Errorf("expected %q, got %q", want, modes)
	}
}

func TestConvolutionsWithoutPlaces(t *testing.T) {
	r := newRig(t)
	c := conv(6, 3, 1, 1, true)
	if _, err := r.Plan(c); err == nil {
		t.Error("a workspace that is too small: expected an error")
	}
	n := r.Workspace(c)
	c.Workspace, c.WorkspaceBytes = r.alloc(n), n
	l, err := r.Plan(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.(lower.Sequence)[1].Issue(r.s); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("a stream of no GPU: got %v", err)
	}
	c.Type = tensor.Int32
	if _, err := r.Plan(c); err == nil || r.Workspace(c) != 0 {
		t.Errorf("integers: got %v", err)
	}
	if _, err := open(r.c, r.k, r.lib.procs()); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("a context of no GPU: got %v", err)
	}
}

func TestClosed(t *testing.T) {
	r := newRig(t)
	v := must(open(nativeContext{r.c, r.lib}, r.k, r.lib.procs()))
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	c := conv(6, 3, 1, 1, true)
	if _, err := v.Plan(c); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	if err := v.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("closed twice: got %v", err)
	}
	if v.Version() != 0 {
		t.Error("a version after Close")
	}
}
