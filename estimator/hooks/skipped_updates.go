package hooks

import (
	"context"
	"log/slog"
)

// Skipped counts the updates that a training skipped since their gradients or loss were not finite.
type Skipped struct {
	Limit  int64 // the most updates that are skipped in a row; 0: none
	InARow int64 // since the last update that was made
	Total  int64 // over all runs
}

// UpdateSkipper is a Run whose optimizer may skip updates: a training loop.
type UpdateSkipper interface {
	// SkippedUpdates returns the counts after the last step.
	SkippedUpdates() (Skipped, error)
}

// SkippedUpdates logs skipped updates: the first one of a row, and each time that the row has doubled. It writes their number
// as the summary "skipped_updates". It looks only after steps that are read, so it may find several at once.
type SkippedUpdates struct {
	Base
	log   *slog.Logger
	total int64 // the total written last, -1 for none
	row   int64 // Skipped.InARow then
	told  int64 // the length of the row when it was logged last, 0 for none
}

var (
	_ Hook        = (*SkippedUpdates)(nil)
	_ Prioritized = (*SkippedUpdates)(nil)
	_ Selective   = (*SkippedUpdates)(nil)
)

// NewSkippedUpdates returns a hook that logs to log.
func NewSkippedUpdates(log *slog.Logger) *SkippedUpdates { return &SkippedUpdates{log: log, total: -1} }

// Priority is PriorityWrite.
func (h *SkippedUpdates) Priority() int { return PriorityWrite }

// Reads is false: counts stay until a step is read.
func (h *SkippedUpdates) Reads(Run) bool { return false }

// AfterCreateSession reads the counts of earlier runs.
func (h *SkippedUpdates) AfterCreateSession(_ context.Context, r Run) error {
	s, err := skipped(r)
	h.total, h.row, h.told = s.Total, s.InARow, 0
	return err
}

// AfterRun reports updates that were skipped since the last report.
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

// skipped returns the counts of a loop; the zero Skipped if it skips no updates.
func skipped(r Run) (Skipped, error) {
	s, ok := r.(UpdateSkipper)
	if !ok {
		return Skipped{}, nil
	}
	return s.SkippedUpdates()
}
