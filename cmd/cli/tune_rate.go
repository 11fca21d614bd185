package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/goestimator/goestimator/cmd/cli/internal/report"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/search"
)

// rateSummary is the result of tune lr as JSON.
type rateSummary struct {
	Key        string              `json:"key"`
	Suggestion *float64            `json:"suggestion"` // null: the loss never fell
	Stopped    bool                `json:"stopped"`    // the loss blew up before the last rate
	Points     []search.RangePoint `json:"points"`
}

// rateWatcher is a hook that feeds the loss and the rate of each step to a range test.
type rateWatcher struct {
	hooks.Base
	test search.RangeTest
	over bool
}

// Begin requests loss and rate.
func (h *rateWatcher) Begin(s hooks.Setup) error {
	if err := s.Fetch("loss"); err != nil {
		return err
	}
	return s.Fetch("learning_rate")
}

// AfterRun reads them.
func (h *rateWatcher) AfterRun(_ context.Context, r hooks.Run) error {
	loss, err := r.Value("loss")
	if err != nil {
		return err
	}
	rate, err := r.Value("learning_rate")
	if err != nil {
		return err
	}
	if loss.Len() > 0 && rate.Len() > 0 && h.test.Add(rate.Float(0), loss.Float(0)) {
		h.over = true
		r.RequestStop("the loss has blown up")
	}
	return nil
}

func (f rateFlags) check() error {
	switch {
	case !positive(f.low) || !positive(f.high) || f.low >= f.high:
		return fmt.Errorf("--min and --max: expected two rates above 0, the first below the second, got %v and %v", f.low, f.high)
	case f.steps < 20 || f.steps > 1<<20:
		return fmt.Errorf("--steps: expected 20 to %d, got %d", 1<<20, f.steps)
	}
	return nil
}

func (a *app) tuneRate(ctx context.Context, cfg *config.Config, f rateFlags) error {
	if err := f.check(); err != nil {
		return usage(err)
	}
	if err := checkFolder("--html", f.html); err != nil {
		return err
	}
	own, err := alone(cfg)
	if err != nil {
		return err
	}
	key, err := setRate(&own, f.low, f.high, f.steps)
	if err != nil {
		return usage(err)
	}
	var w rateWatcher
	if err := a.trainBriefly(ctx, own, f.steps, &w); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	points := w.test.Points
	if len(points) > 1 && points[0].Rate == points[len(points)-1].Rate {
		return fmt.Errorf("the learning rate did not grow: model %s does not take %s", cfg.Model.Name, key)
	}
	sum := rateSummary{Key: key, Stopped: w.over, Points: points}
	if rate, ok := w.test.Suggest(); ok {
		sum.Suggestion = &rate
	}
	if f.html != "" {
		if err := sum.writePage(f.html, cfg.Model.Name); err != nil {
			return err
		}
	}
	return a.printRate(sum, f)
}

func (s rateSummary) writePage(path, model string) error {
	p := report.Plots{Title: "Learning rates of " + model}
	curves := []report.Points{{Name: "loss"}, {Name: "smoothed loss"}}
	for _, x := range s.Points {
		curves[0].XY = append(curves[0].XY, [2]float64{x.Rate, x.Loss})
		curves[1].XY = append(curves[1].XY, [2]float64{x.Rate, x.Smoothed})
	}
	p.Note = "The loss never fell: no rate is suggested."
	if s.Suggestion != nil {
		p.Note = fmt.Sprintf("%s: %.3g, where the smoothed loss falls fastest", s.Key, *s.Suggestion)
	}
	if err := p.AddLines("Loss by learning rate", "learning rate", true, curves...); err != nil {
		return err
	}
	return writePlots(path, p)
}

// writePlots writes a page with plots.
func writePlots(path string, p report.Plots) error {
	var page bytes.Buffer
	if err := p.Write(&page); err != nil {
		return err
	}
	if err := atomicfile.Rewrite(filepath.Clean(path), page.Bytes()); err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	return nil
}

// shownRates is the approximate number of rows in the table.
const shownRates = 20

func (a *app) printRate(s rateSummary, f rateFlags) error {
	if f.json {
		if err := a.printJSON(s); err != nil {
			return err
		}
	} else {
		t := newTextTable("learning rate", "loss", "smoothed")
		t.right(0, 1, 2)
		number := func(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
		step := max(1, len(s.Points)/shownRates)
		for i := 0; i < len(s.Points); i += step {
			p := s.Points[i]
			t.add(number(p.Rate), number(p.Loss), number(p.Smoothed))
		}
		text := t.String()
		if s.Suggestion != nil {
			text += fmt.Sprintf("%s=%.3g\n", s.Key, *s.Suggestion)
		}
		if _, err := io.WriteString(a.stdout, text); err != nil {
			return err
		}
	}
	if s.Suggestion == nil {
		return fmt.Errorf("the loss did not fall at any rate from %g to %g: try other rates by --min and --max, or more --steps", f.low, f.high)
	}
	return nil
}
