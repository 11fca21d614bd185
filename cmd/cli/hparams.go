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

// hparams is a hook that tells TensorBoard's HPARAMS page the run's hyperparameters and its end.
type hparams struct {
	hooks.Base
	job   *job
	began bool
}

// AfterCreateSession tells the hyperparameters, once.
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

// End tells that training is over.
func (h *hparams) End(_ context.Context, r hooks.Run) error {
	return h.write(r, eventfiles.HParamsEnd(eventfiles.StatusSuccess, now()))
}

// write adds to the event file, which only the chief has.
func (h *hparams) write(r hooks.Run, v *eventfiles.Value) error {
	s, ok := r.(hooks.Summarizer)
	if !ok || s.Events() == nil {
		return nil
	}
	return s.Events().Values(0, v)
}

// failed tells that training ended with an error; that it was interrupted is not its end.
func (h *hparams) failed(err error) error {
	if h == nil || !h.began || err == nil || errors.Is(err, estimator.ErrInterrupted) || !h.job.est.Config().IsChief() {
		return nil
	}
	w := eventfiles.NewFileWriter(h.job.est.ModelDir(), eventfiles.Options{Suffix: ".hparams"})
	return errors.Join(w.Values(0, eventfiles.HParamsEnd(eventfiles.StatusFailure, now())), w.Close())
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
