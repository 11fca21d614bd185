package hooks

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// SummarySaver writes loss, learning rate and the model's summaries to the event file
// at intervals of steps, beginning with the first step.
type SummarySaver struct {
	Base
	timer     *Timer
	summaries []SummaryTensor
}

var (
	_ Hook        = (*SummarySaver)(nil)
	_ Prioritized = (*SummarySaver)(nil)
	_ Selective   = (*SummarySaver)(nil)
)

// NewSummarySaver returns a hook that writes every n steps.
func NewSummarySaver(every int64) *SummarySaver {
	return &SummarySaver{timer: NewTimer(Every{Steps: every})}
}

// Priority is PriorityWrite.
func (h *SummarySaver) Priority() int { return PriorityWrite }

// Begin asks for everything that will be written.
func (h *SummarySaver) Begin(s Setup) error {
	h.summaries = []SummaryTensor{{Tag: "loss", Kind: models.ScalarSummary, Fetch: "loss"},
		{Tag: "learning_rate", Kind: models.ScalarSummary, Fetch: "learning_rate"}}
	if src, ok := s.(SummarySource); ok {
		h.summaries = append(h.summaries, src.Summaries()...)
	}
	for _, t := range h.summaries {
		if err := s.Fetch(t.Fetch); err != nil {
			return fmt.Errorf("summary %s: %w", t.Tag, err)
		}
	}
	return nil
}

// Reads reports whether the next step is written.
func (h *SummarySaver) Reads(r Run) bool { return h.timer.ShouldTrigger(r.GlobalStep() + 1) }

// AfterRun writes if it is time.
func (h *SummarySaver) AfterRun(_ context.Context, r Run) error {
	step := r.GlobalStep()
	s, ok := r.(Summarizer)
	if !ok || !h.timer.ShouldTrigger(step) {
		return nil
	}
	h.timer.Trigger(step)
	var values []*summary.Value
	for _, t := range h.summaries {
		v, err := r.Value(t.Fetch)
		if err != nil {
			return err
		}
		vs, err := t.values(v)
		if err != nil {
			return fmt.Errorf("summary %s: %w", t.Tag, err)
		}
		values = append(values, vs...)
	}
	return s.Events().Values(step, values...)
}

// values turns a tensor into values of a summary event.
func (t SummaryTensor) values(v *tensor.Tensor) ([]*summary.Value, error) {
	switch t.Kind {
	case models.HistogramSummary:
		h, err := summary.Histogram(t.Tag, v)
		return []*summary.Value{h}, err
	case models.ImageSummary:
		return summary.Image(t.Tag, v, max(t.MaxImages, 1))
	}
	if v.Len() != 1 {
		return nil, fmt.Errorf("a scalar summary of shape %v: expected one element", v.Shape)
	}
	return []*summary.Value{summary.Scalar(t.Tag, v.Float(0))}, nil
}
