package costmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
)

// Recording is the part of a file in bench/results that the model reads.
type Recording struct {
	Subject string `json:"subject"`
	Unit    string `json:"unit"`
	Time    string `json:"time"`
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Rows    []struct {
		Case      string  `json:"case"`
		Threads   int     `json:"threads"`
		Contender string  `json:"contender"`
		Median    float64 `json:"median"`
	} `json:"rows"`
}

// Load reads the recording of a subject; it is nil if there is none.
func Load(dir, subject string) (*Recording, error) {
	b, err := os.ReadFile(filepath.Join(dir, subject+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r Recording
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("recording of %s: %w", subject, err)
	}
	if r.Unit != "GB/s" {
		return nil, fmt.Errorf("recording of %s: unit %q, expected GB/s", subject, r.Unit)
	}
	return &r, nil
}

// rate is the median of a case in bytes per second, with the smallest number of threads, or 0 if it was not measured.
func (r *Recording) rate(name string) float64 {
	best, threads := 0.0, math.MaxInt
	for _, x := range r.Rows {
		if x.Case == name && x.Contender == "goestimator" && x.Threads < threads {
			best, threads = x.Median*1e9, x.Threads
		}
	}
	return best
}

// The cases of the subjects allreduce (WORKERSxSIZE, rate of the bytes a worker sends) and ps (SERVERSps, rate
// of the bytes one worker receives and sends, for a model of modelBytes).
const (
	latencyCase   = "2x4KB"
	bandwidthCase = "2x100MB"
	directBytes   = 16 << 10
	modelBytes    = 100e6
)

// Fit derives the network of one machine from two all-reduces of two workers: a small one gives the latency of a
// hop, a large one the rate of a link. On one machine, cores do the work of messages and links, so at most as
// many run at once as there are cores.
func Fit(r *Recording) (Network, error) {
	small, large := r.rate(latencyCase), r.rate(bandwidthCase)
	if small <= 0 || large <= 0 {
		return Network{}, fmt.Errorf("recording of %s: cases %s and %s are needed", r.Subject, latencyCase, bandwidthCase)
	}
	n := Network{Latency: 4e3 / small, Bandwidth: large, Shared: large * float64(max(r.Cores, 1)), Cores: max(r.Cores, 1)}
	n.Latency = max(n.Latency-4e3/n.Bandwidth, 0)
	return n, nil
}

// Compared is a measured case beside its prediction, both in seconds.
type Compared struct {
	Case                string
	Measured, Predicted float64
	Fitted              bool // the network was taken from this case
}

// Error is the prediction's relative error: 0.1 is 10 % too long.
func (c Compared) Error() float64 { return c.Predicted/c.Measured - 1 }

// Compare predicts every case of a recording of ours that it can.
func Compare(r *Recording, n Network) []Compared {
	var out []Compared
	seen := map[string]bool{}
	for _, x := range r.Rows {
		var c Compared
		var ok bool
		if r.Subject == "ps" {
			c, ok = comparePullPush(x.Case, r.rate(x.Case), n)
		} else {
			c, ok = compareAllReduce(x.Case, r.rate(x.Case), n)
		}
		if ok && !seen[x.Case] && r.rate(x.Case) > 0 {
			seen[x.Case] = true
			out = append(out, c)
		}
	}
	return out
}

func compareAllReduce(name string, rate float64, n Network) (Compared, bool) {
	var workers int
	var size float64
	var unit string
	if _, err := fmt.Sscanf(name, "%dx%f%s", &workers, &size, &unit); err != nil {
		return Compared{}, false
	}
	bytes := size * units[unit]
	c := Compared{Case: name, Fitted: name == latencyCase || name == bandwidthCase}
	c.Measured = 2 * float64(workers-1) / float64(workers) * bytes / rate
	p, err := Predict(RingStrategy, Cluster{n, workers, 0}, Job{Dense: bytes, Direct: directBytes})
	c.Predicted = p.Step
	return c, err == nil && workers > 1 && bytes > 0
}

func comparePullPush(name string, rate float64, n Network) (Compared, bool) {
	var servers int
	if _, err := fmt.Sscanf(name, "%dps", &servers); err != nil {
		return Compared{}, false
	}
	c := Compared{Case: name, Measured: 2 * modelBytes / rate}
	p, err := Predict(AsynchronousStrategy, Cluster{n, 1, servers}, Job{Dense: modelBytes})
	c.Predicted = p.Step
	return c, err == nil
}

var units = map[string]float64{"KB": 1e3, "MB": 1e6, "GB": 1e9}
