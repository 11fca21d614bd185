package engine

import (
	"errors"
	"fmt"
)

// plan is what Compile makes of a graph for a kind of device: the ops, the steps that compute them, the order of the
// steps, how often each runs, and which run at the same time. It holds no memory of a device; layout places the values.
// An executor executes it.
type plan struct {
	options Options

	ops         []*op
	steps       []*step
	byFrequency [perRun + 1][]*step
	phases      []phase // of the steps of a run
	feeds       []*feed
	fetched     []port
	// feedViews are reshapes of feeds; each run points them at its tensors.
	feedViews []*value

	updates  bool // some step writes a variable
	written  map[*variable]bool
	changing map[*variable]bool // variables that change from run to run
	weights  []weightsKey       // weights shared with other programs
	own      []packed           // weights of this program alone
	pinned   []*variable        // variables whose memory the steps read

	// What depends on the kind of device:
	precision  Precision
	serial     bool            // steps run one after the other
	inPlace    bool            // steps read the caller's memory, and the caller reads theirs
	onDevice   map[*value]bool // feeds, constants and host results that must be in the device's memory
	operations []*Operation    // the accelerator's steps
	hostSteps  []string        // steps of each run that the accelerator has no kernel for, and why
	continuous bool            // a run needs the host only at its end
}

// step is an op that computes.
type step struct {
	op      *op
	compute runFunc // for steps in Go
	onBatch func() error
	in, out []*value
	packed  []int // inputs that are read only in packed form
	profile stepTime

	index int     // among the steps of a run, in serial order
	needs []*step // steps that must be done before
	alone float64 // estimated nanoseconds on one worker
	level int     // while parallel groups are formed: see groupBuilder.wait

	operation *Operation // on an accelerator; nil on the host beside it
	workspace *value     // the operation's; set by layout
	grown     int        // bytes of workspace that a batch has needed
}

// persistLimit is the size up to which a value is worth keeping from run to run, in bytes.
const persistLimit = 64 << 10

// assignFrequencies decides how often each step must run. Small values that depend only on constants and the batch size are
// kept from run to run.
func assignFrequencies(steps []*step, capacity int) {
	for _, s := range steps {
		o := s.op
		o.frequency = perCompile
		for i, v := range s.in {
			if !o.def.shape {
				o.frequency = max(o.frequency, frequencyOf(o.in[i].op))
			}
			if o.def.shape && batched(v) {
				o.frequency = max(o.frequency, perBatchSize)
			}
		}
		for _, v := range s.out {
			if batched(v) {
				o.frequency = max(o.frequency, perBatchSize)
			}
			if v.bytesAt(capacity) > persistLimit {
				o.frequency = perRun
			}
		}
		if len(o.write) > 0 || o.reads != nil || len(s.out) == 0 || o.own {
			o.frequency = perRun
		}
		if o.frequency == perRun {
			continue
		}
		for _, v := range s.out {
			v.home = inPersist
		}
	}
}

// frequencyOf follows ops that have no step of their own.
func frequencyOf(o *op) frequency {
	switch {
	case o.phantom:
		return perCompile
	case o.feed >= 0 || o.reads != nil:
		return perRun
	case o.def.alias:
		return frequencyOf(o.in[0].op)
	}
	return o.frequency
}

func batched(v *value) bool {
	for _, d := range v.typ.Shape.Dims {
		if d.PerBatch != 0 {
			return true
		}
	}
	return false
}

// splitByFrequency groups the steps by frequency, keeping their order.
func (p *plan) splitByFrequency() {
	for _, s := range p.steps {
		p.byFrequency[s.op.frequency] = append(p.byFrequency[s.op.frequency], s)
	}
}

// resize sets the sizes of all values for a batch and lets steps prepare for it. It sets at to the step that is preparing.
func (p *plan) resize(batch int, at **step) error {
	for _, o := range p.ops {
		for i, v := range o.out {
			if !v.resize(batch) {
				return fmt.Errorf("node %s (%s): output %d of shape %v has a negative size for a batch of %d", o.node.Name, o.node.Op, i, v.typ.Shape, batch)
			}
		}
	}
	for _, s := range p.steps {
		if s.onBatch == nil {
			continue
		}
		*at = s
		if err := s.onBatch(); err != nil {
			return fmt.Errorf("node %s (%s), batch of %d: %w", s.op.node.Name, s.op.node.Op, batch, err)
		}
	}
	*at = nil
	return nil
}

// nameFault adds the node's name to a fault that an accelerator's kernel has found.
func (p *plan) nameFault(err error) error {
	var fault *FaultError
	if !errors.As(err, &fault) || fault.Operation < 0 || fault.Operation >= len(p.operations) {
		return err
	}
	n := p.operations[fault.Operation].Node
	return &NodeError{n.Op, n.Name, fault.Err}
}
