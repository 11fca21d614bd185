package cli

import (
	"context"
	"io"
	"iter"
	"os/signal"
	"strings"
	"syscall"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
)

// stdoutFormats make the writers for standard output, by the extension in --output -.EXT.
var stdoutFormats = map[string]func(w io.Writer) flushingWriter{".jsonl": newJSONLines, ".json": newJSONLines, ".csv": newCSVPredictions}

// flushingWriter is a predictionWriter with a buffer that can be flushed.
type flushingWriter interface {
	predictionWriter
	Flush() error
}

// stdoutFormat is the format of standard output; nil if --output is a file.
func stdoutFormat(output string) func(w io.Writer) flushingWriter {
	switch ext, ok := strings.CutPrefix(output, inputs.StdinFile); {
	case output == "", output == inputs.StdinFile:
		return newJSONLines
	case ok:
		return stdoutFormats[ext]
	}
	return nil
}

// predictionsOf yields the predictions for an input.
type predictionsOf func(input estimator.InputFn) iter.Seq2[[]namedValue, error]

// toStdout writes predictions to standard output. If the input is live, it flushes them before it waits for more rows. A reader that
// closes the pipe, like head, ends the command without error; a broken input is an error.
func (a *app) toStdout(format func(w io.Writer) flushingWriter, input estimator.InputFn, rows predictionsOf, live bool) (int64, error) {
	signal.Ignore(syscall.SIGPIPE) // instead, the write fails
	defer signal.Reset(syscall.SIGPIPE)
	out := &pipeEnd{Writer: a.stdout}
	w := format(out)
	if live {
		input = flushing(input, w.Flush)
	}
	n, err := writePredictions(w, rows(input))
	if out.closed {
		a.log.Debug("standard output was closed before all predictions were written", "predictions", n)
		return n, nil
	}
	return n, err
}

// pipeEnd is a writer that notes whether the reader has closed the pipe.
type pipeEnd struct {
	io.Writer
	closed bool
}

// Write writes b, and notes a closed pipe.
func (p *pipeEnd) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	if closedPipe(err) {
		p.closed = true
	}
	return n, err
}

// flushing is an input_fn that calls flush before it reads each batch.
func flushing(fn estimator.InputFn, flush func() error) estimator.InputFn {
	return estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := fn.Input(ctx, ic)
		if err != nil {
			return nil, err
		}
		return flushingDataset{ds, flush}, nil
	})
}

type flushingDataset struct {
	inputs.Dataset
	flush func() error
}

// Iterate starts a pass.
func (d flushingDataset) Iterate(ctx context.Context) (inputs.Iterator, error) {
	it, err := d.Dataset.Iterate(ctx)
	return flushingIterator{it, d.flush}, err
}

type flushingIterator struct {
	inputs.Iterator
	flush func() error
}

// Next returns the next batch.
func (it flushingIterator) Next(ctx context.Context) (arrow.Record, error) {
	if err := it.flush(); err != nil {
		return nil, err
	}
	return it.Iterator.Next(ctx)
}
