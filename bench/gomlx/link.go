package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// reply is what the worker says.
type reply struct {
	Values  map[string][]float64 `json:"values,omitempty"`
	Version string               `json:"version,omitempty"`
	Seconds float64              `json:"seconds,omitempty"`
	PeakKB  int64                `json:"peak_kb,omitempty"`
}

// serve says that the worker is ready, and then times blocks of steps of a case
// until the command to quit.
func serve(in io.Reader, out io.Writer, ready reply, step func(name string) error) error {
	answers := json.NewEncoder(out)
	if err := answers.Encode(ready); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() && lines.Text() != "quit" {
		var steps int
		var name string
		if n, err := fmt.Sscanf(lines.Text(), "run %d %s", &steps, &name); n == 0 {
			return fmt.Errorf("unknown command %q: expected run STEPS CASE, or quit: %w", lines.Text(), err)
		}
		begun := time.Now()
		for range steps {
			if err := step(name); err != nil {
				return err
			}
		}
		if err := answers.Encode(reply{Seconds: time.Since(begun).Seconds(), PeakKB: peakKB()}); err != nil {
			return err
		}
	}
	return lines.Err()
}

// peakKB is the largest resident memory so far, 0 where the system does not tell.
func peakKB() int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	var n int64
	fmt.Sscan(rest, &n)
	return n
}
