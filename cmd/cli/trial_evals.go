package cli

import (
	"bytes"
	"encoding/json"
	"sync"

	"github.com/goestimator/goestimator/internal/search"
)

// evaluated is what a trial has come to.
type evaluated struct {
	curve []search.Point
	stop  func()
}

// evalReader reads the evaluations of a trial out of its log lines, which are JSON.
type evalReader struct {
	metric  string
	told    chan<- evaluated
	gone    chan struct{} // closed when nobody waits for the trial
	stopped chan struct{} // closed when it is to be stopped
	once    sync.Once

	mu    sync.Mutex
	line  []byte
	curve []search.Point
}

func newEvalReader(metric string, told chan<- evaluated) *evalReader {
	return &evalReader{metric: metric, told: told, gone: make(chan struct{}), stopped: make(chan struct{})}
}

// mostLine bounds a line that is read; a longer one is no evaluation.
const mostLine = 1 << 16

// Write reads whole lines.
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

// read tells of an evaluation.
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

// ended are the evaluations of a trial that has ended.
func (w *evalReader) ended() []search.Point {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.curve
}

// result is that of a trial that was stopped.
func (w *evalReader) result(r search.Result) search.Result {
	r.Curve, r.Stopped = w.ended(), true
	r.Value = &r.Curve[len(r.Curve)-1].Value
	return r
}

// end lets what the trial still says go.
func (w *evalReader) end() { close(w.gone) }
