package cli

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// redrawEvery is the least time between two pictures of the bar.
const redrawEvery = 200 * time.Millisecond

// progress is a hook that shows a bar on a terminal: steps, loss, examples per
// second and the time left. The training loop only leaves numbers behind, at
// most every redrawEvery; they are drawn by a goroutine of the bar.
type progress struct {
	hooks.Base
	out      *console
	maxSteps int64 // 0: not known
	now      func() time.Time

	bars     *mpb.Progress
	bar      *mpb.Bar
	state    atomic.Pointer[progressState]
	first    int64 // step that this run began with
	start    time.Time
	told     time.Time
	examples int64 // since start
}

// progressState is what the bar shows.
type progressState struct {
	step         int64
	loss         float64
	perSecond    float64 // examples
	left         time.Duration
	known, drawn bool // known: time left
}

var (
	_ hooks.Hook        = (*progress)(nil)
	_ hooks.Prioritized = (*progress)(nil)
	_ hooks.Selective   = (*progress)(nil)
)

// newProgress returns a hook that draws on out, which is a terminal.
func newProgress(out *console, maxSteps int64) *progress {
	return &progress{out: out, maxSteps: maxSteps, now: time.Now}
}

// Priority is that of writers.
func (h *progress) Priority() int { return hooks.PriorityWrite }

// Begin asks for the loss.
func (h *progress) Begin(s hooks.Setup) error { return s.Fetch("loss") }

// AfterCreateSession draws the bar.
func (h *progress) AfterCreateSession(_ context.Context, r hooks.Run) error {
	h.first, h.start, h.examples = r.GlobalStep(), h.now(), 0
	h.told = h.start
	h.state.Store(&progressState{step: h.first})
	h.bars = mpb.New(mpb.WithOutput(h.out.out), mpb.WithRefreshRate(redrawEvery), mpb.WithAutoRefresh(), mpb.WithWidth(40))
	style := mpb.BarStyle().Lbound("[").Filler("=").Tip(">").Padding(" ").Rbound("]")
	filler := mpb.BarFillerBuilder(style)
	if h.maxSteps == 0 {
		filler = mpb.NopStyle()
	}
	h.bar = h.bars.New(0, filler,
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return h.counts() })),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return h.figures() })))
	h.bar.SetTotal(h.maxSteps, false)
	h.bar.SetCurrent(h.first)
	h.out.attach(h.bars, h.finish)
	return nil
}

// Reads reports whether the bar is due.
func (h *progress) Reads(hooks.Run) bool { return h.now().Sub(h.told) >= redrawEvery }

// AfterRun leaves the numbers of the step, if the bar is due.
func (h *progress) AfterRun(_ context.Context, r hooks.Run) error {
	h.examples += int64(r.BatchSize())
	now := h.now()
	if now.Sub(h.told) < redrawEvery || hooks.Unread(r) {
		return nil
	}
	h.told = now
	return h.tell(r, now)
}

func (h *progress) tell(r hooks.Run, now time.Time) error {
	loss, err := r.Value("loss")
	if err != nil {
		return err
	}
	s := &progressState{step: r.GlobalStep(), loss: loss.Float(0), drawn: true}
	elapsed, done := now.Sub(h.start), s.step-h.first
	if elapsed > 0 {
		s.perSecond = float64(h.examples) / elapsed.Seconds()
	}
	if h.maxSteps > 0 && done > 0 {
		s.left, s.known = time.Duration(float64(elapsed)/float64(done)*float64(h.maxSteps-s.step)), true
	}
	h.state.Store(s)
	h.bar.SetCurrent(s.step)
	return nil
}

// End draws the last numbers and leaves the bar as it is.
func (h *progress) End(_ context.Context, r hooks.Run) error {
	if r.GlobalStep() > h.first {
		if err := h.tell(r, h.now()); err != nil {
			return err
		}
	}
	h.out.detach()
	return nil
}

// finish ends the bar; lines go below it from then on.
func (h *progress) finish() {
	if h.maxSteps > 0 && h.state.Load().step >= h.maxSteps {
		h.bar.SetTotal(h.maxSteps, true)
	} else {
		h.bar.Abort(false)
	}
	h.bars.Wait()
}

func (h *progress) counts() string {
	s := h.state.Load()
	if h.maxSteps == 0 {
		return fmt.Sprintf("step %d ", s.step)
	}
	return fmt.Sprintf("step %d/%d ", s.step, h.maxSteps)
}

func (h *progress) figures() string {
	s := h.state.Load()
	if !s.drawn {
		return ""
	}
	text := fmt.Sprintf(" loss=%.4g examples/sec=%.0f", s.loss, s.perSecond)
	if s.known {
		text += " ETA " + clock(s.left)
	}
	return text
}

// clock is a time span as minutes:seconds, with hours where there are any.
func clock(d time.Duration) string {
	secs := int64(d.Round(time.Second).Seconds())
	if secs >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", secs/3600, secs/60%60, secs%60)
	}
	return fmt.Sprintf("%d:%02d", secs/60, secs%60)
}
