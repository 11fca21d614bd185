package saved_test

import (
	"context"
	"fmt"
	"os"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distribute/saved"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/tensor"
)

// A strategy's variables are written to a checkpoint and restored; a missing one is named.
func Example() {
	if err := example(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// w = 7, input at "row 12"
	// [no variable b]
}

func example(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "saved-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := distribute.New(distribute.Config{})
	if err != nil {
		return err
	}
	defer s.Close()
	scalar := graph.TypeOf(tensor.Float32)
	if err := s.Variables().Create("w", scalar, distribute.Whole(tensor.Scalar[float32](7))); err != nil {
		return err
	}
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	to, err := checkpoint.NewSaver(dir, checkpoint.Options{MaxToKeep: 1})
	if err != nil {
		return err
	}
	prefix, err := saved.Write(ctx, to, snap, saved.Extra{Strings: map[string][]byte{saved.InputKey(0): []byte("row 12")}})
	if err != nil {
		return err
	}
	r, err := checkpoint.Open(prefix)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := s.Variables().Set("w", distribute.Whole(tensor.Scalar[float32](0))); err != nil {
		return err
	}
	if _, err := saved.Restore(r, s); err != nil {
		return err
	}
	w, err := s.Variables().Get("w")
	if err != nil {
		return err
	}
	positions, err := saved.Positions(r)
	if err != nil {
		return err
	}
	fmt.Printf("w = %g, input at %q\n", w.Float(0), positions[0])
	if err := s.Variables().Create("b", scalar, distribute.Whole(tensor.Scalar[float32](1))); err != nil {
		return err
	}
	problems, err := saved.Restore(r, s)
	fmt.Println(problems)
	return err
}
