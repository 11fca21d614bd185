package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// endless yields rows until yield returns false.
func endless(estimator.InputFn) iter.Seq2[[]namedValue, error] {
	return func(yield func([]namedValue, error) bool) {
		for yield([]namedValue{{"x", tensor.New(tensor.Float32)}}, nil) {
		}
	}
}

// TestClosedStdout: a reader that closes the pipe, like head, is no error.
func TestClosedStdout(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	a := &app{log: slog.New(slog.DiscardHandler), stdout: w}
	if _, err := a.toStdout(newJSONLines, nil, endless, false); err != nil {
		t.Errorf("got %v", err)
	}
	full, err := os.Open(os.DevNull) // not open for writing
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	a.stdout = full
	if _, err := a.toStdout(newCSVPredictions, nil, endless, false); err == nil {
		t.Error("rows that could not be written are not an error")
	}
}

// TestBrokenInputToStdout: an input that breaks off with the error of a closed pipe is an error.
func TestBrokenInputToStdout(t *testing.T) {
	for _, broken := range []error{syscall.EPIPE, io.ErrClosedPipe} {
		var out strings.Builder
		a := &app{log: slog.New(slog.DiscardHandler), stdout: &out}
		n, err := a.toStdout(newCSVPredictions, nil, func(estimator.InputFn) iter.Seq2[[]namedValue, error] {
			return func(yield func([]namedValue, error) bool) {
				_ = yield([]namedValue{{"x", tensor.New(tensor.Float32)}}, nil) && yield(nil, fmt.Errorf("read the input: %w", broken))
			}
		}, false)
		if !errors.Is(err, broken) || n != 1 || out.String() != "x\n0\n" {
			t.Errorf("%v: got %v after %d predictions, written %q", broken, err, n, out.String())
		}
	}
}

// TestFlushing: output is flushed before waiting for each batch, and a failed flush ends the pass.
func TestFlushing(t *testing.T) {
	ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, []float32{1, 2, 3}))
	if err != nil {
		t.Fatal(err)
	}
	flushed, broken := 0, errors.New("broken")
	fn := flushing(estimator.InputFunc(func(context.Context, inputs.Context) (inputs.Dataset, error) {
		return inputs.Pipe(ds, inputs.Batch(1, false)), nil
	}), func() error {
		if flushed++; flushed == 3 {
			return broken
		}
		return nil
	})
	got, err := fn.Input(t.Context(), inputs.Context{})
	if err != nil {
		t.Fatal(err)
	}
	it, err := got.Iterate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	for range 2 {
		rec, err := it.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rec.Release()
	}
	if _, err := it.Next(t.Context()); !errors.Is(err, broken) || flushed != 3 {
		t.Errorf("got %v after %d calls", err, flushed)
	}
}
