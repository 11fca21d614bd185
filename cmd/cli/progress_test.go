package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/tensor"
	"github.com/vbauerster/mpb/v8/decor"
	"pgregory.net/rapid"
)

// fakeRun is a fake training loop for the progress bar.
type fakeRun struct{ step int64 }

func (r *fakeRun) GlobalStep() int64                    { return r.step }
func (r *fakeRun) BatchSize() int                       { return 10 }
func (r *fakeRun) RequestStop(string)                   {}
func (r *fakeRun) StopRequested() bool                  { return false }
func (r *fakeRun) Value(string) (*tensor.Tensor, error) { return tensor.Scalar(float32(0.25)), nil }

// lockedBuffer is a Buffer for concurrent use.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// runProgress runs a bar over steps that take a second each, and logs a line after each step.
func runProgress(t *testing.T, h *progress, r *fakeRun, steps int) {
	t.Helper()
	ctx, now := context.Background(), time.Unix(0, 0)
	h.now = func() time.Time { return now }
	if err := h.AfterCreateSession(ctx, r); err != nil {
		t.Fatal(err)
	}
	for range steps {
		now = now.Add(time.Second)
		r.step++
		if err := h.AfterRun(ctx, r); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(h.out, "after step %d\n", r.step)
	}
}

func TestProgress(t *testing.T) {
	for _, c := range []struct {
		maxSteps int64
		want     string
	}{
		{20, "step 14/20 [====================>         ] loss=0.25 examples/sec=10 ETA 0:06\n"},
		{0, "step 14 loss=0.25 examples/sec=10\n"},
	} {
		var out lockedBuffer
		h := newProgress(&console{out: &out}, c.maxSteps)
		r := &fakeRun{step: 10}
		runProgress(t, h, r, 4)
		if err := h.End(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(h.out, "below")
		text := out.String()
		for _, want := range []string{"after step 11\n", "after step 14\n", c.want} {
			if !strings.Contains(text, want) {
				t.Errorf("max_steps %d: no %q in\n%s", c.maxSteps, want, text)
			}
		}
		if !strings.HasSuffix(text, "below\n") {
			t.Errorf("max_steps %d: what follows the bar does not come last:\n%s", c.maxSteps, text)
		}
	}
}

// The line is never wider than the terminal, and keeps what matters most.
func TestProgressFits(t *testing.T) {
	all := &progressState{step: 1400, loss: 0.25, perSecond: 51234, left: 6 * time.Minute, known: true, drawn: true}
	draw := func(h *progress, width int) string {
		var b bytes.Buffer
		if err := h.filler().Fill(&b, decor.Statistics{AvailableWidth: width, Total: h.maxSteps, Current: h.state.Load().step}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for _, c := range []struct {
		maxSteps int64
		state    *progressState
		width    int
		want     string
	}{
		{20000, all, 200, "step 1400/20000 [=>                            ] loss=0.25 examples/sec=51234 ETA 6:00"},
		{20000, all, 80, "step 1400/20000 [=>                     ] loss=0.25 examples/sec=51234 ETA 6:00"},
		{20000, all, 60, "step 1400/20000 [=>                    ] loss=0.25 ETA 6:00"},
		{20000, all, 47, "step 1400/20000 [>        ] loss=0.25 ETA 6:00"},
		{20000, all, 45, "step 1400/20000 loss=0.25 ETA 6:00"},
		{20000, all, 30, "step 1400/20000 loss=0.25"},
		{20000, all, 20, "step 1400/20000"},
		{20000, all, 12, "step 1400"},
		{20000, all, 5, "step"},
		{20000, all, 1, ""},
		{20000, all, 0, "step 1400/20000 [=>                     ] loss=0.25 examples/sec=51234 ETA 6:00"},
		{0, &progressState{step: 7, loss: 1, perSecond: 3, drawn: true}, 80, "step 7 loss=1 examples/sec=3"},
		{0, &progressState{step: 7, loss: 1, perSecond: 3, drawn: true}, 20, "step 7 loss=1"},
		{20, &progressState{step: 7}, 80, "step 7/20 [==========>                   ]"},
		{20, &progressState{step: 7, loss: math.NaN(), drawn: true}, 40, "step 7/20 [=====>            ] loss=NaN"},
	} {
		h := newProgress(&console{}, c.maxSteps)
		h.state.Store(c.state)
		if got := draw(h, c.width); got != c.want {
			t.Errorf("%d columns: got  %q\nexpected %q", c.width, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		h := newProgress(&console{}, rapid.Int64Range(0, 1<<40).Draw(t, "max_steps"))
		h.state.Store(&progressState{step: rapid.Int64Range(0, 1<<40).Draw(t, "step"), loss: rapid.Float64().Draw(t, "loss"), perSecond: rapid.Float64Range(0, 1e12).Draw(t, "rate"),
			left: time.Duration(rapid.Int64Range(0, 1<<60).Draw(t, "left")), known: rapid.Bool().Draw(t, "known"), drawn: rapid.Bool().Draw(t, "drawn")})
		width := rapid.IntRange(1, 250).Draw(t, "width")
		if got := draw(h, width); len(got) >= width && got != "" {
			t.Fatalf("%d columns: %q", width, got)
		}
	})
}

// A loop that fails does not call End: detaching ends the bar.
func TestProgressOfFailedLoop(t *testing.T) {
	var out lockedBuffer
	c := &console{out: &out}
	runProgress(t, newProgress(c, 20), &fakeRun{}, 2)
	c.detach()
	c.detach()
	if _, err := io.WriteString(c, "goestimator: it failed\n"); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.HasSuffix(text, "goestimator: it failed\n") {
		t.Errorf("the error does not come last:\n%s", text)
	}
}

func TestClock(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0:00", 61400 * time.Millisecond: "1:01", 2*time.Hour + 3*time.Minute: "2:03:00"} {
		if got := clock(d); got != want {
			t.Errorf("clock(%v) = %q, expected %q", d, got, want)
		}
	}
}

func TestGroup(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -123456: "-123,456", 1234567: "1,234,567"} {
		if got := group(n); got != want {
			t.Errorf("group(%d) = %q, expected %q", n, got, want)
		}
	}
}
