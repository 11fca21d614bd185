package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"time"
)

// modelSearch tries models for a table, until its time is up.
type modelSearch struct {
	d      *draft
	fold   func(ctx context.Context, c candidate, fold int) (float64, error) // trains a model, and returns its loss or error on a held-out fold
	report io.Writer
	log    *slog.Logger
	began  time.Time
	limit  time.Duration
	folds  int // number of folds for each model
	tried  []candidate
	best   int // index in tried; -1: none
}

// fewFolds is the number of folds for each model on a small table when there is no time for more.
const fewFolds = 2

// firstTrial is the time that the first model has in any case.
const firstTrial = 10 * time.Second

// longTraining is the time that training on all rows may take; a longer search allows as much as its own limit.
const longTraining = 50 * time.Second

// errBehind reports that a trial was given up.
var errBehind = errors.New("it is far behind the best model")

// errTooLong reports that a trial ran out of time.
var errTooLong = errors.New("it takes too long")

// chooseModel tries the known candidates, then variations of the best one, and takes the best of all.
func (a *app) chooseModel(ctx context.Context, d *draft, f initFlags) error {
	if f.noSearch || f.searchSecs <= 0 {
		d.model, d.why = d.candidates()[0], "Usual settings; no other model was tried."
		return nil
	}
	quiet := &app{name: a.name, gpus: a.gpus, models: a.models, inputs: a.inputs, stdout: io.Discard, stderr: &console{out: io.Discard},
		log: slog.New(slog.DiscardHandler), logs: logs{quiet: true}}
	s := &modelSearch{d: d, report: a.stdout, log: a.log, limit: time.Duration(f.searchSecs * float64(time.Second)),
		fold: func(ctx context.Context, c candidate, fold int) (float64, error) {
			return quiet.tryFold(ctx, d, c, fold)
		}}
	if err := s.run(ctx); err != nil {
		return err
	}
	s.decide()
	return nil
}

// run tries models. A trial still running when the time is up is stopped and does not count.
func (s *modelSearch) run(ctx context.Context) error {
	s.began, s.folds, s.best = time.Now(), s.d.tryFolds(), -1
	inTime, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	candidates := s.d.candidates()
	for i, c := range candidates {
		within := inTime
		if i == 0 {
			within = ctx
		}
		err := s.try(within, c)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errTooLong) && s.best < 0:
			return s.quick(ctx, inTime)
		case errors.Is(err, errTooLong), errors.Is(err, errBehind):
		case i == 0:
			return fmt.Errorf("a first model %s could not be trained: %w", c.name, err)
		default:
			s.log.Warn("a model could not be trained", "model", c.what, "error", oneLine(err))
		}
		if i == 0 {
			s.fewer(len(candidates))
		}
	}
	s.climb(inTime)
	return ctx.Err()
}

// quick tries small forests, the smallest first, and a network, which is fast even with many columns and classes. It uses one fold, since there
// is no time for the usual models. Once a forest takes too long, larger ones are skipped.
func (s *modelSearch) quick(ctx, inTime context.Context) error {
	s.folds = 1
	var tries []candidate
	for i, f := range s.d.quickForests() {
		if tries = append(tries, s.d.boosted(f)); i == 0 {
			tries = append(tries, s.d.quickNetworks()...)
		}
	}
	slow := false
	for _, c := range tries {
		if slow && !c.network() {
			continue
		}
		err := s.try(inTime, c)
		slow = slow || errors.Is(err, errTooLong) && !c.network()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil, errors.Is(err, errTooLong), errors.Is(err, errBehind):
		case c.network(): // forests may still work
			s.log.Warn("a model could not be trained", "model", c.what, "error", oneLine(err))
		default:
			return fmt.Errorf("%s could not be trained: %w", c.what, err)
		}
	}
	return nil
}

// decide takes the best model, and says why. If that is a network, but trees are about as good, it takes the trees.
func (s *modelSearch) decide() {
	d := s.d
	if s.best < 0 {
		d.model = d.boosted(d.quickForests()[0])
		d.why = "In the time of the search no model could be tried; this one is fast. A longer one (--search-secs) finds a better model."
		return
	}
	d.model, d.tried = s.tried[s.best], s.tried
	d.why = fmt.Sprintf("Of %d models that were tried on held out rows it had the least %s, %.5g.", len(s.tried), d.metric(), d.model.score)
	if at := s.forest(); d.model.network() && at >= 0 && (s.tried[at].score <= d.alike()*d.model.score || byChance(d.model.scores, s.tried[at].scores, d.errors())) {
		d.why = fmt.Sprintf("Of %d models that were tried on held out rows one had the least %s, %.5g; the difference to these trees may be chance, and trees cope better with unusual values.", len(s.tried), d.metric(), d.model.score)
		d.model = s.tried[at]
	}
}

// forest is the index of the best forest tried; -1: none.
func (s *modelSearch) forest() int {
	at := -1
	for i, c := range s.tried {
		if !c.network() && (at < 0 || c.score < s.tried[at].score) {
			at = i
		}
	}
	return at
}

// hopeful bounds the score of the best forest, divided by the best score: variations of worse forests are not tried.
const hopeful = 1.1

// alike is the ratio of scores up to which models count as equally good.
func (d *draft) alike() float64 {
	if d.regression() {
		return 1.005
	}
	return 1.01
}

// errors is the number of standard errors by which a network must beat trees. Regression needs more: a network's predictions have no bounds, and
// a few rows with large labels decide the scores.
func (d *draft) errors() float64 {
	if d.regression() {
		return 2
	}
	return 1
}

// byChance reports whether the mean difference between two models' scores is less than so many standard errors. It compares the folds that
// both have: the first model may have been tried on more.
func byChance(a, b []float64, errors float64) bool {
	folds := min(len(a), len(b))
	a, b = a[:folds], b[:folds]
	n := float64(folds)
	if n < 3 {
		return false
	}
	mean, squares := 0.0, 0.0
	for i := range a {
		mean += (b[i] - a[i]) / n
	}
	for i := range a {
		squares += (b[i] - a[i] - mean) * (b[i] - a[i] - mean)
	}
	return math.Abs(mean) < errors*math.Sqrt(squares/(n-1)/n)
}

// try trains a candidate on each fold in turn and keeps its score.
func (s *modelSearch) try(ctx context.Context, c candidate) error {
	if s.best >= 0 { // leave time for the other candidates
		longest := s.limit / 2
		if c.network() {
			longest = s.limit / 3
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, longest)
		defer cancel()
	}
	for fold := range s.folds {
		if s.enough(fold) {
			s.folds = fold
			break
		}
		score, err := s.timed(ctx, c, fold)
		if errors.Is(err, errTooLong) && fold > 0 && s.best < 0 {
			s.folds = fold
			break
		}
		if err != nil {
			return err
		}
		if c.scores = append(c.scores, score); s.behind(c) {
			fmt.Fprintf(s.report, "gave up %s after %d of %d folds\n", c.what, fold+1, s.folds)
			return errBehind
		}
	}
	c.mean(s.folds)
	s.tried = append(s.tried, c)
	fmt.Fprintf(s.report, "tried %s: %s %.5g\n", c.what, s.d.metric(), c.score)
	if s.best < 0 || c.score < s.tried[s.best].score {
		s.best = len(s.tried) - 1
	}
	return nil
}

// behind reports whether a candidate is so much worse than the best one, on its folds so far, that the other folds can hardly make up for it.
// The fewer rows these folds have, the more may be chance. The limit is relative to the best candidate's mean over all folds, since the loss on
// a fold without a mistake is nearly 0.
func (s *modelSearch) behind(c candidate) bool {
	n := len(c.scores)
	if s.best < 0 || n >= s.folds {
		return false
	}
	best := s.tried[s.best]
	most := best.score * (0.3/math.Sqrt(float64(n)) + s.d.chance()/math.Sqrt(float64(n*s.d.held)))
	best.mean(n)
	c.mean(n)
	return c.score > best.score+most
}

// chance says how much scores vary from row to row: losses vary more than errors.
func (d *draft) chance() float64 {
	if d.regression() {
		return 1
	}
	return 3
}

// timed trains a candidate on one fold. It stops when the search ends, and when training on all rows would take too long.
func (s *modelSearch) timed(ctx context.Context, c candidate, fold int) (float64, error) {
	most := s.limit
	if s.best < 0 { // until a trial succeeds, each gets a share of the time left
		left := s.limit - time.Since(s.began)
		switch {
		case c.network():
			most = left / 3
		case c.forest == s.d.known()[0]:
			most = max(left/3, firstTrial-time.Since(s.began))
		default:
			most = left / 2
		}
	}
	if rows := s.d.inMemory(); !c.network() && rows > mostTrialRows { // a network's trial takes as many steps as its training
		most = min(most, time.Duration(float64(max(s.limit, longTraining))*mostTrialRows/float64(rows)))
	}
	inTime, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if inTime.Err() != nil {
		return 0, errTooLong
	}
	score, err := s.fold(inTime, c, fold)
	if err != nil && inTime.Err() != nil {
		return 0, errTooLong
	}
	return score, err
}

// enough reports whether the first candidate has used its share of the time, after so many folds. The other candidates then have
// as many folds.
func (s *modelSearch) enough(folds int) bool {
	return s.best < 0 && folds >= fewFolds && time.Since(s.began) > s.limit/4
}

// fewer reduces the number of folds if the first candidate took too long on all of them. Its score becomes the mean over
// the folds that are left, so that all are compared on the same rows.
func (s *modelSearch) fewer(candidates int) {
	each := time.Since(s.began) / time.Duration(s.folds)
	fit := int(s.limit / max(each*time.Duration(candidates), 1))
	if s.folds <= fewFolds || fit >= s.folds {
		return
	}
	s.folds = max(fit, fewFolds)
	s.tried[0].mean(s.folds)
	fmt.Fprintf(s.report, "models are compared on %d folds, since more would take too long; there the first has %s %.5g\n", s.folds, s.d.metric(), s.tried[0].score)
}

// climb tries variations of the best model and of the best forest, as long as one is better and time is left.
func (s *modelSearch) climb(ctx context.Context) {
	seen := map[string]bool{}
	for _, c := range s.tried {
		seen[c.what] = true
	}
	for better := true; better; {
		better = false
		for _, c := range s.near() {
			if seen[c.what] {
				continue
			}
			seen[c.what] = true
			if ctx.Err() != nil {
				return
			}
			best, at := s.best, s.forest()
			err := s.try(ctx, c)
			if better = err == nil && (s.best != best || s.forest() != at); better {
				break
			}
		}
	}
}

// near are variations of the best model, and of the best forest if it is not far behind.
func (s *modelSearch) near() (out []candidate) {
	if s.best < 0 {
		return nil
	}
	best := s.tried[s.best]
	if best.network() {
		out = alikeInTexts(best, s.d.nearNetwork(best))
	}
	if at := s.forest(); at >= 0 && s.tried[at].score <= hopeful*best.score {
		var forests []candidate
		for _, f := range s.d.near(s.tried[at].forest) {
			forests = append(forests, s.d.boosted(f))
		}
		out = append(out, alikeInTexts(s.tried[at], forests)...)
	}
	return out
}

// alikeInTexts leaves out the texts of a list of candidates if another candidate does.
func alikeInTexts(as candidate, list []candidate) []candidate {
	for i := range list {
		if as.textless {
			list[i] = list[i].withoutTexts()
		}
	}
	return list
}
