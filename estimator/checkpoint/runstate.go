package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/goestimator/goestimator/internal/atomicfile"
)

// RunStateFile is the name of the file that holds a RunState.
const RunStateFile = "state.json"

// RunState is what a run knows of its own past in wall-clock terms. It lives
// beside the checkpoints, never in them, so that they depend on the seed alone.
type RunState struct {
	TrainSeconds float64 `json:"train_seconds"` // spent in training, over all restarts
}

// LoadRunState reads a model_dir's RunState; the zero one where there is no file
// or it cannot be parsed, as a time limit that starts anew harms less than a run
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

// Save replaces the file, durably.
func (s RunState) Save(fsys atomicfile.FS, dir string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("run state: %w", err)
	}
	return atomicfile.WriteFile(fsys, filepath.Join(dir, RunStateFile), append(text, '\n'))
}
