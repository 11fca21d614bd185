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

// reply is a message of the worker.
type reply struct {
	Values  map[string][]float64 `json:"values,omitempty"`
	Version string               `json:"version,omitempty"`
	Seconds float64              `json:"seconds,omitempty"`
	PeakKB  int64                `json:"peak_kb,omitempty"`
}

// serve reports that the worker is ready, then times blocks of steps of a case
// until it is told to quit.
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

// peakKB is the peak resident memory so far; 0 if the system does not report it.
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
