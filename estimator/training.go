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

	"github.com/goestimator/goestimator/estimator/checkpoint"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/estimator/summary"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/atomicfile"
	"github.com/goestimator/goestimator/internal/graph"
	"github.com/goestimator/goestimator/internal/graphdef"
	"github.com/goestimator/goestimator/models"
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
	iterator inputs.Iterator
	saver    *checkpoint.Saver // nil on tasks that are not chief
	events   summary.Writer    // likewise
	lock     *os.File          // likewise; nil where files cannot be locked
	saved    int64             // step of the newest checkpoint, -1 for none
	prefix   string            // of that checkpoint
	lastLoss float64
}

var (
	_ hooks.Checkpointer  = (*training)(nil)
	_ hooks.Summarizer    = (*training)(nil)
	_ hooks.SummarySource = (*training)(nil)
)

// openTraining opens the input, builds and compiles the program, and brings
// everything to where the newest checkpoint left it.
func (e *Estimator) openTraining(ctx context.Context, input InputFn, o runOptions) (*training, error) {
	ds, err := e.openInput(ctx, input, models.Train)
	if err != nil {
		return nil, err
	}
	s, err := e.newSession(models.Train, ds.Schema())
	if err != nil {
		return nil, err
	}
	t := &training{session: s, saved: -1, lastLoss: math.NaN()}
	s.self = t
	if err := t.open(ctx, ds, o); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// open starts the input, opens the chief's files, compiles and restores.
func (t *training) open(ctx context.Context, ds inputs.Dataset, o runOptions) error {
	var err error
	if t.iterator, err = ds.Iterate(ctx); err != nil {
		return err
	}
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
	if err := t.restoreOrInit(); err != nil {
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
	if err := os.MkdirAll(t.est.modelDir, 0o777); err != nil {
		return fmt.Errorf("model_dir: %w", err)
	}
	var err error
	if t.lock, err = lockDir(t.est.modelDir); err != nil {
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

// restoreOrInit loads the newest checkpoint that is whole, or warm-starts, or keeps initial values.
func (t *training) restoreOrInit() error {
	r, err := t.newest()
	if errors.Is(err, checkpoint.ErrNone) {
		if t.est.warm != nil {
			return t.warmStart()
		}
		if sc := t.program.spec.Scaffold; sc != nil && sc.InitFn != nil {
			return sc.InitFn(t.strategy.Variables())
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	if err := t.checkFeatures(r); err != nil {
		return err
	}
	if err := t.restore(r); err != nil {
		return err
	}
	t.saved, t.prefix = t.step, r.Prefix()
	t.est.log.Info("restored checkpoint", "prefix", r.Prefix(), "global_step", t.step)
	return t.restoreExtras(r)
}

// newest opens the newest whole checkpoint; the chief sets damaged ones aside.
func (t *training) newest() (*checkpoint.Reader, error) {
	if t.saver != nil {
		return t.saver.OpenLatest(context.Background())
	}
	return checkpoint.OpenLatest(context.Background(), t.est.modelDir)
}

// restoreExtras gives the input and the hooks the states they had.
func (t *training) restoreExtras(r *checkpoint.Reader) error {
	key := t.inputKey()
	if state, ok, err := readString(r, key); err != nil {
		return err
	} else if ok {
		switch err := t.iterator.Restore(state); {
		case errors.Is(err, inputs.ErrStateMismatch):
			return fmt.Errorf("checkpoint %s: %w: train with the input it was made with, or in another model_dir", r.Prefix(), err)
		case err != nil:
			return fmt.Errorf("checkpoint %s: input position: %w", r.Prefix(), err)
		}
	}
	for _, h := range t.hooks {
		st, ok := h.(hooks.Stateful)
		if !ok {
			continue
		}
		state, ok, err := readString(r, hookStateKey+st.StateKey())
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := st.UnmarshalBinary(state); err != nil {
			return fmt.Errorf("checkpoint %s: state of hook %s: %w", r.Prefix(), st.StateKey(), err)
		}
	}
	return nil
}

func (t *training) inputKey() string {
	return fmt.Sprintf("%s%d", inputStateKey, max(t.est.config.WorkerRank(), 0))
}

// checkFeatures compares the features that the checkpoint was trained on with those of the input.
func (s *session) checkFeatures(r *checkpoint.Reader) error {
	trained, ok, err := readString(r, featuresKey)
	if err != nil || !ok {
		return err
	}
	if now := s.featureSignature(); now != string(trained) {
		return fmt.Errorf("checkpoint %s was trained on other features: expected %s, got %s: use data of the same columns and shapes, or another model_dir",
			r.Prefix(), trained, now)
	}
	return nil
}

// featureSignature lists name, type and shape of each feature.
func (s *session) featureSignature() string {
	var parts []string
	for _, c := range s.schema.Columns() {
		if c.Role == inputs.Feature {
			parts = append(parts, fmt.Sprintf("%s %v%v", c.Name, c.DType, c.Shape))
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
	if v.DType != graph.String || len(v.Strings) != 1 {
		return nil, false, fmt.Errorf("checkpoint %s: %s: expected one string, got %v%v", r.Prefix(), name, v.DType, v.Shape)
	}
	return v.Strings[0], true, nil
}

// SaveCheckpoint writes the state after the last step.
func (t *training) SaveCheckpoint(ctx context.Context) (string, error) {
	if t.saver == nil {
		return "", errors.New("only the chief saves checkpoints: leave the CheckpointSaver hook out in this task")
	}
	if t.saved == t.step {
		return t.prefix, nil
	}
	tensors, err := t.strategy.Variables().Snapshot()
	if err != nil {
		return "", err
	}
	position, err := t.iterator.State()
	if err != nil {
		return "", fmt.Errorf("input position: %w", err)
	}
	tensors[t.inputKey()] = stringScalar(position)
	tensors[featuresKey] = stringScalar([]byte(t.featureSignature()))
	tensors[seedKey] = stringScalar(strconv.AppendInt(nil, t.est.seed, 10))
	for _, h := range t.hooks {
		if st, ok := h.(hooks.Stateful); ok {
			state, err := st.MarshalBinary()
			if err != nil {
				return "", fmt.Errorf("state of hook %s: %w", st.StateKey(), err)
			}
			tensors[hookStateKey+st.StateKey()] = stringScalar(state)
		}
	}
	// What was told of the steps so far is on disk before they count as saved.
	if err := t.events.Flush(); err != nil {
		return "", err
	}
	prefix, err := t.saver.Save(ctx, checkpoint.Snapshot{Step: t.step, Tensors: tensors})
	if err != nil {
		return "", err
	}
	t.saved, t.prefix = t.step, prefix
	return prefix, t.events.Add(summary.SessionCheckpoint(t.step, prefix))
}

func stringScalar(b []byte) *graph.Tensor {
	return &graph.Tensor{DType: graph.String, Strings: [][]byte{b}}
}

// Events is the chief's event file.
func (t *training) Events() summary.Writer { return t.events }

// Variables are the model's, without the optimizer's slots.
func (t *training) Variables() []hooks.VariableInfo { return t.program.variableInfos() }

// close frees everything; what was written stays.
func (t *training) close() error {
	var errs []error
	if t.iterator != nil {
		errs = append(errs, t.iterator.Close())
	}
	if t.events != nil {
		errs = append(errs, t.events.Close())
	}
	if t.lock != nil {
		errs = append(errs, t.lock.Close())
	}
	return errors.Join(append(errs, t.session.close())...)
}
