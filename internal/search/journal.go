package search

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goestimator/goestimator/internal/platform/filelock"
)

// ErrOther is wrapped by the error for the journal of another search.
var ErrOther = errors.New("the journal is of another sweep")

// Journal is a file of JSON lines: the identity of the search, each trial that begins, and each result. A line counts once it is completely
// on disk.
type Journal struct {
	file   *os.File
	failed error // nothing is written after a line that may be cut off
}

// journalLine is a line; one of its fields is set.
type journalLine struct {
	Sweep  string  `json:"sweep,omitempty"` // the identity of the search
	Begun  *Trial  `json:"begun,omitempty"`
	Result *Result `json:"result,omitempty"`
}

// OpenJournal opens or creates the journal of the search with that identity, and returns its content. The error wraps ErrOther if the
// journal belongs to another search.
func OpenJournal(path, identity string) (j *Journal, results []Result, begun []Trial, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, nil, err
	}
	j = &Journal{file: f}
	results, begun, err = j.read(identity)
	if err != nil {
		return nil, nil, nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return j, results, begun, nil
}

// read locks the file, reads it, and seeks to the end of its last complete line: a line that a crash cut off is overwritten.
func (j *Journal) read(identity string) (results []Result, begun []Trial, err error) {
	if err := filelock.Try(j.file); err != nil {
		return nil, nil, err
	}
	old, err := io.ReadAll(j.file)
	if err != nil {
		return nil, nil, err
	}
	lines, size, err := readLines(old)
	if err != nil {
		return nil, nil, err
	}
	for i, l := range lines {
		switch {
		case i == 0 && l.Sweep != identity:
			return nil, nil, ErrOther
		case l.Result != nil:
			results = append(results, *l.Result)
		case l.Begun != nil:
			begun = append(begun, *l.Begun)
		}
	}
	if err := j.file.Truncate(size); err != nil {
		return nil, nil, err
	}
	if _, err := j.file.Seek(size, io.SeekStart); err != nil {
		return nil, nil, err
	}
	if len(lines) == 0 {
		err = j.write(journalLine{Sweep: identity})
	}
	return results, begun, err
}

// readLines returns the complete lines and their size in bytes.
func readLines(text []byte) (lines []journalLine, size int64, err error) {
	scan := bufio.NewReader(bytes.NewReader(text))
	for {
		b, err := scan.ReadBytes('\n')
		if err != nil { // the last line is incomplete
			return lines, size, nil
		}
		var l journalLine
		if err := json.Unmarshal(b, &l); err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", len(lines)+1, err)
		}
		lines, size = append(lines, l), size+int64(len(b))
	}
}

// Begin records the beginning of a trial.
func (j *Journal) Begin(t Trial) error { return j.write(journalLine{Begun: &t}) }

// End records a result.
func (j *Journal) End(r Result) error { return j.write(journalLine{Result: &r}) }

func (j *Journal) write(l journalLine) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if j.failed != nil {
		return j.failed
	}
	if _, j.failed = j.file.Write(append(b, '\n')); j.failed == nil {
		j.failed = j.file.Sync()
	}
	return j.failed
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }
