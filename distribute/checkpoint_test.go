package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/runconfig"
)

// steps makes some steps from the checkpoint, and saves.
func (y *toy) steps(ctx context.Context, n int) (from int64, losses []float64, err error) {
	if from, err = y.Restore(ctx); err != nil {
		return 0, nil, err
	}
	it, err := y.data.Iterate(ctx)
	if err != nil {
		return 0, nil, err
	}
	for range n {
		batch, err := it.Next(ctx)
		if err != nil {
			return 0, nil, err
		}
		res, err := y.train.Run(ctx, batch)
		if err != nil {
			return 0, nil, err
		}
		losses = append(losses, res.Loss())
	}
	_, err = y.Save(ctx)
	return from, losses, err
}

// TestResume: variables, optimizer state, metric and input continue from a checkpoint, under
// the same strategy and from one strategy to another.
func TestResume(t *testing.T) {
	whole := setups[0].trained(t, t.TempDir(), adam, toyBatch*toyBatches)
	central := setup{"central_storage 3", runconfig.Strategy{Name: "central_storage", Replicas: 3}, 1, 0}
	for _, c := range [][2]setup{{setups[0], setups[0]}, {setups[2], central}, {setups[5], setups[5]}, {setups[0], setups[4]}} {
		t.Run(c[0].name+" then "+c[1].name, func(t *testing.T) {
			dir, at := t.TempDir(), 0
			for i, n := range []int{2, 3} {
				c[i].inCluster(t, dir, func(ctx context.Context, rc runconfig.RunConfig) error {
					s, err := distribute.New(rc, quiet)
					if err != nil {
						return err
					}
					y, err := newToy(s, t, toyBatch*toyBatches, adam())
					if err != nil {
						return errors.Join(err, s.Close(ctx))
					}
					from, losses, err := y.steps(ctx, n)
					if err == nil && from != int64(at) {
						err = fmt.Errorf("restored step %d, expected %d", from, at)
					}
					compareTraces(t, trace{losses: whole.losses[at : at+n]}, trace{losses: losses}, 1e-5)
					seen, serr := y.seen.Result(ctx)
					if v, _ := seen.Scalar(); i == 1 && v != whole.seen {
						t.Errorf("metric %v over all steps, expected %v", v, whole.seen)
					}
					return errors.Join(err, serr, s.Close(ctx))
				})
				at += n
			}
		})
	}
}

// TestOtherFunctions: a checkpoint of other variables is refused by name, and nothing is set.
func TestOtherFunctions(t *testing.T) {
	dir := t.TempDir()
	setups[0].trained(t, dir, adam, toyBatch)
	rc, err := runconfig.New(runconfig.ModelDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	s, err := distribute.New(rc, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	if _, err := s.Function("train", models.Train, ganStep("critic/")); err != nil {
		t.Fatal(err)
	}
	var other *distribute.MismatchError
	if _, err := s.Restore(t.Context()); !errors.As(err, &other) || len(other.Problems) == 0 {
		t.Errorf("got %v, expected a mismatch", err)
	}
}
