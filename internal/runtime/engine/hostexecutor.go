package engine

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// hostExecutor executes a plan with Go code, on all workers.
type hostExecutor struct {
	*state
	kernel phaseKernel
	task   groupTask
}

var _ executor = (*hostExecutor)(nil)

func (h *hostExecutor) reserve(rows int) error {
	if err := h.checkSizes(rows); err != nil {
		return err
	}
	size, values := h.layout(rows, device.Alignment, nil)
	arena, err := h.alloc(size)
	if err != nil {
		h.restore()
		return fmt.Errorf("plan for a batch of %d: %w", rows, err)
	}
	mapped, ok := arena.(device.Mapped)
	if !ok {
		return errors.Join(fmt.Errorf("device %s: its memory is not addressable by Go kernels", h.dev.Kind()), arena.Free())
	}
	if err := h.replaceArena(arena, rows); err != nil {
		return err
	}
	h.adopt(values, mapped)
	return nil
}

// restore lays the values out again in the program's old arena, after a larger one could not be allocated. If that is
// not possible, the next run reserves memory first.
func (h *hostExecutor) restore() {
	capacity := h.capacity
	h.capacity, h.batch = 0, 0
	mapped, ok := h.arena.(device.Mapped)
	if !ok || capacity == 0 {
		return
	}
	size, values := h.layout(capacity, device.Alignment, nil)
	if size > h.arena.Len() {
		return
	}
	h.capacity = capacity
	h.renew()
	h.adopt(values, mapped)
}

// adopt points values at an arena.
func (h *hostExecutor) adopt(values []*value, arena device.Mapped) {
	locate(values, arena.Map())
	h.shareStorage((*variable).memory)
	h.task.reserve(h.phases)
}

func (h *hostExecutor) prepare(batch int) error {
	if batch > h.capacity {
		if err := h.reserve(batch); err != nil {
			return err
		}
	}
	if batch == h.batch {
		return nil
	}
	return h.resize(batch)
}

func (h *hostExecutor) feed(feeds []*tensor.Tensor) error {
	for i, f := range h.feeds {
		v := f.op.out[0]
		if h.inPlace {
			v.mem = f.aligned(feeds[i].Bytes)
			continue
		}
		if err := h.stream.Upload(h.arena, v.off, feeds[i].Bytes); err != nil {
			return fmt.Errorf("feed %s: %w", f.name, err)
		}
	}
	if h.inPlace {
		h.shareFeeds()
	}
	return nil
}

func (h *hostExecutor) runPhase(i int) error {
	h.kernel.phase = i
	if err := h.stream.Launch(&h.kernel); err != nil {
		return err
	}
	return h.download(i)
}

// phaseKernel is a phase of a run as one kernel of the device.
type phaseKernel struct {
	h     *hostExecutor
	phase int
}

// Run implements device.GoKernel.
func (k *phaseKernel) Run() error {
	if k.phase == 0 {
		if err := k.h.runPending(); err != nil {
			return err
		}
	}
	return k.h.runGroups(k.h.phases[k.phase].groups)
}

// runPending does the steps that do not run each time. It cannot be cancelled, so that they are never left half done.
func (h *hostExecutor) runPending() error {
	for often := range h.pending {
		if !h.pending[often] {
			continue
		}
		for _, s := range h.byFrequency[often] {
			h.at = s
			if err := h.runStep(s); err != nil {
				return err
			}
		}
		h.pending[often], h.at = false, nil
	}
	return nil
}

// runGroups does parallel groups until the run is stopped. In the first group that writes, all steps write: see groupSteps.
func (h *hostExecutor) runGroups(groups []parallelGroup) error {
	for _, steps := range groups {
		if len(steps[0].op.write) > 0 {
			h.done = nil
		}
		if err := h.stopped(); err != nil {
			return err
		}
		if err := h.runGroup(steps); err != nil {
			return err
		}
	}
	h.at = nil
	return nil
}

// runGroup does steps that do not depend on each other. Of several errors it returns the first in the program's order.
func (h *hostExecutor) runGroup(steps parallelGroup) error {
	if len(steps) == 1 {
		h.at = steps[0]
		return h.runStep(steps[0])
	}
	h.at = nil
	h.task.s, h.task.steps = h.state, steps
	kernels.Parallel(len(steps), 1, &h.task)
	var first error
	at := 0
	for i, s := range steps {
		if err := h.task.errs[i]; err != nil && (first == nil || s.index < at) {
			first, at = err, s.index
		}
	}
	return first
}

// groupTask is the steps of a parallel group as a task of the workers.
type groupTask struct {
	s     *state
	steps parallelGroup
	errs  []error
}

// reserve makes room for the errors of the largest group.
func (t *groupTask) reserve(phases []phase) {
	most := 0
	for _, p := range phases {
		for _, g := range p.groups {
			most = max(most, len(g))
		}
	}
	t.errs = make([]error, most)
}

// Run implements kernels.Task.
func (t *groupTask) Run(lo, hi int) {
	for i := lo; i < hi; i++ {
		t.errs[i] = t.s.runRecovered(t.steps[i])
	}
}

// runRecovered does a step and returns a panic as an error, since the steps beside it go on.
func (s *state) runRecovered(x *step) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = newPanicError(r, x)
		}
	}()
	return s.runStep(x)
}
