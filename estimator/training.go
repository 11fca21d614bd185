package estimator

import (
	"context"
	"errors"
	"math"
	"strconv"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/models"
)

// training is a training loop: a session with its hooks, input and checkpoints, and
// its membership in a job of several tasks.
type training struct {
	est         *Estimator
	session     *session
	progress    *progress
	loop        *hookedLoop
	input       *trainingInput
	position    func() ([]byte, error) // of the input
	checkpoints *checkpoints
	files       *trainingFiles
	hold        *hold
	shared      distribute.Shared // the strategy if other tasks share it, else nil
	// whole never ends: it is the context of work that must finish once begun, such as saving.
	whole    context.Context
	options  runOptions
	lastLoss float64
	lossRead bool // lastLoss is the loss of a step
	unread   unreadSteps
	again    int64 // the step at which an input without rows begins again; 0: it does not
}

// openTraining opens the input, builds and compiles the program, and restores the
// newest checkpoint.
func (e *Estimator) openTraining(ctx context.Context, input InputFn, config distribute.Config, o runOptions) (*training, error) {
	ds, err := e.openInput(ctx, input, models.Train)
	if err != nil {
		return nil, err
	}
	if e.elastic() && inputs.Generated(ds) {
		e.log.Warn("strategy.elastic: the rows come from a generator or a data set of the program: each row of an epoch is in exactly one step only if it yields the same rows, in the same order, in all processes")
	}
	t := &training{est: e, progress: &progress{}, files: &trainingFiles{}, hold: &hold{dir: e.modelDir}, options: o}
	config.Successor = t
	s, err := e.newSession(models.Train, ds.Schema(), config)
	if err != nil {
		return nil, err
	}
	s.terms = e.terms(ds, o)
	t.session, t.whole, t.lastLoss, t.unread = s, context.WithoutCancel(ctx), math.NaN(), unreadSteps{never: o.bare}
	t.input = &trainingInput{session: s, ds: ds, now: s.newStager(), meter: inputs.NewMeter()}
	t.shared, _ = s.strategy.(distribute.Shared)
	if t.shared == nil {
		t.again = e.trainedTo
	}
	t.position = t.input.state
	t.checkpoints = &checkpoints{session: s, progress: t.progress, input: t.input, files: t.files, saved: -1}
	t.loop = &hookedLoop{session: s, progress: t.progress, view: trainingView{loopView{s, t.progress}, t.checkpoints, t.files}}
	if err := t.open(ctx, o); err != nil {
		return nil, errors.Join(err, t.noteEnd(err), t.close())
	}
	return t, nil
}

// terms returns the settings that the tasks of a cluster compare, in addition to the program.
func (e *Estimator) terms(ds inputs.Dataset, o runOptions) distribute.Terms {
	t := distribute.Terms{MaxSteps: o.maxSteps, Batch: inputs.BatchSize(ds) * max(e.inputContext(models.Train).ReplicasInSync, 1)}
	if seed, ok := e.config.TFRandomSeed(); ok {
		t.Seed = strconv.FormatInt(seed, 10)
	}
	return t
}

// open opens the chief's files, compiles, and restores variables and input.
func (t *training) open(ctx context.Context, o runOptions) error {
	if t.est.isChief() {
		if err := t.files.open(t.est); err != nil {
			return t.est.contested(err)
		}
		t.hold.keep(t.files.lock)
		if err := t.noteInput(); err != nil {
			return err
		}
	}
	hs, err := t.est.trainingHooks(t.session, o)
	if err != nil {
		return err
	}
	if t.checkpoints.plateau, err = t.est.newPlateau(t.session, o); err != nil {
		return err
	}
	if t.checkpoints.plateau != nil {
		hs = append([]hooks.Hook{t.checkpoints.plateau}, hs...)
	}
	if t.checkpoints.best = t.newBestWeights(o); t.checkpoints.best != nil {
		hs = append(hs, t.checkpoints.best)
	}
	t.checkpoints.setStateful(hs)
	t.session.fetch("loss", t.session.program.loss)
	if err := t.loop.begin(hs); err != nil {
		return err
	}
	if err := t.synchronize(ctx); err != nil {
		return err
	}
	t.compareInput()
	// Only here is it certain that model_dir belongs to this model.
	return t.files.describe(t.est, t.session.program, t.progress.step)
}

// close frees everything in memory.
func (t *training) close() error {
	// The stepper comes first, since it may still read batches whose rows it prefetches.
	return errors.Join(t.session.closeStepper(), t.input.close(), t.session.close(), t.files.close())
}
