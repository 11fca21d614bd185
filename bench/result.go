package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// ours is the name of our contender.
const ours = "goestimator"

// key identifies a row of results.
type key struct {
	Case      string `json:"case,omitempty"`
	Threads   int    `json:"threads"`
	Contender string `json:"contender"`
}

// sample is one block.
type sample struct {
	key
	process int
	value   float64
	allocs  float64
	more    map[string]float64
}

// row summarizes the samples of one key.
type row struct {
	key
	Median    float64   `json:"median"`
	Min       float64   `json:"min"`
	Max       float64   `json:"max"`
	Samples   int       `json:"samples"`
	Processes []float64 `json:"process_medians"`
	Allocs    float64   `json:"allocs_per_step,omitempty"`
	// More are the medians of further figures.
	More map[string]float64 `json:"more,omitempty"`
}

// result is a subject's content in bench/results.
type result struct {
	Subject  string            `json:"subject"`
	Title    string            `json:"title"`
	Unit     string            `json:"unit"`
	Time     string            `json:"time"`
	CPU      string            `json:"cpu"`
	Cores    int               `json:"cores"`
	Go       string            `json:"go"`
	Level    string            `json:"kernels"`
	Load     [2]string         `json:"load_average"` // before and after
	Rounds   int               `json:"rounds"`
	Fresh    int               `json:"processes"`
	Checked  bool              `json:"checked"` // against the float64 reference
	Versions map[string]string `json:"versions"`
	Missing  []string          `json:"missing,omitempty"`
	Rows     []row             `json:"rows"`

	samples []sample
}

func newResult(s settings, sub subject) *result {
	if s.cpu {
		sub.title += ", by processor time"
	}
	return &result{Subject: sub.name, Title: sub.title, Unit: sub.unit, Time: time.Now().UTC().Format(time.RFC3339),
		CPU: cpuName(), Cores: runtime.NumCPU(), Go: runtime.Version(), Level: kernels.ActiveLevel().String(),
		Load: [2]string{loadAverage(), ""}, Rounds: s.rounds, Fresh: s.processes, Versions: map[string]string{}}
}

func (r *result) add(s sample) { r.samples = append(r.samples, s) }

// miss records why something was not measured, once.
func (r *result) miss(why string) {
	if !slices.Contains(r.Missing, why) {
		r.Missing = append(r.Missing, why)
	}
}

// finish summarizes samples in rows, in the order of their first samples.
func (r *result) finish() {
	r.Load[1] = loadAverage()
	values := map[key][]sample{}
	var order []key
	for _, s := range r.samples {
		if values[s.key] == nil {
			order = append(order, s.key)
		}
		values[s.key] = append(values[s.key], s)
	}
	for _, k := range order {
		r.Rows = append(r.Rows, summarise(k, values[k]))
	}
}

func summarise(k key, samples []sample) row {
	var all, allocs []float64
	byProcess, more := map[int][]float64{}, map[string][]float64{}
	for _, s := range samples {
		all, allocs = append(all, s.value), append(allocs, s.allocs)
		byProcess[s.process] = append(byProcess[s.process], s.value)
		for name, v := range s.more {
			more[name] = append(more[name], v)
		}
	}
	w := row{key: k, Median: median(all), Min: slices.Min(all), Max: slices.Max(all), Samples: len(all), Allocs: median(allocs)}
	for p := range len(byProcess) {
		w.Processes = append(w.Processes, median(byProcess[p]))
	}
	for name, v := range more {
		if w.More == nil {
			w.More = map[string]float64{}
		}
		w.More[name] = median(v)
	}
	return w
}

// further are the names of further figures in any row, sorted.
func (r *result) further() []string {
	names := map[string]bool{}
	for _, w := range r.Rows {
		for name := range w.More {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// median is the middle value, or the mean of the two; 0 without values.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// find returns the row with a key.
func (r *result) find(k key) (row, bool) {
	for _, w := range r.Rows {
		if w.key == k {
			return w, true
		}
	}
	return row{}, false
}

func (r *result) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, r.Subject+".json"), append(b, '\n'), 0o644)
}

func readResult(dir, subject string) (*result, error) {
	path := filepath.Join(dir, subject+".json")
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &result{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// loadAverage is the system's load average of the last minute: other load makes results noisy.
func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(b))[0]
}

func cpuName() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	found := map[string]string{}
	for _, line := range strings.Split(string(b), "\n") {
		if k, v, ok := strings.Cut(line, ":"); ok {
			found[strings.TrimSpace(k)] = strings.TrimSpace(v)
		}
	}
	return fmt.Sprintf("%s (family %s, model %s)", found["model name"], found["cpu family"], found["model"])
}
