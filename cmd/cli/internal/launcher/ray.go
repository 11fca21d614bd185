package launcher

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/replica"
)

// Ray describes a job for Ray.
type Ray struct {
	Job
	Name          string
	ModelDir      string        // tasks get it as GOESTIMATOR_MODEL_DIR; empty: the config's
	GPUs          int           // of each task except parameter servers
	MaxRestarts   int           // of the whole job
	FinishTimeout time.Duration // how long the others may continue once the leader is done
}

//go:embed ray_driver.py
var rayDriver string

// rayJob is the job as JSON for the driver.
type rayJob struct {
	Name     string               `json:"name"`
	Tasks    [][2]any             `json:"tasks"`
	Leader   [2]any               `json:"leader"`
	Bundles  []map[string]float64 `json:"bundles"`
	Command  []string             `json:"command"`
	Env      map[string]string    `json:"env"`
	Restarts int                  `json:"restarts"`
	Grace    float64              `json:"grace"`
	Finish   float64              `json:"finish"`
}

// WriteRay writes a Python driver for Ray.
func WriteRay(w io.Writer, r Ray) error {
	if err := r.Validate(); err != nil {
		return err
	}
	switch {
	case r.Name == "" || strings.ContainsAny(r.Name, "\n\r"):
		return fmt.Errorf("name: got %q, expected one line", r.Name)
	case r.GPUs < 0:
		return errors.New("gpus: expected 0 or more")
	case r.Restart == replica.Always || r.Restart == replica.OnFailure:
		return fmt.Errorf("restart policy %s: on Ray, expected never or exit-code (a job that ended with 128 or more is started again)", r.Restart)
	}
	text, err := json.Marshal(r.job())
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, strings.Replace(rayDriver, "@JOB@", string(text), 1)) // JSON never has three quotes in a row
	return err
}

// job converts the job for the driver.
func (r Ray) job() rayJob {
	pair := func(t replica.Task) [2]any { return [2]any{t.Type, t.Index} }
	j := rayJob{Name: r.Name, Leader: pair(r.Leader()), Command: r.Command, Env: map[string]string{}, Grace: r.Grace.Seconds(), Finish: r.FinishTimeout.Seconds()}
	if r.Restart != replica.Never {
		j.Restarts = r.MaxRestarts
	}
	if r.ModelDir != "" {
		j.Env["GOESTIMATOR_MODEL_DIR"] = r.ModelDir
	}
	for _, e := range r.coreEnv() {
		name, value, _ := strings.Cut(e, "=")
		j.Env[name] = value
	}
	for _, t := range r.Tasks() {
		bundle := map[string]float64{"CPU": float64(max(r.CoresPerTask, 1))}
		if r.GPUs > 0 && t.Type != replica.PS {
			bundle["GPU"] = float64(r.GPUs)
		}
		j.Tasks, j.Bundles = append(j.Tasks, pair(t)), append(j.Bundles, bundle)
	}
	return j
}
