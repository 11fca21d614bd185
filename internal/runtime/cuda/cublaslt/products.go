package cublaslt

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/lower"
)

// Products implements lower.Products on one GPU. It keeps a plan for each shape until Close.
type Products struct {
	lib     calls
	current func(f func() error) error // calls f where lib can be called
	own     lower.Products
	stop    func() error // ends lib

	mu    sync.Mutex
	plans map[shape]*plan // nil if the library has no algorithm
}

// Open starts cuBLASLt for a context of a real GPU, looking in the given folders first. own does the products that the
// library does not. If there is no such library, the error wraps a *dylib.NotFoundError.
func Open(c driver.Context, own lower.Products, folders ...string) (*Products, error) {
	real, ok := c.(driver.NativeContext)
	if !ok {
		return nil, fmt.Errorf("cuBLASLt: expected a context of a real GPU, got %T: %w", c, driver.ErrInvalid)
	}
	lib, err := bind(folders...)
	if err != nil {
		return nil, fmt.Errorf("cuBLASLt: %w", err)
	}
	if err := real.Current(lib.start); err != nil {
		return nil, fmt.Errorf("cuBLASLt: %w", err)
	}
	p := newProducts(lib, own)
	p.current, p.stop = real.Current, lib.close
	return p, nil
}

func newProducts(lib calls, own lower.Products) *Products {
	return &Products{lib: lib, own: own, plans: map[shape]*plan{},
		current: func(f func() error) error { return f() }, stop: func() error { return nil }}
}

// Close frees the library's objects. No launches of its plans may be issued afterwards.
func (p *Products) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.current(func() error {
		var errs []error
		for _, plan := range p.plans {
			if plan != nil {
				errs = append(errs, plan.close(p.lib))
			}
		}
		return errors.Join(append(errs, p.stop())...)
	})
	clear(p.plans)
	return err
}

// Refused lists the shapes that the library has no algorithm for: own kernels do them.
func (p *Products) Refused() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for s, plan := range p.plans {
		if plan == nil {
			all = append(all, s.String())
		}
	}
	slices.Sort(all)
	return all
}

// plan returns the plan of a shape, nil if the library cannot do it.
func (p *Products) plan(s shape) (*plan, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.plans[s]; ok {
		return known, nil
	}
	var made *plan
	err := p.current(func() (err error) { made, err = newPlan(p.lib, s); return err })
	var failed *Error
	if errors.Is(err, errNoAlgorithm) || errors.As(err, &failed) && (failed.Status == StatusNotSupported || failed.Status == StatusInvalidValue) {
		made, err = nil, nil
	}
	if err == nil {
		p.plans[s] = made
	}
	return made, err
}

// Workspace implements lower.Products.
func (p *Products) Workspace(q lower.Product) int {
	if q.Check() != nil || empty(q) {
		return 0 // Plan tells
	}
	plan, err := p.forSize(q, workspaceLimit)
	switch {
	case err != nil:
		return 0
	case plan == nil:
		return p.own.Workspace(q)
	}
	return plan.workspace
}

// forSize returns the plan of a product with a workspace of that many bytes.
func (p *Products) forSize(q lower.Product, bytes int) (*plan, error) {
	if q.K == 0 {
		return nil, nil
	}
	plan, err := p.plan(shapeOf(q, workspaceLimit))
	if plan != nil && plan.workspace > bytes {
		return p.plan(shapeOf(q, bytes))
	}
	return plan, err
}

func empty(q lower.Product) bool { return q.M == 0 || q.N == 0 }

// Plan implements lower.Products.
func (p *Products) Plan(q lower.Product) (lower.Launch, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	if empty(q) {
		return lower.Sequence(nil), nil
	}
	plan, err := p.forSize(q, q.WorkspaceBytes)
	switch {
	case err != nil:
		return nil, fmt.Errorf("product of %d x %d x %d: %w", q.M, q.N, q.K, err)
	case plan == nil:
		return p.own.Plan(q)
	}
	return launch{p, plan, q}, nil
}

// launch is a product with addresses.
type launch struct {
	p    *Products
	plan *plan
	q    lower.Product
}

// Issue implements lower.Launch.
func (l launch) Issue(s driver.Stream) error {
	real, ok := s.(driver.NativeStream)
	if !ok {
		return fmt.Errorf("cuBLASLt: expected a stream of a real GPU, got %T: %w", s, driver.ErrInvalid)
	}
	return l.p.current(func() error { return l.plan.launch(l.p.lib, l.q, real.Handle()) })
}
