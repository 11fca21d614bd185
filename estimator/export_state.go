package estimator

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// exportStateFile is in the folder of an exporter's exports.
const exportStateFile = "exporter.json"

// exportState is the state that an exporter keeps between evaluations and runs.
type exportState struct {
	Dir  string `json:"dir,omitempty"` // the newest export, "" for none
	Step int64  `json:"step"`          // step of the newest export; -1: unknown
	// Restored says that the export has the weights of the best evaluation instead of the step's own.
	Restored bool     `json:"restored,omitempty"`
	Best     *float64 `json:"best,omitempty"` // the value of its metric
	Rule     string   `json:"rule,omitempty"` // how the metric was chosen, such as "lowest loss"
	Seen     int64    `json:"seen"`           // step of the last evaluation that was handled
	Final    bool     `json:"final"`          // that evaluation was the last one of a training
}

// readExportState reads the state in base. If there is none, or if it does not name the
// newest export there, it names that export, of an unknown step.
func readExportState(base string) (exportState, error) {
	st := exportState{Step: -1, Seen: -1}
	path := filepath.Join(base, exportStateFile)
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return st, err
	}
	if err == nil {
		if err := json.Unmarshal(data, &st); err != nil {
			return st, fmt.Errorf("%s: %w: remove the file to start afresh", path, err)
		}
	}
	names, err := exports(base)
	if err != nil {
		return st, err
	}
	if len(names) == 0 {
		st.Dir, st.Step, st.Best = "", -1, nil
		return st, nil
	}
	if newest := names[len(names)-1]; st.Dir != newest {
		st.Dir, st.Step = newest, -1 // made by another program, or by a run that ended before it wrote this file
	}
	return st, nil
}

func (st exportState) path(base string) string { return filepath.Join(base, st.Dir) }

// write replaces the state in base.
func (st exportState) write(base string) error {
	if err := atomicfile.MkdirAll(atomicfile.OS{}, base); err != nil {
		return err
	}
	data, err := json.Marshal(st)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(atomicfile.OS{}, filepath.Join(base, exportStateFile), append(data, '\n'))
}
