package canned

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/waiting"
)

// adaptedKey is the key of adapted columns in checkpoints.
const adaptedKey = "adapted_columns"

// adaptedFile is the file in model_dir through which the chief of a cluster tells the other tasks.
const adaptedFile = "adapted_columns.json"

// Adaptation says where declared columns that take something from data (feature.Adapts) have it from: a checkpoint,
// where there is one, else the training data. So the data are read once, before training, and what training, evaluation,
// prediction and exports do to a feature is the same.
type Adaptation struct {
	// ModelDir is the folder whose newest checkpoint counts first. Empty: none.
	ModelDir string
	// Checkpoint is a prefix that counts in its place. Empty: none.
	Checkpoint string
	// WarmStart is a checkpoint prefix or a folder that counts where ModelDir holds no checkpoint yet. Empty: none.
	WarmStart string
	// Data opens the training data, once, in this order: rows that training does not see must not be among them.
	Data func(ctx context.Context) (inputs.Dataset, error)
	// Identity tells one source of data from another; the tasks of a cluster compare it.
	Identity string
	// Share says that several tasks train: the chief adapts the columns and writes a file to ModelDir, which the tasks must
	// share. Follow says that this task is another one: it waits for the file.
	Share, Follow bool
	// Log says what is adapted or waited for. nil: slog's default.
	Log *slog.Logger
}

// Columns returns declared columns, and the option by which an Estimator keeps what they took from data in
// its checkpoints.
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

// state is what the columns take from data.
func (a Adaptation) state(ctx context.Context, specs []feature.Spec) (feature.Adapted, error) {
	places := []string{a.ModelDir, a.WarmStart}
	if a.Checkpoint != "" {
		places = []string{a.Checkpoint}
	}
	for _, place := range places {
		var got feature.Adapted
		if place == "" {
			continue
		}
		kept, ok, err := estimator.CheckpointExtra(ctx, place, adaptedKey)
		if err == nil && ok {
			err = got.UnmarshalBinary(kept)
		}
		if err != nil || ok {
			return got, err
		}
	}
	if a.Checkpoint != "" {
		return feature.Adapted{}, fmt.Errorf("checkpoint %s was trained without columns that are adapted to data: declare the columns as they were then", a.Checkpoint)
	}
	return a.shared(ctx, specs)
}

// sharedState is the content of adaptedFile.
type sharedState struct {
	Of      uint64          `json:"of"`
	Adapted feature.Adapted `json:"adapted"`
}

// shared adapts the columns, or takes what the chief wrote.
func (a Adaptation) shared(ctx context.Context, specs []feature.Spec) (feature.Adapted, error) {
	if !a.Share || a.ModelDir == "" {
		return a.adapt(ctx, specs)
	}
	of, err := a.fingerprint(specs)
	if err != nil {
		return feature.Adapted{}, err
	}
	if a.Follow {
		return a.await(ctx, of)
	}
	// A chief that was started again keeps what other tasks may have read.
	path := filepath.Join(a.ModelDir, adaptedFile)
	if s, err := readShared(path); err == nil && s.Of == of {
		return s.Adapted, nil
	}
	got, err := a.adapt(ctx, specs)
	if err != nil {
		return got, err
	}
	text, err := json.Marshal(sharedState{of, got})
	if err == nil {
		err = atomicfile.MkdirAll(atomicfile.OS{}, a.ModelDir)
	}
	if err == nil {
		err = atomicfile.WriteFile(atomicfile.OS{}, path, text)
	}
	return got, err
}

// adapt adapts the columns to the training data.
func (a Adaptation) adapt(ctx context.Context, specs []feature.Spec) (feature.Adapted, error) {
	if a.Data == nil {
		return feature.Adapted{}, errors.New("columns are adapted to the training data, and none are given: set train.input")
	}
	ds, err := a.Data(ctx)
	if err != nil {
		return feature.Adapted{}, err
	}
	began := time.Now()
	got, err := feature.Adapt(ctx, specs, ds)
	if err != nil {
		return got, err
	}
	a.log().Info("adapted feature columns to the training data", "columns", len(got.Columns), "rows", got.Rows, "secs", time.Since(began).Seconds())
	return got, nil
}

// fingerprint tells what is adapted to which data.
func (a Adaptation) fingerprint(specs []feature.Spec) (uint64, error) {
	text, err := json.Marshal(specs)
	if err != nil {
		return 0, fmt.Errorf("feature columns: %w", err)
	}
	h := fnv.New64a()
	h.Write(text)
	h.Write([]byte(a.Identity))
	return h.Sum64(), nil
}

// readShared reads the chief's file.
func readShared(path string) (s sharedState, err error) {
	text, err := atomicfile.ReadFile(atomicfile.OS{}, path)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// await reads the chief's file as soon as it is there.
func (a Adaptation) await(ctx context.Context, of uint64) (feature.Adapted, error) {
	path := filepath.Join(a.ModelDir, adaptedFile)
	wait := waiting.Begin(time.Now())
	for {
		s, err := readShared(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s.Adapted, err
		}
		if err == nil && s.Of == of {
			return s.Adapted, nil
		}
		wait.Report(a.log(), func() []waiting.Target {
			return []waiting.Target{{Name: "the chief to adapt feature columns", Reason: path + " is not of this config yet; model_dir must be a folder that all tasks share"}}
		})
		select {
		case <-ctx.Done():
			return feature.Adapted{}, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (a Adaptation) log() *slog.Logger {
	if a.Log == nil {
		return slog.Default()
	}
	return a.Log
}
