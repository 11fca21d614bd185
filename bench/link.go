package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// A worker reads one command per line and answers each with one line of JSON.
// First it reports that it is ready:
//
//	< {"values": {"case": [numbers to compare with the reference]}, "version": "..."}
//	> run STEPS CASE
//	< {"seconds": 0.31, "peak_kb": 81234, "allocs": 0}
//	> quit

// reply is a message of a worker.
type reply struct {
	Values  map[string][]float64 `json:"values,omitempty"`
	Version string               `json:"version,omitempty"`
	Seconds float64              `json:"seconds,omitempty"`
	PeakKB  int64                `json:"peak_kb,omitempty"`
	Allocs  float64              `json:"allocs,omitempty"` // per step; only our workers report it
	// More are further figures of a block, by name and unit.
	More  map[string]float64 `json:"more,omitempty"`
	Error string             `json:"error,omitempty"`
}

// command tells a worker to run so many steps of a case, or to quit.
type command struct {
	steps int
	name  string // of the case
}

// link is a worker's end of the connection.
type link struct {
	in  *bufio.Reader
	out *json.Encoder
}

func newLink(in io.Reader, out io.Writer) *link {
	return &link{bufio.NewReader(in), json.NewEncoder(out)}
}

func (l *link) send(r reply) error { return l.out.Encode(r) }

// next waits for a command; false means quit.
func (l *link) next() (command, bool, error) {
	line, err := l.in.ReadString('\n')
	if err == io.EOF {
		return command{}, false, nil
	}
	if err != nil {
		return command{}, false, err
	}
	f := strings.Fields(line)
	if len(f) == 0 || f[0] == "quit" {
		return command{}, false, nil
	}
	if f[0] != "run" || len(f) < 2 || len(f) > 3 {
		return command{}, false, fmt.Errorf("unknown command %q: expected run STEPS CASE, or quit", strings.TrimSpace(line))
	}
	c := command{}
	if len(f) == 3 {
		c.name = f[2]
	}
	c.steps, err = strconv.Atoi(f[1])
	return c, true, err
}

// serve executes commands with run, which times the steps itself.
func (l *link) serve(ready reply, run func(command) (reply, error)) error {
	if err := l.send(ready); err != nil {
		return err
	}
	for {
		c, ok, err := l.next()
		if err != nil || !ok {
			return err
		}
		r, err := run(c)
		if err != nil {
			return err
		}
		r.PeakKB = peakKB()
		if err := l.send(r); err != nil {
			return err
		}
	}
}

// peakKB is the peak resident memory of this process so far; 0 if the
// system does not report it. Unlike rusage's value, it does not include the parent's memory.
func peakKB() int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n
		}
	}
	return 0
}
