package launcher

import (
	"bytes"
	"encoding/json"
	"fmt"
	"github.com/goestimator/goestimator/internal/platform/printable"
	"io"
	"strings"
	"sync"
	"time"
)

// sink receives the lines of all tasks; each is written whole.
type sink struct {
	mu  sync.Mutex
	out io.Writer
}

func (s *sink) writeLine(prefix, line []byte) error {
	whole := append(append(append(make([]byte, 0, len(prefix)+len(line)+1), prefix...), line...), '\n')
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.out.Write(whole)
	return err
}

// hold keeps lines back until release is called.
func (s *sink) hold() (release func()) {
	s.mu.Lock()
	return s.mu.Unlock
}

// maxLine is the length at which a line is written in parts.
const maxLine = 64 << 10

// lineWriter writes one stream of a task line by line, each after the
// task's name, and keeps a copy.
type lineWriter struct {
	prefix []byte
	record string // the task's name; empty: lines are written unchanged
	to     *sink
	tail   *tail
	file   io.Writer // nil: no log file
	part   []byte    // of a line that has not ended
}

// Write never fails: a task continues if its output cannot be shown or stored.
func (w *lineWriter) Write(p []byte) (int, error) {
	if w.file != nil {
		_, _ = w.file.Write(p)
	}
	rest := p
	for len(rest) > 0 {
		line, after, whole := bytes.Cut(rest, []byte{'\n'})
		if room := maxLine - len(w.part); len(line) >= room {
			line, after, whole = rest[:room], rest[room:], true
		}
		w.part = append(w.part, line...)
		if whole {
			w.end()
		}
		rest = after
	}
	return len(p), nil
}

// end writes the line that has been collected.
func (w *lineWriter) end() {
	line := bytes.TrimRight(w.part, "\r")
	if w.record != "" {
		_ = w.to.writeLine(nil, recordOf(w.record, line))
	} else {
		_ = w.to.writeLine(w.prefix, line)
	}
	w.tail.add(string(line))
	w.part = w.part[:0]
}

// recordOf is a line of a task as a JSON object with the task's name: the line's own
// object, or else a log record with the line as its message.
func recordOf(task string, line []byte) []byte {
	line = bytes.TrimSpace(line)
	if fields, ok := bytes.CutPrefix(line, []byte("{")); ok && json.Valid(line) {
		if fields = bytes.TrimSpace(fields); fields[0] != '}' {
			return append(fmt.Appendf(nil, `{"from":%q,`, task), fields...)
		}
	}
	whole, err := json.Marshal(struct {
		From    string    `json:"from"`
		Time    time.Time `json:"time"`
		Level   string    `json:"level"`
		Message string    `json:"msg"`
	}{task, time.Now(), "INFO", string(line)})
	if err != nil {
		return line // nothing in it can fail
	}
	return whole
}

// flush writes a last line without a line end.
func (w *lineWriter) flush() {
	if len(w.part) > 0 {
		w.end()
	}
}

// The size of the tail that errors quote.
const (
	tailLines = 5
	tailWidth = 300 // bytes of a line
)

// tail keeps the last lines of a task.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) add(line string) {
	if line = strings.TrimSpace(line); line == "" {
		return
	}
	line = printable.Short(line, tailWidth)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == tailLines {
		t.lines = t.lines[1:]
	}
	t.lines = append(t.lines, line)
}

func (t *tail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.lines...)
}

// colors are the colours of names on a terminal, in the order of tasks: cyan, yellow,
// green, magenta, blue, and their bright variants.
var colors = []int{36, 33, 32, 35, 34, 96, 93, 92, 95, 94}

// prefixes returns the prefix of each task's lines.
func prefixes(names []string, color bool) [][]byte {
	var out [][]byte
	for i, name := range names {
		if color {
			out = append(out, fmt.Appendf(nil, "\x1b[%dm[%s]\x1b[0m ", colors[i%len(colors)], name))
		} else {
			out = append(out, fmt.Appendf(nil, "[%s] ", name))
		}
	}
	return out
}
