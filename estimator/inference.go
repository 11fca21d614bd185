package estimator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distribute/saved"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// inference evaluates or predicts with a session that is kept from call to call.
type inference struct {
	est      *Estimator
	session  *session
	progress *progress
	loop     *hookedLoop
	batches  *stager
	loaded   string            // prefix of the checkpoint with the variables' values, "" if they have other values
	digest   [sha256.Size]byte // of that checkpoint: another checkpoint may reuse its prefix
	// inMemory: the variables are copies of a training loop's variables.
	inMemory bool
	busy     bool // a loop is running; guarded by the Estimator's mutex
}

// ErrBusy is returned if an evaluation or prediction starts while another one of the
// same mode and columns is still running on the Estimator.
var ErrBusy = errors.New("the Estimator is running this already")

// acquire gives the caller exclusive use of the session until release.
func (s *inference) acquire() (release func(), err error) {
	s.est.mu.Lock()
	defer s.est.mu.Unlock()
	if s.busy {
		return nil, fmt.Errorf("%w: finish that loop, or use another Estimator of the same model_dir", ErrBusy)
	}
	s.busy = true
	return func() {
		s.est.mu.Lock()
		s.busy = false
		s.est.mu.Unlock()
	}, nil
}

// inference returns the mode's compiled program for that schema, and makes it if there is none.
func (e *Estimator) inference(mode models.Mode, schema *inputs.Schema) (*inference, error) {
	key := string(mode) + " " + schema.String()
	e.mu.Lock()
	defer e.mu.Unlock()
	if s, ok := e.ready[key]; ok {
		return s, nil
	}
	s, err := e.newSession(mode, schema, e.inferenceStrategy(mode))
	if err != nil {
		return nil, err
	}
	p := &progress{}
	view := loopView{s, p}
	inf := &inference{est: e, session: s, progress: p, batches: s.newStager(),
		loop: &hookedLoop{session: s, progress: p, view: view}}
	e.ready[key] = inf
	return inf, nil
}

// openInference opens an input and returns the mode's inference for it.
func (e *Estimator) openInference(ctx context.Context, mode models.Mode, input InputFn) (*inference, inputs.Dataset, error) {
	ds, err := e.openInput(ctx, input, mode)
	if err != nil {
		return nil, nil, err
	}
	s, err := e.inference(mode, ds.Schema())
	return s, ds, err
}

// load sets the variables from the given checkpoint, or the newest. Without a
// checkpoint they keep their initial values.
func (s *inference) load(prefix string) error {
	r, err := s.est.openForInference(prefix)
	if errors.Is(err, checkpoint.ErrNone) {
		if s.loaded != "" {
			return fmt.Errorf("%w in model_dir any more: %s", ErrNoCheckpoint, s.est.modelDir)
		}
		s.est.log.Warn("could not find trained model in model_dir: running with initial values", "model_dir", s.est.modelDir)
		if !s.inMemory {
			return nil
		}
		s.inMemory, s.progress.step = false, 0
		vars := s.session.strategy.Variables()
		return s.session.initialize(func(name string, _ graph.Type, value distribute.Fill) error { return vars.Set(name, value) })
	}
	if err != nil {
		return err
	}
	defer r.Close()
	if r.Prefix() == s.loaded && r.Digest() == s.digest {
		return nil
	}
	if err := s.session.checkFeatures(r); err != nil {
		return err
	}
	if err := errors.Join(s.session.restore(r), s.readStep()); err != nil {
		return err
	}
	s.loaded, s.digest, s.inMemory = r.Prefix(), r.Digest(), false
	s.est.warnUnused(r, s.session.program)
	return nil
}

// warnUnused warns, once, if the checkpoint has trained weights that the model of this mode does not have.
func (e *Estimator) warnUnused(r *checkpoint.Reader, p *program) {
	taken := map[string]bool{}
	for _, v := range p.variables {
		taken[v.Name] = true
	}
	names := saved.Unused(r, func(name string) bool { return taken[name] })
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(names) == 0 || e.warnedUnused {
		return
	}
	e.warnedUnused = true
	e.log.Warn("the checkpoint has trained weights that this model does not use: if it was meant to be the trained model, give it the same layers",
		"prefix", r.Prefix(), "mode", p.mode, "variables", len(names), "first", names[0])
}

// readStep sets the loop's step count from the global step variable.
func (s *inference) readStep() (err error) {
	s.progress.step, err = s.session.globalStep()
	return err
}

func (e *Estimator) openForInference(prefix string) (*checkpoint.Reader, error) {
	if prefix != "" {
		return checkpoint.Open(prefix)
	}
	return checkpoint.OpenLatest(context.Background(), e.modelDir)
}

// each runs at most limit records of a pass over ds (0: all), one per replica in each step. For each record, in order,
// it calls fn with the replica that has the results, and the number of rows.
func (s *inference) each(ctx context.Context, ds inputs.Dataset, limit int64, fn func(replica, rows int) error) (err error) {
	it, err := ds.Iterate(s.session.withPinnedMemory(ctx))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for n := int64(0); limit == 0 || n < limit; {
		read := s.fill(ctx, source{ds, it, n}, limit-n) // what was read before an error is run first
		staged := len(s.batches.batches())
		if staged > 0 {
			err = s.step(ctx, ds, fn)
		}
		s.batches.release()
		if n += int64(staged); err != nil {
			return fmt.Errorf("batch %d: %w", n, err)
		}
		switch {
		case errors.Is(read, io.EOF):
			return nil
		case read != nil:
			return read
		case s.progress.reason != "":
			return nil
		}
	}
	return nil
}

// source is a pass over a data set, with the number of batches read.
type source struct {
	ds  inputs.Dataset
	it  inputs.Iterator
	was int64
}

// fill stages a record for each replica, at most limit if that is positive. The error is io.EOF at the end of the data.
func (s *inference) fill(ctx context.Context, from source, limit int64) error {
	for n := int64(0); !s.batches.full() && (limit <= 0 || n < limit); {
		rec, err := from.it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return err
		}
		if err != nil {
			return fmt.Errorf("input, batch %d: %w", from.was+n, s.session.located(ctx, from.ds, err))
		}
		if rec.NumRows() == 0 {
			rec.Release()
			continue
		}
		if err := s.batches.add(rec); err != nil {
			s.batches.drop()
			return fmt.Errorf("batch %d: %w", from.was+n+1, s.session.located(ctx, from.ds, err))
		}
		n++
	}
	return nil
}

// step runs the staged records and calls fn for each.
func (s *inference) step(ctx context.Context, ds inputs.Dataset, fn func(replica, rows int) error) error {
	if err := s.session.fit(s.batches); err != nil {
		return err
	}
	batches := s.batches.batches()
	_, err := s.loop.step(ctx, distribute.Step{Batches: batches})
	if err = s.session.blamed(ctx, ds, s.batches, err); err != nil {
		return err
	}
	for replica, b := range batches {
		if err := fn(replica, b.Rows); err != nil {
			return err
		}
	}
	return nil
}

// value returns a fetched tensor of a replica, as of the last step.
func (s *session) value(name string, replica int) *tensor.Tensor {
	return distribute.ReplicaValue(s.stepper, replica, s.index[name])
}

// prepare compiles the program with the hooks' tensors, loads variables and starts the hooks.
func (s *inference) prepare(ctx context.Context, hs []hooks.Hook, o runOptions) error {
	if err := s.loop.begin(hs); err != nil {
		return err
	}
	if !o.inMemory {
		if err := s.load(o.checkpoint); err != nil {
			return err
		}
	}
	return s.loop.start(ctx)
}
