package cli

import (
	"bytes"
	"encoding/json"
	"sync"

	"github.com/goestimator/goestimator/internal/search"
)

// evaluated is a trial's evaluations so far, with a function to stop the trial.
type evaluated struct {
	curve []search.Point
	stop  func()
}

// evalReader extracts the evaluations of a trial from its log lines, which are JSON.
type evalReader struct {
	metric  string
	told    chan<- evaluated
	gone    chan struct{} // closed when evaluations are no longer received
	stopped chan struct{} // closed to stop the trial
	once    sync.Once

	mu    sync.Mutex
	line  []byte
	curve []search.Point
}

func newEvalReader(metric string, told chan<- evaluated) *evalReader {
	return &evalReader{metric: metric, told: told, gone: make(chan struct{}), stopped: make(chan struct{})}
}

// mostLine is the longest line that is parsed; a longer one is no evaluation.
const mostLine = 1 << 16

// Write collects lines and reads each complete one.
func (w *evalReader) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if len(w.line) < mostLine {
			w.line = append(w.line, line...)
		}
		if rest = after; whole {
			w.read()
			w.line = w.line[:0]
		}
	}
	return len(p), nil
}

// read sends an evaluation, if the line is one.
func (w *evalReader) read() {
	var l map[string]any
	if json.Unmarshal(w.line, &l) != nil || l["msg"] != "eval" {
		return
	}
	step, ok := l["step"].(float64)
	value, is := l[w.metric].(float64)
	if !ok || !is {
		return
	}
	w.mu.Lock()
	w.curve = append(w.curve, search.Point{Step: int64(step), Value: value})
	curve := w.curve[:len(w.curve):len(w.curve)]
	w.mu.Unlock()
	select {
	case w.told <- evaluated{curve, func() { w.once.Do(func() { close(w.stopped) }) }}:
	case <-w.gone:
	}
}

// ended returns the evaluations of a trial that has ended.
func (w *evalReader) ended() []search.Point {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.curve
}

// result is the result of a trial that was stopped.
func (w *evalReader) result(r search.Result) search.Result {
	r.Curve, r.Stopped = w.ended(), true
	r.Value = &r.Curve[len(r.Curve)-1].Value
	return r
}

// end discards further evaluations.
func (w *evalReader) end() { close(w.gone) }
