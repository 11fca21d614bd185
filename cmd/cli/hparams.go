package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goestimator/goestimator/cmd/cli/internal/runs"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/internal/config"
	eventfiles "github.com/goestimator/goestimator/internal/format/summary"
)

// hparams is a hook that writes the run's hyperparameters and outcome for TensorBoard's HPARAMS page.
type hparams struct {
	hooks.Base
	job   *job
	began bool
}

// AfterCreateSession writes the hyperparameters, once.
func (h *hparams) AfterCreateSession(_ context.Context, r hooks.Run) error {
	values, err := hyperparameters(h.job.cfg)
	if err != nil || h.began {
		return err
	}
	v, err := eventfiles.HParams(values, now())
	if err != nil {
		return fmt.Errorf("hyperparameters: %w", err)
	}
	h.began = true
	return h.write(r, v)
}

// write adds a value to the event file, which only the chief has.
func (h *hparams) write(r hooks.Run, v *eventfiles.Value) error {
	s, ok := r.(hooks.Summarizer)
	if !ok || s.Events() == nil {
		return nil
	}
	return s.Events().Values(0, v)
}

// ended writes how training ended. An interruption is not an end, since training may resume.
func (h *hparams) ended(err error) error {
	if h == nil || !h.began || errors.Is(err, estimator.ErrInterrupted) || !h.job.est.Config().IsChief() {
		return nil
	}
	status := eventfiles.StatusSuccess
	if err != nil {
		status = eventfiles.StatusFailure
	}
	w := eventfiles.NewFileWriter(h.job.est.ModelDir(), eventfiles.Options{Suffix: ".hparams"})
	return errors.Join(w.Values(0, eventfiles.HParamsEnd(status, now())), w.Close())
}

func now() float64 { return float64(time.Now().UnixMicro()) / 1e6 }

// hyperparameters are the leaves of a config that say how a model is trained, not on what or where.
func hyperparameters(cfg *config.Config) (map[string]any, error) {
	text, err := cfg.Marshal()
	if err != nil {
		return nil, err
	}
	leaves, err := runs.ParseConfig(text)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for key, leaf := range leaves {
		section, _, _ := strings.Cut(key, ".")
		switch {
		case section == "model" || section == "optimizer" || section == "seed":
		case key == "train.max_steps" || key == "train.epochs" || key == "train.input.batch_size" || key == "run.precision" || key == "strategy.name":
		default:
			continue
		}
		out[key] = leaf
		if x, err := strconv.ParseFloat(leaf, 64); err == nil && isFinite(x) {
			out[key] = x
		} else if b, err := strconv.ParseBool(leaf); err == nil {
			out[key] = b
		}
	}
	return out, nil
}
