package engine

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// acceleratorExecutor executes a plan with an accelerator's kernels and with Go code on the host.
type acceleratorExecutor struct {
	*state
	low      *lowering
	code     Code
	moved    bool // places have changed since code's last Bind
	ahead    aheads
	enqueued bool // runs may be under way
}

var (
	_ executor = (*acceleratorExecutor)(nil)
	_ pipeline = (*acceleratorExecutor)(nil)
)

// acceleratorAlignment is the alignment in bytes that an accelerator's wide loads need.
const acceleratorAlignment = 256

// load makes the kernels, and uploads the constants that operations or the caller read.
func (a *acceleratorExecutor) load() (err error) {
	if a.code, err = a.low.dev.Lower(a.operations, LowerOptions{TF32: a.precision == TF32}); err != nil {
		return err
	}
	a.low.each(func(s *segment) {
		if !s.onHost {
			s.kernel = a.code.Segment(s.operationIndices())
		}
	})
	for _, s := range a.low.host.touched {
		if err := s.open(); err != nil {
			return err
		}
	}
	return a.uploadConstants(acceleratorAlignment)
}

func (a *acceleratorExecutor) reserve(rows int) error {
	if err := a.checkSizes(rows); err != nil {
		return err
	}
	if a.enqueued { // runs in flight use the old layout
		if err := a.wait(); err != nil {
			return err
		}
	}
	size, _ := a.layout(rows, acceleratorAlignment, a.workspaces(rows))
	arena, err := a.alloc(size)
	if err != nil {
		a.capacity, a.batch = 0, 0
		return fmt.Errorf("plan for a batch of %d: %w", rows, err)
	}
	if err := a.replaceArena(arena, rows); err != nil {
		return err
	}
	if err := a.low.host.reserve(a.ops, a.low.dev); err != nil {
		a.capacity = 0
		return fmt.Errorf("plan for a batch of %d: %w", rows, err)
	}
	a.locate()
	a.shareStorage(a.low.host.memoryOf)
	return nil
}

// workspaces returns the operations' workspaces, as values that live for one step.
func (a *acceleratorExecutor) workspaces(capacity int) []*value {
	var all []*value
	for _, s := range a.steps {
		if s.operation == nil {
			continue
		}
		n := max(a.code.Workspace(s.operation.Index, capacity), s.grown)
		s.workspace = nil
		if n == 0 {
			continue
		}
		at := -1 // placed beside the feeds
		if s.op.frequency == perRun {
			at = s.index
		}
		s.workspace = &value{size: n, def: at, last: at}
		all = append(all, s.workspace)
	}
	return all
}

// outgrown reports whether an operation needs a larger workspace for a batch than planned.
func (a *acceleratorExecutor) outgrown(batch int) bool {
	grown := false
	for _, s := range a.steps {
		if s.operation == nil {
			continue
		}
		if n := a.code.Workspace(s.operation.Index, batch); n > s.operation.Workspace.N {
			s.grown, grown = n, true
		}
	}
	return grown
}

// locate sets the places of all operands in a new arena.
func (a *acceleratorExecutor) locate() {
	for v, o := range a.low.operands {
		base := v.base()
		o.Buffer, o.Offset = a.arena, base.off
		switch base.home {
		case nowhere:
			o.Buffer, o.Offset = nil, 0
		case inConst:
			o.Buffer = a.consts
		}
	}
	for _, op := range a.ops {
		for _, v := range op.out {
			if o := a.low.operands[v]; o != nil && v.base().home == inVariable {
				o.Buffer, o.Offset = readBy(op).buf, 0
			}
		}
	}
	for _, s := range a.steps {
		if s.operation != nil {
			s.operation.Workspace = Operand{Buffer: a.arena}
			if w := s.workspace; w != nil {
				s.operation.Workspace.Offset, s.operation.Workspace.N = w.off, w.size
			}
		}
	}
	a.moved = true
}

// readBy returns the variable whose storage an op's output is.
func readBy(o *op) *variable { return storageOf(port{o, 0}).op.reads }

func (a *acceleratorExecutor) prepare(batch int) error {
	if a.enqueued {
		if err := a.wait(); err != nil {
			return err
		}
	}
	if batch > a.capacity || batch != a.batch && a.outgrown(batch) {
		if err := a.reserve(max(batch, a.capacity)); err != nil {
			return err
		}
	}
	if batch == a.batch {
		return nil
	}
	if err := a.resize(batch); err != nil {
		return err
	}
	if err := a.bind(batch); err != nil {
		a.batch = 0
		return err
	}
	return nil
}

// bind reports the sizes of a batch to the code.
func (a *acceleratorExecutor) bind(batch int) error {
	for v, o := range a.low.operands {
		o.N = v.n
	}
	moved := a.moved
	a.moved = false
	if err := a.code.Bind(batch, moved); err != nil {
		a.moved = a.moved || moved
		return fmt.Errorf("prepare a batch of %d on %s: %w", batch, a.kind(), a.nameFault(err))
	}
	return nil
}

// kind returns the accelerator's kind.
func (a *acceleratorExecutor) kind() string { return a.low.dev.Kind() }

// feed uploads the feeds that the accelerator needs; the host reads them where they are.
func (a *acceleratorExecutor) feed(feeds []*tensor.Tensor) error {
	for i, f := range a.feeds {
		v := f.op.out[0]
		v.mem = f.aligned(feeds[i].Bytes)
		if !a.onDevice[v] || len(feeds[i].Bytes) == 0 {
			continue
		}
		if err := a.stream.Upload(a.arena, v.off, feeds[i].Bytes); err != nil {
			return fmt.Errorf("feed %s: %w", f.name, err)
		}
	}
	a.shareFeeds()
	return nil
}

func (a *acceleratorExecutor) runPhase(i int) error {
	if err := a.issuePhase(i); err != nil {
		return err
	}
	return a.download(i)
}

func (a *acceleratorExecutor) close() error {
	errs := []error{a.wait(), a.ahead.close(), a.low.host.close()}
	if a.code != nil {
		errs = append(errs, a.code.Close())
	}
	return errors.Join(append(errs, a.state.close())...)
}
