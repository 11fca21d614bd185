package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// numbers is a data set of the rows first, first+1, ...
func numbers(t *testing.T, first, rows int) inputs.Dataset {
	t.Helper()
	x := make([]float32, 3*rows)
	for i := range rows {
		x[3*i] = float32(first + i)
	}
	ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, x, 3), inputs.Slice("y", inputs.Label, make([]float32, rows)))
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// seen is which rows each Input of each task delivered.
type seen struct {
	mu   sync.Mutex
	rows [3][]int
}

func (s *seen) add(input int, b distribute.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, part := range b {
		x := tensor.Values[float32](part["x"])
		for i := 0; i < len(x); i += 3 {
			s.rows[input] = append(s.rows[input], int(x[i]))
		}
	}
}

// alternate makes steps, each on a batch of the first two of three Inputs, which have different lengths; the third is for evaluation.
func alternate(ctx context.Context, t *testing.T, rc runconfig.RunConfig, steps int, to *seen) error {
	s, f, _, err := counting(rc)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close(ctx) }()
	var all []*distribute.Input
	for i, n := range []int{16, 24, 8} {
		in, err := s.Distribute(numbers(t, 100*i, n), 4, distribute.ShardRows)
		if err != nil {
			return err
		}
		all = append(all, in)
	}
	if _, err = s.Restore(ctx); err != nil {
		return err
	}
	its := make([]*distribute.Iterator, 2)
	for i := range its {
		if its[i], err = all[i].Iterate(ctx); err != nil {
			return err
		}
	}
	for range steps {
		for i, it := range its {
			b, err := it.Next(ctx)
			if err != nil {
				return err
			}
			to.add(i, b)
			if _, err := f.Run(ctx, b); err != nil {
				return err
			}
		}
	}
	it, err := all[2].Iterate(ctx)
	for err == nil {
		var b distribute.Batch
		if b, err = it.Next(ctx); err == nil {
			to.add(2, b)
		}
	}
	if !errors.Is(err, io.EOF) {
		return fmt.Errorf("the third input: %w", err)
	}
	_, err = s.Save(ctx)
	return err
}

// TestPositionsOfAllInputs: after Restore each data set continues after the rows that its own pass had delivered. A data set
// whose pass was over begins again.
func TestPositionsOfAllInputs(t *testing.T) {
	for _, c := range []setup{setups[0], setups[2], setups[5]} {
		t.Run(c.name, func(t *testing.T) {
			if c.strategy.Replicas == 3 {
				c.strategy.Replicas = 2
			}
			dir, got := t.TempDir(), seen{}
			for range 2 {
				c.inCluster(t, dir, func(ctx context.Context, rc runconfig.RunConfig) error {
					return alternate(ctx, t, rc, 2, &got)
				})
			}
			for i, want := range [][]int{until(0, 16), until(100, 16)} {
				slices.Sort(got.rows[i])
				if !slices.Equal(got.rows[i], want) {
					t.Errorf("input %d: rows %v, expected each of %v once", i, got.rows[i], want)
				}
			}
			if n := len(got.rows[2]); n != 16 {
				t.Errorf("the input for evaluation delivered %d rows in two passes, expected 16", n)
			}
		})
	}
}

func until(first, n int) (all []int) {
	for i := range n {
		all = append(all, first+i)
	}
	return all
}

// TestPositionOfOtherReplicas: a position for other batches is an error once; then the data begins again.
func TestPositionOfOtherReplicas(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	begin := func(strategy runconfig.Strategy) (s *distribute.Strategy, f *distribute.Function, in *distribute.Input) {
		t.Helper()
		rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(dir), runconfig.TrainDistribute(strategy))
		if err == nil {
			s, f, _, err = counting(rc)
		}
		if err == nil {
			in, err = s.Distribute(numbers(t, 0, 16), 4, distribute.ShardRows)
		}
		if err == nil {
			_, err = s.Restore(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		return s, f, in
	}
	step := func(it *distribute.Iterator, err error, f *distribute.Function) (b distribute.Batch) {
		t.Helper()
		if err == nil {
			b, err = it.Next(ctx)
		}
		if err == nil {
			_, err = f.Run(ctx, b)
		}
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	s, f, in := begin(runconfig.Strategy{Name: "default"})
	it, err := in.Iterate(ctx)
	step(it, err, f)
	if _, err := s.Save(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	s, f, in = begin(runconfig.Strategy{Name: "mirrored", Replicas: 2, Device: "/cpu:0"})
	defer s.Close(ctx)
	if _, err := in.Iterate(ctx); !errors.Is(err, inputs.ErrStateMismatch) {
		t.Errorf("%v, expected ErrStateMismatch", err)
	}
	it, err = in.Iterate(ctx)
	if got := tensor.Values[float32](step(it, err, f)[0]["x"])[0]; got != 0 || s.GlobalStep() != 2 {
		t.Errorf("step %d begins with row %v, expected step 2 with row 0", s.GlobalStep(), got)
	}
}

// TestPositionAfterPass: a checkpoint saved after io.EOF begins the next pass, even if the last step has left a position
// on the parameter servers.
func TestPositionAfterPass(t *testing.T) {
	for _, c := range []setup{setups[0], {"parameter_server", runconfig.Strategy{Name: "parameter_server"}, 1, 2}} {
		t.Run(c.name, func(t *testing.T) {
			dir, got := t.TempDir(), seen{}
			for pass := range 2 {
				c.inCluster(t, dir, func(ctx context.Context, rc runconfig.RunConfig) error {
					return wholePass(ctx, t, rc, &got)
				})
				if n := len(got.rows[0]); n != 16*(pass+1) {
					t.Errorf("%d rows after pass %d, expected 16 in each", n, pass)
				}
			}
		})
	}
}

// wholePass restores, makes a step on each batch of an Input, and saves.
func wholePass(ctx context.Context, t *testing.T, rc runconfig.RunConfig, to *seen) error {
	s, f, _, err := counting(rc)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close(ctx) }()
	in, err := s.Distribute(numbers(t, 0, 16), 4, distribute.ShardRows)
	if err != nil {
		return err
	}
	if _, err := s.Restore(ctx); err != nil {
		return err
	}
	it, err := in.Iterate(ctx)
	for err == nil {
		var b distribute.Batch
		if b, err = it.Next(ctx); err == nil {
			to.add(0, b)
			_, err = f.Run(ctx, b)
		}
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	_, err = s.Save(ctx)
	return err
}
