package canned

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
)

// adaptedKey is the key of adapted columns in checkpoints.
const adaptedKey = "adapted_columns"

// errNotKept is wrapped if a checkpoint does not have what columns took from data.
var errNotKept = errors.New("its model was trained without columns that are adapted to data")

// Adaptation fills in declared columns that take something from data (feature.Adapts): from a checkpoint if there is
// one, else from the training data. So the data is read once, before training, and a feature is treated the same in
// training, evaluation, prediction and exports.
type Adaptation struct {
	// ModelDir is the folder whose newest checkpoint is looked at first. Empty: none.
	ModelDir string
	// Checkpoint is a prefix to use in place of the newest checkpoint in ModelDir. Empty: none.
	Checkpoint string
	// WarmStart is a checkpoint prefix or a folder to use while ModelDir has no checkpoint. Columns that it does not have, or
	// that are declared differently there, are adapted to the data. Empty: none.
	WarmStart string
	// Data opens the training data for one pass. It must not have rows that training does not see.
	Data func(ctx context.Context) (inputs.Dataset, error)
	// Identity identifies the source of the data; the tasks of a cluster compare it.
	Identity string
	// Share says that several tasks train: the chief adapts the columns and writes a file to ModelDir, which all tasks must
	// share. Follow says that this task is not the chief: it waits for the file, or for a checkpoint.
	Share, Follow bool
	// Log reports what is adapted or waited for. nil: slog's default.
	Log *slog.Logger
}

// Columns returns the declared columns, and the option with which an Estimator stores what they took from
// data in its checkpoints.
func (a Adaptation) Columns(ctx context.Context, specs []feature.Spec) (*feature.Set, estimator.Option, error) {
	none := func(*estimator.Estimator) error { return nil }
	if !feature.Adapts(specs) {
		set, err := feature.Build(specs)
		return set, none, err
	}
	got, err := a.state(ctx, specs)
	if err != nil {
		return nil, none, err
	}
	filled, err := got.Fill(specs)
	if err != nil {
		return nil, none, err
	}
	set, err := feature.Build(filled)
	if err != nil {
		return nil, none, err
	}
	kept, err := got.AppendBinary(nil)
	return set, estimator.WithCheckpointExtra(adaptedKey, kept), err
}

// state returns what the columns take from data.
func (a Adaptation) state(ctx context.Context, specs []feature.Spec) (feature.Adapted, error) {
	got, err := a.trained(ctx)
	if a.Checkpoint != "" || !errors.Is(err, estimator.ErrNoCheckpoint) {
		return got, err
	}
	if a.WarmStart == "" {
		return a.shared(ctx, specs, got)
	}
	switch got, err = adaptedAt(ctx, a.WarmStart); {
	case errors.Is(err, estimator.ErrNoCheckpoint), errors.Is(err, errNotKept):
		a.log().Info("the warm start does not say what feature columns took from data: they are adapted anew", "from", a.WarmStart)
	case err != nil:
		return got, err
	case !feature.Adapts(got.FillKnown(specs)):
		return got, nil
	default:
		a.log().Info("the warm start does not know some feature columns: they are adapted anew", "from", a.WarmStart)
	}
	return a.shared(ctx, specs, got)
}

// trained returns what the columns of an already trained model took. If there is no such model, the error wraps
// estimator.ErrNoCheckpoint.
func (a Adaptation) trained(ctx context.Context) (feature.Adapted, error) {
	place := cmp.Or(a.Checkpoint, a.ModelDir)
	if place == "" {
		return feature.Adapted{}, estimator.ErrNoCheckpoint
	}
	got, err := adaptedAt(ctx, place)
	if errors.Is(err, errNotKept) {
		err = fmt.Errorf("%w: declare the columns as they were then, or train in a new model_dir", err)
	}
	return got, err
}

// adaptedAt reads what columns took from data from a checkpoint.
func adaptedAt(ctx context.Context, place string) (got feature.Adapted, err error) {
	kept, ok, err := estimator.CheckpointExtra(ctx, place, adaptedKey)
	if err == nil && !ok {
		err = fmt.Errorf("checkpoint %s: %w", place, errNotKept)
	}
	if err == nil {
		err = got.UnmarshalBinary(kept)
	}
	return got, err
}

// adapt adapts the columns that known does not know to the training data.
func (a Adaptation) adapt(ctx context.Context, specs []feature.Spec, known feature.Adapted) (feature.Adapted, error) {
	if a.Data == nil {
		return feature.Adapted{}, errors.New("columns are adapted to the training data, and none are given: set train.input")
	}
	rest := known.FillKnown(specs)
	ds, err := a.Data(ctx)
	if err != nil {
		return feature.Adapted{}, err
	}
	a.log().Info("adapting feature columns to the training data")
	began := time.Now()
	got, err := feature.Adapt(ctx, rest, counted{ds, a.log()})
	if err != nil {
		return got, err
	}
	a.log().Info("adapted feature columns to the training data", "columns", len(got.Columns), "rows", got.Rows, "secs", time.Since(began).Seconds())
	a.warn(got)
	for i, s := range specs {
		if !feature.Adapts(rest[i:i+1]) && feature.Adapts(specs[i:i+1]) {
			got.Columns = append(got.Columns, feature.AdaptedColumn{Declared: s, Filled: rest[i]})
		}
	}
	return got, nil
}

// largeVocabulary is the number of values above which a vocabulary without a size logs a warning.
const largeVocabulary = 100_000

// warn logs what a user may not expect.
func (a Adaptation) warn(got feature.Adapted) {
	for _, c := range got.Columns {
		key := c.Declared.Key
		if c.Approximate {
			a.log().Warn("a feature has more different values than are counted: rare ones may be lost, and counts are too small; hash_bucket needs no counts", "key", key)
		}
		if n := len(c.Filled.Vocabulary); c.Declared.Adapt && c.Declared.Size == 0 && n > largeVocabulary {
			a.log().Warn("an adapted vocabulary is large, and every checkpoint holds it: set size or min_count", "key", key, "values", n)
		}
	}
}

func (a Adaptation) log() *slog.Logger {
	if a.Log == nil {
		return slog.Default()
	}
	return a.Log
}
