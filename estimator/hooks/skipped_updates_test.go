package hooks_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/goestimator/goestimator/estimator/hooks"
)

// skipping is a loop whose optimizer has skipped updates.
type skipping struct {
	*loop
	skipped hooks.Skipped
}

func (l skipping) SkippedUpdates() (hooks.Skipped, error) { return l.skipped, nil }

// TestSkippedUpdatesSeldomRead: a row is logged each time it has doubled, no matter at which steps the count is read.
func TestSkippedUpdatesSeldomRead(t *testing.T) {
	var log bytes.Buffer
	h := hooks.NewSkippedUpdates(slog.New(slog.NewTextHandler(&log, nil)))
	l := skipping{loop: newLoop()}
	if err := h.AfterCreateSession(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		row, total int64
		told       bool
	}{
		{3, 3, true}, {5, 5, false}, {103, 103, true}, {203, 203, false}, {206, 206, true}, {0, 206, false}, {1, 207, true}, {2, 208, true}, {3, 209, false}, {4, 210, true},
		{4, 210, false}, {5, 230, true}, {0, 233, true}, {0, 233, false},
	} {
		log.Reset()
		l.skipped = hooks.Skipped{Limit: 1000, InARow: c.row, Total: c.total}
		if err := h.AfterRun(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		if told := log.Len() > 0; told != c.told {
			t.Errorf("reading %d, %d in a row of %d: told %v, expected %v", i, c.row, c.total, told, c.told)
		}
	}
}
