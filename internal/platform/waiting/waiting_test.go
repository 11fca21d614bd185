package waiting

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// text is a log that several goroutines write and read.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// TestWhile: a report after ten seconds and every ten seconds after that, until it is stopped.
func TestWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b text
		log := slog.New(slog.NewTextHandler(&b, nil))
		asked := 0
		stop := ReportEvery(log, func(context.Context) []Target {
			asked++
			return []Target{{"/job:ps/task:1 at host:2222", "connection refused"}, {"/job:ps/task:2", ""}}[:asked-1]
		})
		for _, c := range []struct {
			after time.Duration
			want  int // lines so far
		}{{Interval - 1, 0}, {1, 0}, {Interval - 1, 0}, {1, 1}, {Interval, 3}} {
			time.Sleep(c.after)
			synctest.Wait()
			if got := strings.Count(b.String(), "\n"); got != c.want {
				t.Errorf("%d lines, expected %d:\n%s", got, c.want, &b)
			}
		}
		stop()
		time.Sleep(10 * Interval)
		for i, want := range []string{"waiting for /job:ps/task:1 at host:2222 (20 s): connection refused", "waiting for /job:ps/task:1 at host:2222 (30 s): connection refused", "waiting for /job:ps/task:2 (30 s)"} {
			line := strings.Split(b.String(), "\n")[i]
			if !strings.Contains(line, fmt.Sprintf("msg=%q", want)) {
				t.Errorf("line %d is %s, expected %s", i, line, want)
			}
		}
		if asked != 3 {
			t.Errorf("asked %d times, expected 3", asked)
		}
	})
}

// TestStopWhileAsked: the running check is cancelled, and nothing is reported.
func TestStopWhileAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b text
		stop := ReportEvery(slog.New(slog.NewTextHandler(&b, nil)), func(ctx context.Context) []Target {
			<-ctx.Done()
			return []Target{{Name: "nobody"}}
		})
		time.Sleep(2 * Interval)
		stop()
		if b.String() != "" {
			t.Errorf("reported %s", &b)
		}
	})
}
