package canned

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/waiting"
)

// adaptedFile is the file in model_dir by which the chief of a cluster passes adapted columns to the other tasks.
const adaptedFile = "adapted_columns.json"

// failureStands is how long other tasks wait after a failure of the chief before they give up: it may be started again.
const failureStands = 30 * time.Second

// sharedState is the content of adaptedFile.
type sharedState struct {
	Of      []string        `json:"declared"` // what was adapted, and to what
	Failure string          `json:"failure,omitempty"`
	Adapted feature.Adapted `json:"adapted"`
}

// differs names a difference from other, "" for none.
func (s sharedState) differs(other []string) string {
	for _, line := range s.Of {
		if !slices.Contains(other, line) {
			return line
		}
	}
	for _, line := range other {
		if !slices.Contains(s.Of, line) {
			return "no " + line
		}
	}
	return ""
}

func (a Adaptation) path() string { return filepath.Join(a.ModelDir, adaptedFile) }

// shared adapts the columns that known does not know, or takes what the chief wrote.
func (a Adaptation) shared(ctx context.Context, specs []feature.Spec, known feature.Adapted) (feature.Adapted, error) {
	if !a.Share || a.ModelDir == "" {
		return a.adapt(ctx, specs, known)
	}
	of := append(declarations(specs), "input "+a.Identity)
	if a.Follow {
		return a.await(ctx, of)
	}
	// After a restart the chief keeps what other tasks may have read.
	s, err := readShared(a.path())
	if err == nil && s.Failure == "" && s.differs(of) == "" {
		a.log().Info("took what feature columns have from data from the file of an earlier start: remove it where the data have changed", "file", a.path())
		return s.Adapted, nil
	}
	if err := (sharedState{}).write(a.path()); err != nil {
		return feature.Adapted{}, err
	}
	s = sharedState{Of: of}
	if s.Adapted, err = a.adapt(ctx, specs, known); err != nil {
		if ctx.Err() == nil {
			err = errors.Join(err, sharedState{Of: of, Failure: err.Error()}.write(a.path()))
		}
		return s.Adapted, err
	}
	return s.Adapted, s.write(a.path())
}

// write writes the chief's file.
func (s sharedState) write(path string) error {
	text, err := json.Marshal(s)
	if err == nil {
		err = atomicfile.MkdirAll(atomicfile.OS{}, filepath.Dir(path))
	}
	if err == nil {
		err = atomicfile.WriteFile(atomicfile.OS{}, path, text)
	}
	return err
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

// await reads the chief's file, or one of the chief's checkpoints, as soon as there is one.
func (a Adaptation) await(ctx context.Context, of []string) (feature.Adapted, error) {
	wait := waiting.Begin(time.Now())
	failed := time.Time{} // when the file first reported a failure
	for {
		s, err := readShared(a.path())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s.Adapted, err
		}
		if err == nil && s.Failure == "" && s.differs(of) == "" {
			return s.Adapted, nil
		}
		if got, err := a.trained(ctx); !errors.Is(err, estimator.ErrNoCheckpoint) {
			return got, err
		}
		switch {
		case s.Failure == "":
			failed = time.Time{}
		case failed.IsZero():
			failed = time.Now()
		case time.Since(failed) >= failureStands:
			return s.Adapted, fmt.Errorf("the chief could not adapt feature columns: %s", s.Failure)
		}
		wait.Report(a.log(), func() []waiting.Target {
			return []waiting.Target{{Name: "the chief to adapt feature columns", Reason: s.reason(a.path(), of)}}
		})
		select {
		case <-ctx.Done():
			return feature.Adapted{}, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// reason says why a task still waits for the file with the content s.
func (s sharedState) reason(path string, of []string) string {
	switch differs := s.differs(of); {
	case s.Failure != "":
		return "it failed: " + s.Failure
	case len(s.Of) > 0:
		return fmt.Sprintf("%s is of another config: it has %s", path, differs)
	}
	return path + " is not written yet; model_dir must be a folder that all tasks share"
}

// declarations returns the texts of the columns that take something from data, and of the columns that they may use.
func declarations(specs []feature.Spec) []string {
	var out []string
	for i, s := range specs {
		if s.Type != "numeric" && !feature.Adapts(specs[i:i+1]) {
			continue
		}
		standIn := "none" // a pointer
		if s.Default != nil {
			standIn = fmt.Sprint(*s.Default)
			s.Default = nil
		}
		out = append(out, fmt.Sprintf("column %+v, default %s", s, standIn))
	}
	return out
}
