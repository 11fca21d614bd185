package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// memoryTarget is a target whose executor is an in-memory twin of real ones: it computes nothing, records its calls, and
// fails where a test says so.
type memoryTarget struct {
	*state
	calls []string
	fails map[string]error // by call
	panic string           // the call that panics
	inOrder
}

var (
	_ target   = (*memoryTarget)(nil)
	_ executor = (*memoryTarget)(nil)
)

func (m *memoryTarget) call(format string, args ...any) error {
	c := fmt.Sprintf(format, args...)
	m.calls = append(m.calls, c)
	if c == m.panic {
		panic("the twin panics")
	}
	return m.fails[c]
}

func (m *memoryTarget) fuse(_ *plan, ops []*op) []*op { return ops }

func (m *memoryTarget) bind(_ *plan, s *step, _ *sharedWeights) error {
	s.compute = func() error { return nil }
	return nil
}

func (m *memoryTarget) place(*plan, *Variables) error { return m.call("place") }

func (m *memoryTarget) open(s *state) (executor, pipeline, error) {
	m.state = s
	return m, m.inOrder, m.call("open")
}

func (m *memoryTarget) reserve(rows int) error        { return m.call("reserve %d", rows) }
func (m *memoryTarget) feed(f []*tensor.Tensor) error { return m.call("feed %d", len(f)) }
func (m *memoryTarget) runPhase(i int) error          { return m.call("phase %d", i) }
func (m *memoryTarget) close() error                  { return m.call("close") }

func (m *memoryTarget) prepare(batch int) error {
	if err := m.call("prepare %d after %d", batch, m.batch); err != nil {
		return err
	}
	return m.resize(batch)
}

// take returns the calls since the last one.
func (m *memoryTarget) take() string {
	calls := strings.Join(m.calls, ", ")
	m.calls = nil
	return calls
}

// TestProgramOfAnyExecutor checks the order in which a program calls its executor, also when calls fail.
func TestProgramOfAnyExecutor(t *testing.T) {
	dev, m := device.NewHost(), newMLP(tensor.Float32, 6, 5, 3, 0.1)
	vars, feeds := m.variables(t, dev, 1), mlpBatch(4, 6)
	twin := &memoryTarget{}
	fetched := 0
	plan := ok(newPlan(m.g, gradients(m), twin, vars, Options{Capacity: 8, OnFetch: func(int) { fetched++ }}))
	last := len(plan.phases) - 1
	if last < 2 {
		t.Fatalf("expected several phases, got %d", last+1)
	}
	p := ok(newProgram(plan, twin, dev, vars))
	var phases []string
	for i := range plan.phases {
		phases = append(phases, fmt.Sprint("phase ", i))
	}
	all := strings.Join(phases, ", ")
	expect := func(what, want string) {
		t.Helper()
		if got := twin.take(); got != want {
			t.Errorf("%s: expected calls %q, got %q", what, want, got)
		}
	}
	expect("compile", "place, open, reserve 8")
	if err := p.Run(bg, 4, feeds); err != nil || p.Value(0) == nil || fetched != len(plan.fetched) {
		t.Errorf("run: %v, %d fetches are complete", err, fetched)
	}
	expect("run", "prepare 4 after 0, feed 2, "+all)

	fault := errors.New("no luck")
	twin.fails = map[string]error{"phase 1": fault}
	if err := p.Run(bg, 4, feeds); !errors.Is(err, fault) || p.Value(0) != nil {
		t.Errorf("a phase fails: %v, fetch 0 is %v", err, p.Value(0))
	}
	expect("a phase fails", "prepare 4 after 4, feed 2, phase 0, phase 1")
	twin.fails = map[string]error{"feed 2": fault}
	if err := p.Run(bg, 4, feeds); !errors.Is(err, fault) {
		t.Errorf("feed fails: %v", err)
	}
	expect("feed fails", "prepare 4 after 0, feed 2")

	twin.fails = nil
	var panicked *PanicError
	for _, c := range []struct{ panics, calls string }{
		{"prepare 4 after 0", "prepare 4 after 0"},
		{"feed 2", "prepare 4 after 0, feed 2"},
		{"phase 1", "prepare 4 after 0, feed 2, phase 0, phase 1"},
	} {
		twin.panic = c.panics
		if err := p.Run(bg, 4, feeds); !errors.As(err, &panicked) {
			t.Errorf("%s panics: %v", c.panics, err)
		}
		expect(c.panics+" panics", c.calls)
	}
	twin.panic = ""
	ended, cancel := context.WithCancel(bg)
	cancel()
	if err := errors.Join(p.Run(ended, 4, feeds), p.Run(bg, 4, feeds[:1]), p.Run(bg, 0, feeds)); !errors.Is(err, context.Canceled) {
		t.Errorf("runs that cannot begin: %v", err)
	}
	expect("runs that cannot begin", "")
	if err := errors.Join(p.Reserve(16, nil), p.Run(bg, 4, feeds), p.Close(), p.Close()); err != nil {
		t.Error(err)
	}
	expect("after all that", "reserve 16, prepare 4 after 0, feed 2, "+all+", close")
	if err := p.Run(bg, 4, feeds); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestFailedOpenIsClosed checks that an executor that could not be opened is closed.
func TestFailedOpenIsClosed(t *testing.T) {
	dev, m := device.NewHost(), newMLP(tensor.Float32, 6, 5, 3, 0.1)
	vars := m.variables(t, dev, 1)
	for _, call := range []string{"open", "reserve 1"} {
		twin := &memoryTarget{fails: map[string]error{call: errors.New("no")}}
		plan := ok(newPlan(m.g, gradients(m), twin, vars, Options{}))
		if _, err := newProgram(plan, twin, dev, vars); err == nil || !slices.Contains(twin.calls, "close") {
			t.Errorf("%s fails: %v, calls %v", call, err, twin.calls)
		}
	}
}
