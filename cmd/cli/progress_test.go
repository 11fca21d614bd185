package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/graph"
)

// fakeRun is a loop as the progress bar sees it.
type fakeRun struct{ step int64 }

func (r *fakeRun) GlobalStep() int64                   { return r.step }
func (r *fakeRun) BatchSize() int                      { return 10 }
func (r *fakeRun) RequestStop(string)                  {}
func (r *fakeRun) StopRequested() bool                 { return false }
func (r *fakeRun) Value(string) (*graph.Tensor, error) { return graph.ScalarOf(float32(0.25)), nil }

// lockedBuffer is a Buffer for several goroutines.
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

// runProgress lets a bar see steps that take a second each, with a line logged after each.
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
		{20, "step 14/20 [=================>            ]  loss=0.25 examples/sec=10 ETA 0:06"},
		{0, "step 14"},
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
		for _, want := range []string{"after step 11\n", "after step 14\n", strings.Fields(c.want)[1], "loss=0.25 examples/sec=10"} {
			if !strings.Contains(text, want) {
				t.Errorf("max_steps %d: no %q in\n%s", c.maxSteps, want, text)
			}
		}
		if !strings.HasSuffix(text, "below\n") {
			t.Errorf("max_steps %d: what follows the bar does not come last:\n%s", c.maxSteps, text)
		}
		if c.maxSteps > 0 && h.figures() != " loss=0.25 examples/sec=10 ETA 0:06" {
			t.Errorf("figures: %q", h.figures())
		}
	}
}

// A loop that fails calls no End: detaching ends the bar.
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
