package admission

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// Strangers cannot fill a disk with log lines: few are written at once, then one a second, and none of them is long.
func TestErrorLog(t *testing.T) {
	var out bytes.Buffer
	l := ErrorLog(slog.New(slog.NewTextHandler(&out, nil)))
	now := time.Now()
	l.Writer().(*sparseLog).now = func() time.Time { return now }
	lines := func(n int) string {
		t.Helper()
		out.Reset()
		for range n {
			l.Printf("refused %s", "x")
		}
		return out.String()
	}
	if got := lines(1000); strings.Count(got, "refused x") != errorLines || strings.Contains(got, "left_out") {
		t.Errorf("at first: %s", got)
	}
	now = now.Add(time.Second)
	if got := lines(5); strings.Count(got, "refused x") != 1 || !strings.Contains(got, "left_out=990") {
		t.Errorf("a second later: %s", got)
	}
	now = now.Add(time.Hour)
	if got := lines(100); strings.Count(got, "refused x") != errorLines || !strings.Contains(got, "left_out=4") || strings.Count(got, "left_out") != 1 {
		t.Errorf("an hour later: %s", got)
	}
	now = now.Add(time.Hour)
	out.Reset()
	if l.Print(strings.Repeat("é", 1<<20)); out.Len() > errorBytes+200 || !strings.Contains(out.String(), "éé") {
		t.Errorf("a line of 2 MiB makes one of %d bytes", out.Len())
	}
}
