package inputs

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
)

// ErrNoResume is the error of restoring a position of a source whose rows come only once.
var ErrNoResume = errors.New("input cannot go back to a saved position")

// Resume says how a pass over rows that come only once (a channel, a query's result) continues from a saved position.
type Resume string

// The ways to continue. The empty value means ResumeError.
const (
	ResumeError   Resume = "error"   // restoring a position is an error that wraps ErrNoResume
	ResumeSkip    Resume = "skip"    // the producer starts again: the rows delivered before are skipped
	ResumeRestart Resume = "restart" // the pass continues with the rows that come next
)

func (r Resume) validate() error {
	switch r {
	case "", ResumeError, ResumeSkip, ResumeRestart:
		return nil
	}
	return fmt.Errorf("resume must be error, skip or restart, got %q", string(r))
}

// liveStage is a pass over the rows of a live source.
type liveStage struct {
	ctx    context.Context // of the pass
	what   string          // the source, for errors
	resume Resume
	open   func(ctx context.Context) (rowReader, error)
	cur    rowReader
	row    int64 // rows delivered
}

// liveNode completes the node of a live source.
func liveNode(n *node, what string, resume Resume, open func(ctx context.Context) (rowReader, error)) *node {
	n.desc = fmt.Sprintf("%s[%s]", what, n.schema)
	n.generated, n.resume = true, resume
	if resume == "" {
		n.resume = ResumeError
	}
	n.start = func(ctx context.Context, _ int64) (stage, error) {
		return &liveStage{ctx: ctx, what: what, resume: n.resume, open: open}, nil
	}
	return n
}

func (s *liveStage) ensure() (err error) {
	if s.cur == nil {
		s.cur, err = s.open(s.ctx)
	}
	return err
}

func (s *liveStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.ensure(); err != nil {
		return nil, err
	}
	rec, err := s.cur.read(ctx, limit)
	if err == nil {
		s.row += rec.NumRows()
	}
	return rec, err
}

func (s *liveStage) save(w *stateWriter) error { w.int(s.row); return nil }

func (s *liveStage) load(ctx context.Context, r *stateReader) error {
	row := r.count(math.MaxInt64)
	switch {
	case r.err != nil || row == s.row:
		return r.err
	case s.resume == ResumeError:
		return noResume(s.what, row)
	case s.resume == ResumeRestart:
		s.row = row
		return nil
	}
	if err := s.close(); err != nil {
		return err
	}
	s.row = row
	if row == 0 {
		return nil
	}
	if err := s.ensure(); err != nil {
		return err
	}
	err := s.cur.skip(ctx, row)
	if eof(err) {
		err = fmt.Errorf("%w: %s gave fewer than the %d rows that were delivered before: let it give the same rows again, or start the data afresh",
			ErrStateMismatch, s.what, row)
	}
	return err
}

func noResume(what string, row int64) error {
	return fmt.Errorf("%w: %s had delivered %d rows, which come only once: set resume to skip where it gives the same rows again, "+
		"or to restart to go on with the rows that come next", ErrNoResume, what, row)
}

func (s *liveStage) close() error {
	if s.cur == nil {
		return nil
	}
	cur := s.cur
	s.cur = nil
	return cur.close()
}

// resumeOf returns how the sources of a data set resume together: error if one does, restart if all do, else
// skip, which exact sources also do.
func resumeOf(n *node) Resume {
	for n.up != nil {
		n = n.up
	}
	if len(n.several) == 0 {
		if n.resume == "" {
			return ResumeSkip
		}
		return n.resume
	}
	all := ResumeRestart
	for _, in := range n.several {
		switch resumeOf(in) {
		case ResumeError:
			return ResumeError
		case ResumeSkip:
			all = ResumeSkip
		}
	}
	return all
}

// again returns how many of the rows read since a snapshot must be read again after restoring.
func (r Resume) again(since int64) (int64, error) {
	switch {
	case since == 0 || r == ResumeSkip:
		return since, nil
	case r == ResumeRestart:
		return 0, nil
	}
	return 0, noResume("the input", since)
}
