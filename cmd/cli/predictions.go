package cli

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/failpoint"
	"github.com/goestimator/goestimator/internal/platform/filelock"
	"github.com/goestimator/goestimator/tensor"
)

// predictionWriter writes rows in some format; all rows have the names of the first. Close flushes
// the writer, but does not close the file below.
type predictionWriter interface {
	Write(row []namedValue) error
	Close() error
}

// namedValue is a value of a row of the output.
type namedValue struct {
	name  string
	value *tensor.Tensor
}

// outputFormats make the writers for files, by extension.
var outputFormats = map[string]func(w io.WriteSeeker) predictionWriter{
	".jsonl":   func(w io.WriteSeeker) predictionWriter { return newJSONLines(w) },
	".json":    func(w io.WriteSeeker) predictionWriter { return newJSONLines(w) },
	".csv":     func(w io.WriteSeeker) predictionWriter { return newCSVPredictions(w) },
	".arrow":   newArrowPredictions,
	".parquet": newParquetPredictions,
}

// checkOutput fails for a file name with an unknown extension.
func checkOutput(path string) error {
	if path == inputs.StdinFile {
		return nil
	}
	if ext, ok := strings.CutPrefix(path, inputs.StdinFile); ok && outputFormats[ext] != nil && stdoutFormats[ext] == nil {
		return fmt.Errorf("--output %s: standard output takes %s: name a file", path, strings.Join(sortedNames(stdoutFormats), ", "))
	}
	if _, ok := outputFormats[filepath.Ext(inputs.BaseName(path))]; path != "" && !ok {
		return fmt.Errorf("--output %s: expected the extension %s", path, strings.Join(sortedNames(outputFormats), ", "))
	}
	return nil
}

// fpRow is reached after each row.
var fpRow = failpoint.New("cli/row-predicted")

// writePredictions writes rows and returns how many there were.
func writePredictions(w predictionWriter, rows iter.Seq2[[]namedValue, error]) (int64, error) {
	n := int64(0)
	for row, err := range rows {
		if err == nil {
			err = w.Write(row)
		}
		if err == nil {
			err = fpRow.Here()
		}
		if err != nil {
			return n, errors.Join(err, w.Close())
		}
		n++
	}
	return n, w.Close()
}

// writeFile calls write with a writer for the format of path's extension.
// The file appears under its name only after everything succeeded.
func writeFile(path string, write func(predictionWriter) (int64, error)) (n int64, err error) {
	atomicfile.RemoveAbandoned(path, 0)
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+unfinished+"*")
	if err != nil {
		return 0, fmt.Errorf("--output: %w", err)
	}
	if err := filelock.Try(f); err != nil {
		return 0, errors.Join(fmt.Errorf("--output: %s: %w", f.Name(), err), f.Close())
	}
	defer os.Remove(f.Name()) // fails after the rename, as intended
	// Columnar writers would close w if they saw that it is a file.
	n, err = write(outputFormats[filepath.Ext(path)](struct{ io.WriteSeeker }{f}))
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return n, err
}

// unfinished follows the name of a file while it is being written; atomicfile.RemoveAbandoned looks for it.
const unfinished = ".tmp-"
