package hooks

import (
	"context"
	"log/slog"
)

// Skipped counts the updates that a training left out since their gradients or loss were not finite.
type Skipped struct {
	Limit  int64 // how many in a row are left out; 0: none is
	InARow int64 // since the last update that was made
	Total  int64 // over all runs
}

// UpdateSkipper is a Run whose optimizer may leave updates out: a training loop.
type UpdateSkipper interface {
	// SkippedUpdates are those after the last step.
	SkippedUpdates() (Skipped, error)
}

// SkippedUpdates logs updates that were left out, the first of a row and each time that the row has doubled, and writes their
// number as the summary "skipped_updates". It looks where a step is read: several may have been left out since.
type SkippedUpdates struct {
	Base
	log   *slog.Logger
	total int64 // that was written, -1 for none
	row   int64 // Skipped.InARow then
	told  int64 // how many of the row the log has, 0 for none
}

var (
	_ Hook        = (*SkippedUpdates)(nil)
	_ Prioritized = (*SkippedUpdates)(nil)
	_ Selective   = (*SkippedUpdates)(nil)
)

// NewSkippedUpdates returns a hook that logs to log.
func NewSkippedUpdates(log *slog.Logger) *SkippedUpdates { return &SkippedUpdates{log: log, total: -1} }

// Priority is the writers'.
func (h *SkippedUpdates) Priority() int { return PriorityWrite }

// Reads is false: the count stays.
func (h *SkippedUpdates) Reads(Run) bool { return false }

// AfterCreateSession takes over the number of earlier runs.
func (h *SkippedUpdates) AfterCreateSession(_ context.Context, r Run) error {
	s, err := skipped(r)
	h.total, h.row, h.told = s.Total, s.InARow, 0
	return err
}

// AfterRun reports updates that were left out since the last time.
func (h *SkippedUpdates) AfterRun(_ context.Context, r Run) error {
	if Unread(r) {
		return nil
	}
	s, err := skipped(r)
	if err != nil {
		return err
	}
	more := s.Total - h.total
	if more != s.InARow-h.row { // the row ended
		h.told = 0
	}
	h.total, h.row = s.Total, s.InARow
	if more == 0 {
		return nil
	}
	if s.InARow >= 2*h.told {
		h.told = s.InARow
		h.log.Warn("updates were left out: their gradients or loss were not finite", "global_step", r.GlobalStep(), "in_a_row", s.InARow, "total", s.Total)
	}
	if w, ok := r.(Summarizer); ok && w.Events() != nil {
		return w.Events().Scalar(r.GlobalStep(), "skipped_updates", float64(s.Total))
	}
	return nil
}

// skipped are the updates that a loop left out; of one that leaves none out, the zero Skipped.
func skipped(r Run) (Skipped, error) {
	s, ok := r.(UpdateSkipper)
	if !ok {
		return Skipped{}, nil
	}
	return s.SkippedUpdates()
}
