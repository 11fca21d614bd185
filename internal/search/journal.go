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

// ErrOther is wrapped where a journal is of another search.
var ErrOther = errors.New("the journal is of another sweep")

// Journal is a file of lines of JSON: what the search is, each trial that begins, and each result. A line counts once it is whole and on the disk.
type Journal struct {
	file   *os.File
	failed error // nothing is written behind a line that may be cut off
}

// journalLine is a line; one of its fields is set.
type journalLine struct {
	Sweep  string  `json:"sweep,omitempty"` // what the search is
	Begun  *Trial  `json:"begun,omitempty"`
	Result *Result `json:"result,omitempty"`
}

// OpenJournal opens or makes the journal of a search, which identity tells from others, and returns what it holds. The error wraps ErrOther where it
// is of another search.
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

// read locks the file, reads it, and goes to the end of its last whole line: what a crash cut off is written over.
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

// readLines returns the whole lines and their bytes.
func readLines(text []byte) (lines []journalLine, size int64, err error) {
	scan := bufio.NewReader(bytes.NewReader(text))
	for {
		b, err := scan.ReadBytes('\n')
		if err != nil { // the last line is not whole
			return lines, size, nil
		}
		var l journalLine
		if err := json.Unmarshal(b, &l); err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", len(lines)+1, err)
		}
		lines, size = append(lines, l), size+int64(len(b))
	}
}

// Begin writes that a trial begins.
func (j *Journal) Begin(t Trial) error { return j.write(journalLine{Begun: &t}) }

// End writes a result.
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
