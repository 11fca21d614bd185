package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// modelSearch tries models for a table.
type modelSearch struct {
	app    *app // without output
	d      *draft
	report io.Writer
	began  time.Time
	limit  time.Duration
	folds  int // that a model is tried on
	tried  []candidate
	best   int // of tried
}

// fewFolds is how many folds of a small table a model is tried on where there is no time for more.
const fewFolds = 2

// chooseModel tries the known candidates, then what is near the best one, and takes the best of all.
func (a *app) chooseModel(ctx context.Context, d *draft, f initFlags) error {
	candidates := d.candidates()
	d.model = candidates[0]
	if f.noSearch {
		d.why = "Usual settings; no other model was tried."
		return nil
	}
	quiet := &app{name: a.name, gpus: a.gpus, models: a.models, inputs: a.inputs, stdout: io.Discard, stderr: &console{out: io.Discard},
		log: slog.New(slog.DiscardHandler), logs: logs{quiet: true}}
	s := &modelSearch{app: quiet, d: d, report: a.stdout, began: time.Now(), limit: time.Duration(f.searchSecs * float64(time.Second)), folds: d.tryFolds(), best: -1}
	for i, c := range candidates {
		if i > 0 && s.over() {
			break
		}
		err := s.try(ctx, c)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return ctx.Err()
		case i == 0:
			return fmt.Errorf("a first model %s could not be trained: %w", c.name, err)
		default:
			a.log.Warn("a model could not be trained", "model", c.what, "error", oneLine(err))
		}
		if i == 0 {
			s.fewer(len(candidates))
		}
	}
	if err := s.climb(ctx); err != nil {
		return err
	}
	d.model, d.tried = s.tried[s.best], s.tried
	d.why = fmt.Sprintf("Of %d models that were tried on held out rows it had the least %s, %.5g.", len(s.tried), d.metric(), d.model.score)
	if at := s.forest(); d.model.network() && at >= 0 && s.tried[at].score <= d.alike()*d.model.score {
		d.why = fmt.Sprintf("Of %d models that were tried on held out rows one had the least %s, %.5g; the difference to these trees may be chance, and trees cope better with unusual values.", len(s.tried), d.metric(), d.model.score)
		d.model = s.tried[at]
	}
	return nil
}

// forest is the best of the forests that were tried, -1 for none.
func (s *modelSearch) forest() int {
	at := -1
	for i, c := range s.tried {
		if !c.network() && (at < 0 || c.score < s.tried[at].score) {
			at = i
		}
	}
	return at
}

// hopeful is how much worse than the best model forests may be that others are sought near to.
const hopeful = 1.1

// alike is the quotient of scores up to which models are as good as each other.
func (d *draft) alike() float64 {
	if d.regression() {
		return 1.005
	}
	return 1.03
}

// over reports whether the time is up.
func (s *modelSearch) over() bool { return time.Since(s.began) > s.limit }

// try trains a candidate and keeps its score.
func (s *modelSearch) try(ctx context.Context, c candidate) (err error) {
	if c.scores, err = s.app.try(ctx, s.d, c, s.folds, s.enough); err != nil {
		return err
	}
	s.folds = len(c.scores)
	c.mean(s.folds)
	s.tried = append(s.tried, c)
	fmt.Fprintf(s.report, "tried %s: %s %.5g\n", c.what, s.d.metric(), c.score)
	if s.best < 0 || c.score < s.tried[s.best].score {
		s.best = len(s.tried) - 1
	}
	return nil
}

// enough reports whether the first candidate has had its part of the time, after so many folds. The others are tried on
// as many.
func (s *modelSearch) enough(folds int) bool {
	return s.best < 0 && folds >= fewFolds && time.Since(s.began) > s.limit/4
}

// fewer takes fewer folds where the first candidate took too long to try all of them. Its score is then that of these
// folds, so that all are compared on the same rows.
func (s *modelSearch) fewer(candidates int) {
	each := time.Since(s.began) / time.Duration(s.folds)
	fit := int(s.limit / max(each*time.Duration(candidates), 1))
	if s.folds <= fewFolds || fit >= s.folds {
		return
	}
	s.folds = max(fit, fewFolds)
	s.tried[0].mean(s.folds)
}

// climb tries forests near the best one as long as one of them is better and time is left.
func (s *modelSearch) climb(ctx context.Context) error {
	seen := map[forest]bool{}
	for _, c := range s.tried {
		seen[c.forest] = true
	}
	for better := true; better; {
		at := s.forest()
		if at < 0 || s.tried[at].score > hopeful*s.tried[s.best].score {
			return nil
		}
		better = false
		for _, f := range s.d.near(s.tried[at].forest) {
			if seen[f] {
				continue
			}
			seen[f] = true
			if s.over() {
				return nil
			}
			err := s.try(ctx, s.d.boosted(f))
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if better = err == nil && s.forest() != at; better {
				break
			}
		}
	}
	return nil
}
