package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// redrawEvery is the least time between two updates of the bar.
const redrawEvery = 200 * time.Millisecond

// progress is a hook that shows a bar on a terminal: steps, loss, examples per
// second and the time left. The training loop only stores numbers, at most every
// redrawEvery; a goroutine of the bar draws them.
type progress struct {
	hooks.Base
	out      *console
	maxSteps int64 // 0: unknown
	color    bool
	now      func() time.Time

	bars     *mpb.Progress
	bar      *mpb.Bar
	state    atomic.Pointer[progressState]
	first    int64 // step at the start of this run
	start    time.Time
	drawn    time.Time
	examples int64 // since start
}

// progressState is the state that the bar shows.
type progressState struct {
	step         int64
	loss         float64
	perSecond    float64 // examples
	left         time.Duration
	known, drawn bool // known: left is known
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

// Priority is the priority of writers.
func (h *progress) Priority() int { return hooks.PriorityWrite }

// Begin requests the loss.
func (h *progress) Begin(s hooks.Setup) error { return s.Fetch("loss") }

// AfterCreateSession draws the bar.
func (h *progress) AfterCreateSession(_ context.Context, r hooks.Run) error {
	h.first, h.start, h.examples = r.GlobalStep(), h.now(), 0
	h.drawn = h.start
	h.state.Store(&progressState{step: h.first})
	h.bars = mpb.New(mpb.WithOutput(h.out.out), mpb.WithRefreshRate(redrawEvery), mpb.WithAutoRefresh())
	h.bar = h.bars.MustAdd(0, h.filler(), mpb.BarFillerTrim())
	h.bar.SetTotal(h.maxSteps, false)
	h.bar.SetCurrent(h.first)
	h.out.attach(h.bars, h.finish)
	return nil
}

// Reads reports whether the bar is due.
func (h *progress) Reads(hooks.Run) bool { return h.now().Sub(h.drawn) >= redrawEvery }

// AfterRun stores the numbers of the step, if the bar is due.
func (h *progress) AfterRun(_ context.Context, r hooks.Run) error {
	h.examples += int64(r.BatchSize())
	now := h.now()
	if now.Sub(h.drawn) < redrawEvery || hooks.Unread(r) {
		return nil
	}
	h.drawn = now
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

// End draws the last numbers and leaves the bar on the screen.
func (h *progress) End(_ context.Context, r hooks.Run) error {
	if r.GlobalStep() > h.first {
		if err := h.tell(r, h.now()); err != nil {
			return err
		}
	}
	h.out.detach()
	return nil
}

// finish ends the bar; later lines go below it.
func (h *progress) finish() {
	if h.maxSteps > 0 && h.state.Load().step >= h.maxSteps {
		h.bar.SetTotal(h.maxSteps, true)
	} else {
		h.bar.Abort(false)
	}
	h.bars.Wait()
}

// The width of the bar, with its brackets.
const (
	leastBar = 10
	mostBar  = 32
)

// filler draws the line.
func (h *progress) filler() mpb.BarFiller {
	painted := func(s string) string { return paint(h.color, cyan, s) }
	bar := mpb.BarStyle().Lbound("[").Filler("=").FillerMeta(painted).Tip(">").TipMeta(painted).Padding(" ").Rbound("]").Build()
	return mpb.BarFillerFunc(func(w io.Writer, at decor.Statistics) error { return h.draw(w, at, bar) })
}

// draw writes the line, fitted to the current width of the terminal.
func (h *progress) draw(w io.Writer, at decor.Statistics, bar mpb.BarFiller) error {
	if at.AvailableWidth <= 0 { // a terminal whose width is unknown
		at.AvailableWidth = 80
	}
	before, wide, after := h.state.Load().fit(h.maxSteps, at.AvailableWidth-1) // a full line would wrap
	if _, err := io.WriteString(w, before); err != nil || wide == 0 {
		return err
	}
	at.AvailableWidth, at.RequestedWidth = wide, wide
	if err := bar.Fill(w, at); err != nil {
		return err
	}
	_, err := io.WriteString(w, after)
	return err
}

// fit divides the line, width columns wide, into the text before the bar, the
// bar's width and the text after it; without a bar, all text is before it. If it does not
// fit, it leaves out examples per second first, then the bar, the time left, the loss and
// the total number of steps.
func (s *progressState) fit(maxSteps int64, width int) (before string, bar int, after string) {
	counts := fmt.Sprintf("step %d", s.step)
	if maxSteps > 0 {
		counts += fmt.Sprintf("/%d", maxSteps)
	}
	var loss, rate, left string
	if s.drawn {
		loss, rate = fmt.Sprintf(" loss=%.4g", s.loss), fmt.Sprintf(" examples/sec=%.0f", s.perSecond)
	}
	if s.known {
		left = " ETA " + clock(s.left)
	}
	room := func(parts ...string) int { return width - len(counts) - len(strings.Join(parts, "")) }
	if maxSteps > 0 {
		for _, behind := range []string{loss + rate + left, loss + left} {
			if bar := room(behind) - 1; bar >= leastBar {
				return counts + " ", min(bar, mostBar), behind
			}
		}
	}
	for _, behind := range []string{loss + rate + left, loss + left, loss, ""} {
		if room(behind) >= 0 {
			return counts + behind, 0, ""
		}
	}
	counts = fmt.Sprintf("step %d", s.step)
	return counts[:min(len(counts), max(width, 0))], 0, ""
}

// clock formats a duration as minutes:seconds, with hours if there are any.
func clock(d time.Duration) string {
	secs := int64(d.Round(time.Second).Seconds())
	if secs >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", secs/3600, secs/60%60, secs%60)
	}
	return fmt.Sprintf("%d:%02d", secs/60, secs%60)
}
