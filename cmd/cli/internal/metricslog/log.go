package metricslog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"
)

// Value is a metric.
type Value struct {
	Name   string
	Number float64
}

// Log writes the metric files of a run. It is not safe for concurrent use.
type Log struct {
	now   func() time.Time
	files []*file
}

// file is one of the files of a Log.
type file struct {
	f    *os.File
	form form
	last map[string]int64 // step of the last record, by phase
	size int64            // of the complete lines
}

// Open opens or creates the files of these kinds, csv or jsonl, in a model_dir. An incomplete last line
// is removed. A line that is no record is an error.
func Open(dir string, kinds []string) (*Log, error) {
	l := &Log{now: time.Now}
	for _, kind := range kinds {
		form, ok := forms[kind]
		if !ok {
			return nil, errors.Join(fmt.Errorf("a metric log of kind %q: expected csv or jsonl", kind), l.Close())
		}
		f, err := os.OpenFile(filepath.Join(dir, "metrics."+kind), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.files = append(l.files, &file{f: f, form: form})
		if err := l.files[len(l.files)-1].cut(math.MaxInt64); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

// Resume removes the records after step, since training will repeat these steps.
func (l *Log) Resume(step int64) error {
	var errs []error
	for _, f := range l.files {
		errs = append(errs, f.cut(step))
	}
	return errors.Join(errs...)
}

// Add appends a record of a phase, such as train or eval, unless the phase already has a record of that or a later step.
func (l *Log) Add(phase string, step int64, values []Value) error {
	var errs []error
	for _, f := range l.files {
		errs = append(errs, f.add(record{step, phase, l.now().UTC(), values}))
	}
	return errors.Join(errs...)
}

// Close closes the files.
func (l *Log) Close() error {
	var errs []error
	for _, f := range l.files {
		errs = append(errs, f.f.Close())
	}
	l.files = nil
	return errors.Join(errs...)
}

// cut reads the file, and truncates it before the first record after step or an incomplete line.
func (f *file) cut(step int64) error {
	if _, err := f.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	f.last, f.size = map[string]int64{}, 0
	in := bufio.NewReader(f.f)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if n == 1 && string(line) == f.form.head {
			f.size += int64(len(line))
			continue
		}
		at, phase, err := f.form.parse(line)
		if err != nil {
			return fmt.Errorf("%s, line %d is not of a metric log: %w: move the file away", f.f.Name(), n, err)
		}
		if at > step {
			break
		}
		f.last[phase] = max(f.last[phase], at)
		f.size += int64(len(line))
	}
	if info, err := f.f.Stat(); err != nil || info.Size() == f.size {
		return err
	}
	return f.f.Truncate(f.size)
}

// add appends a record with a single write, so that a killed process leaves all of it or nothing.
func (f *file) add(r record) error {
	if last, ok := f.last[r.phase]; ok && r.step <= last {
		return nil
	}
	var text []byte
	if f.size == 0 {
		text = append(text, f.form.head...)
	}
	text, err := f.form.append(text, r)
	if err != nil {
		return err
	}
	n, err := f.f.Write(text)
	if err != nil {
		return errors.Join(fmt.Errorf("metric log: %w", err), f.f.Truncate(f.size))
	}
	f.size += int64(n)
	f.last[r.phase] = r.step
	return nil
}
