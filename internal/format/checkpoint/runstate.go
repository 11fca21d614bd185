package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// RunStateFile is the name of the file that holds a RunState.
const RunStateFile = "state.json"

// RunState is what a run records about its past in wall-clock terms. It is stored
// beside the checkpoints, not in them, so that they depend only on the seed.
type RunState struct {
	TrainSeconds float64   `json:"train_seconds"` // spent in training, over all restarts
	Finished     *Finished `json:"finished,omitempty"`
	Failed       *Failed   `json:"failed,omitempty"`
	Failures     *Failures `json:"failures,omitempty"`
	Session      string    `json:"session,omitempty"` // session of the parameter servers
	Best         *Best     `json:"best,omitempty"`
	// InputEnded is the step of the checkpoint after the last row of the input, if the latest training ended there; else 0.
	InputEnded int64 `json:"input_ended,omitempty"`
	// Input describes what the chief of a cluster reads, for the other tasks to compare; "" if it reads no files.
	Input string `json:"input,omitempty"`
}

// ReasonMaxSteps is the Finished.Reason of a training that made all requested steps.
const ReasonMaxSteps = "max_steps"

// Finished tells the other tasks that training has finished.
type Finished struct {
	GlobalStep int64     `json:"global_step"`
	Reason     string    `json:"reason"` // "max_steps", "early_stopping", ...
	At         time.Time `json:"at"`     // by the chief's clock
}

// Failed tells the other tasks that training has failed for good.
type Failed struct {
	Code   int       `json:"code"` // the chief's exit code
	Reason string    `json:"reason"`
	At     time.Time `json:"at"` // by the chief's clock
}

// Failures counts the exits of the chief since its last checkpoint that it chose
// itself, in order to be restarted.
type Failures struct {
	GlobalStep int64    `json:"global_step"` // of that checkpoint, -1 if there is none
	Reasons    []string `json:"reasons"`
}

// Best is the best evaluation, in a training that ends with its weights.
type Best struct {
	Metric         string  `json:"metric"`
	HigherIsBetter bool    `json:"higher_is_better,omitempty"`
	Value          float64 `json:"value"`
	GlobalStep     int64   `json:"global_step"`
	// Restored is the step of the checkpoint that has these weights instead of its own, 0 if there is none.
	Restored int64 `json:"restored,omitempty"`
	// Evaluated is Restored once the evaluation of that step used these weights.
	Evaluated int64 `json:"evaluated,omitempty"`
}

// LoadRunState reads a model_dir's RunState. It returns the zero RunState if there is no file
// or it cannot be parsed: a time limit that starts over harms less than a run
// that cannot start.
func LoadRunState(fsys atomicfile.FS, dir string) (RunState, error) {
	var s RunState
	text, err := atomicfile.ReadFile(fsys, filepath.Join(dir, RunStateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return RunState{}, nil
	}
	return s, nil
}

// UpdateRunState changes a model_dir's RunState. Only the chief calls it.
func UpdateRunState(fsys atomicfile.FS, dir string, change func(*RunState)) error {
	s, err := LoadRunState(fsys, dir)
	if err != nil {
		return err
	}
	change(&s)
	return s.save(fsys, dir)
}

// save durably replaces the file.
func (s RunState) save(fsys atomicfile.FS, dir string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("run state: %w", err)
	}
	return atomicfile.WriteFile(fsys, filepath.Join(dir, RunStateFile), append(text, '\n'))
}
