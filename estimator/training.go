package estimator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/estimator/checkpoint"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/estimator/summary"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// What a checkpoint holds besides variables, as scalar strings.
const (
	inputStateKey = privatePrefix + "input_state/"
	hookStateKey  = privatePrefix + "hooks/"
	featuresKey   = privatePrefix + "features"
	seedKey       = privatePrefix + "seed" // decimal
)

// ErrLocked is returned where another training runs in the same model_dir.
var ErrLocked = errors.New("model_dir is in use by another training")

// training is the session of a training loop, with its input and its files.
type training struct {
	*session
	input    *trainingInput
	position func() ([]byte, error) // of the input
	shared   distribute.Shared      // the strategy, where other tasks share it; else nil
	saver    *checkpoint.Saver      // nil on tasks that are not chief
	events   summary.Writer         // likewise
	lock     *os.File               // likewise; nil where files cannot be locked
	saved    int64                  // step of the newest checkpoint, -1 for none
	prefix   string                 // of that checkpoint
	lastLoss float64
	lossRead bool // lastLoss is that of a step
	quiet    quietSteps
}

var (
	_ hooks.Checkpointer  = (*training)(nil)
	_ hooks.Summarizer    = (*training)(nil)
	_ hooks.SummarySource = (*training)(nil)
	_ hooks.WorkerTimer   = (*training)(nil)
)

// openTraining opens the input, builds and compiles the program, and brings
// everything to where the newest checkpoint left it.
func (e *Estimator) openTraining(ctx context.Context, input InputFn, config distribute.Config, o runOptions) (*training, error) {
	ds, err := e.openInput(ctx, input, models.Train)
	if err != nil {
		return nil, err
	}
	s, err := e.newSession(models.Train, ds.Schema(), config)
	if err != nil {
		return nil, err
	}
	t := &training{session: s, saved: -1, lastLoss: math.NaN(), quiet: quietSteps{never: o.bare},
		input: &trainingInput{ds: ds, lend: s.lend, now: s.batches,
			explain: func(ctx context.Context, err error) error { return s.located(ctx, ds, err) },
			fresh:   func() *stager { return newStager(ds.Schema(), s.feeds, s.strategy.Replicas().Local) }}}
	t.shared, _ = s.strategy.(distribute.Shared)
	t.terms = e.terms(ds, o)
	t.position = t.input.state
	s.self = t
	if err := t.open(ctx, o); err != nil {
		return nil, errors.Join(err, t.noteEnd(err), t.close())
	}
	return t, nil
}

// terms are what the tasks of a cluster compare besides the program.
func (e *Estimator) terms(ds inputs.Dataset, o runOptions) distribute.Terms {
	t := distribute.Terms{MaxSteps: o.maxSteps, Batch: inputs.BatchSize(ds) * max(e.inputContext(models.Train).ReplicasInSync, 1)}
	if seed, ok := e.config.TFRandomSeed(); ok {
		t.Seed = strconv.FormatInt(seed, 10)
	}
	return t
}

// open opens the chief's files, compiles, and restores variables and input.
func (t *training) open(ctx context.Context, o runOptions) error {
	if t.IsChief() {
		if err := t.openFiles(); err != nil {
			return err
		}
	}
	hs, err := t.est.trainingHooks(t, o)
	if err != nil {
		return err
	}
	t.fetchOutput("loss", t.program.loss)
	if err := t.begin(hs); err != nil {
		return err
	}
	if err := t.synchronize(ctx); err != nil {
		return err
	}
	if t.events == nil {
		return nil
	}
	// Not before it is known that the model_dir is this model's.
	if err := t.writeGraph(); err != nil {
		return err
	}
	if t.est.config.SaveSummarySteps() == 0 {
		return nil
	}
	// Readers drop what an earlier run told of steps that come again now.
	return t.events.Add(summary.SessionStart(t.step + 1))
}

// openFiles opens the checkpoint saver and the event file of the chief.
func (t *training) openFiles() error {
	if err := atomicfile.MkdirAll(atomicfile.OS{}, t.est.modelDir); err != nil {
		return fmt.Errorf("model_dir: %w", err)
	}
	var err error
	if t.lock, err = lockDir(t.est.modelDir); err != nil {
		return err
	}
	if err := t.noteStart(); err != nil {
		return err
	}
	rc := t.est.config
	t.saver, err = checkpoint.NewSaver(t.est.modelDir, checkpoint.Options{
		MaxToKeep: rc.KeepCheckpointMax(), KeepEveryNHours: rc.KeepCheckpointEveryNHours()})
	if err != nil {
		return err
	}
	t.events = summary.NewFileWriter(t.est.modelDir, summary.Options{})
	return nil
}

// writeGraph shows the graph to TensorBoard and, where the RunConfig asks for it, to people.
func (t *training) writeGraph() error {
	def, err := graphdef.ToGraphDef(t.program.graph)
	if err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	b, err := proto.Marshal(def)
	if err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	if t.est.config.SaveSummarySteps() > 0 {
		if err := t.events.Add(summary.GraphEvent(0, b)); err != nil {
			return err
		}
	}
	if !t.est.config.CheckpointSaveGraphDef() {
		return nil
	}
	text, err := prototext.MarshalOptions{Multiline: true}.Marshal(def)
	if err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	return atomicfile.WriteFile(atomicfile.OS{}, filepath.Join(t.est.modelDir, "graph.pbtxt"), text)
}

// checkFeatures compares the features that the checkpoint was trained on with those of the input.
func (s *session) checkFeatures(r *checkpoint.Reader) error {
	trained, ok, err := readString(r, featuresKey)
	if err != nil || !ok {
		return err
	}
	if now := s.featureSignature(); now != string(trained) {
		return &MismatchError{Prefix: r.Prefix(), Trained: string(trained), Given: now}
	}
	return nil
}

// featureSignature lists name, type and shape of each feature.
func (s *session) featureSignature() string {
	var parts []string
	for _, c := range s.schema.Columns() {
		if c.Role == inputs.Feature {
			shape := any(c.Shape)
			if c.Ragged {
				shape = "[...]"
			}
			parts = append(parts, fmt.Sprintf("%s %v%v", c.Name, c.DType, shape))
		}
	}
	return strings.Join(parts, ", ")
}

func readString(r *checkpoint.Reader, name string) ([]byte, bool, error) {
	if _, ok := r.Lookup(name); !ok {
		return nil, false, nil
	}
	v, err := r.Tensor(name)
	if err != nil {
		return nil, false, err
	}
	if v.DType != tensor.String || len(v.Strings) != 1 {
		return nil, false, fmt.Errorf("checkpoint %s: %s: expected one string, got %v%v", r.Prefix(), name, v.DType, v.Shape)
	}
	return v.Strings[0], true, nil
}

func stringScalar(b []byte) *tensor.Tensor {
	return &tensor.Tensor{DType: tensor.String, Strings: [][]byte{b}}
}

// Events is the chief's event file.
func (t *training) Events() summary.Writer { return t.events }

// WorkerSteps are the times of the workers whose strategy knows them.
func (t *training) WorkerSteps(ctx context.Context) ([]hooks.WorkerStep, error) {
	s, ok := t.strategy.(distribute.Paced)
	if !ok {
		return nil, nil
	}
	var out []hooks.WorkerStep
	all, err := s.Paces(ctx)
	for _, p := range all {
		out = append(out, hooks.WorkerStep{Worker: fmt.Sprintf("%s_%d", p.Worker.Job, p.Worker.Index), Secs: p.Secs})
	}
	return out, err
}

// Variables are the model's, without the optimizer's slots.
func (t *training) Variables() []hooks.VariableInfo { return t.program.variableInfos() }

// close frees everything; what was written stays.
func (t *training) close() error {
	var errs []error
	// The stepper may still read batches that it fetches rows for.
	errs = append(errs, t.closeStepper(), t.input.close(), t.session.close())
	if t.events != nil {
		errs = append(errs, t.events.Close())
	}
	if t.lock != nil {
		errs = append(errs, t.lock.Close())
	}
	return errors.Join(errs...)
}
