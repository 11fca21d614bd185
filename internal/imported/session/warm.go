package session

import (
	"errors"

	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
)

// warm compiles before there are requests whatever it can: the signatures whose sizes are all known except the
// batch. It fails if ops are not supported, or may not run on the host.
func warm(plans []*plan) error {
	for _, p := range plans {
		if p.eagerly {
			continue
		}
		for range len(p.nodes) + 1 {
			err := p.warm()
			var again *notCompiled
			if errors.As(err, &again) {
				p.force(again.nodes)
				continue
			}
			if errors.Is(err, eager.ErrUnsupported) || errors.Is(err, errPlacement) {
				return err
			}
			break
		}
	}
	return nil
}

// warm makes the variant for one row, and its programs.
func (p *plan) warm() error {
	r := &run{p: p, slots: eager.NewSlots(p.size), batch: -1}
	for i := range p.feeds {
		f := &p.feeds[i]
		if f.typ.Shape.UnknownRank {
			return nil
		}
		t := &tensor.Tensor{DType: f.typ.DType}
		for k, d := range f.typ.Shape.Dims {
			switch {
			case d.Static():
				t.Shape = append(t.Shape, d.Const)
			case k == 0:
				t.Shape, r.batch = append(t.Shape, 1), 1
			default:
				return nil
			}
		}
		r.slots.Values[f.slot].T = t
	}
	v, err := p.variant(r)
	if err != nil {
		return err
	}
	for _, s := range v.stages {
		if c, ok := s.(*compiledStage); ok && !c.late && !v.concrete {
			if _, err := c.special(r); err != nil {
				return err
			}
		}
	}
	return nil
}
