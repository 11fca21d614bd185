package estimator

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// ErrLocked is returned if another training runs in the same model_dir.
var ErrLocked = errors.New("model_dir is in use by another training")

// trainingFiles are the chief's open files in model_dir. On other tasks all fields are nil.
type trainingFiles struct {
	lock   *os.File // nil also if files cannot be locked
	saver  *checkpoint.Saver
	events summary.Writer
	fs     atomicfile.FS // writes to model_dir as long as the lock is held
	// inputEnded is the step at which an earlier training in model_dir used up its input, 0 for none.
	inputEnded int64
}

// open opens the chief's checkpoint saver and event file, and locks model_dir unless it is locked already.
func (f *trainingFiles) open(e *Estimator) error {
	if err := atomicfile.MkdirAll(atomicfile.OS{}, e.modelDir); err != nil {
		return fmt.Errorf("model_dir: %w", err)
	}
	var err error
	if f.lock == nil {
		f.lock, err = lockDir(e.modelDir)
	}
	if err != nil {
		return err
	}
	f.fs = atomicfile.OS{}
	if f.lock != nil && e.elastic() {
		f.fs = fencedFS{f.fs, f.lock}
	}
	if f.inputEnded, err = e.noteStart(); err != nil {
		return err
	}
	f.saver, err = checkpoint.NewSaver(e.modelDir, checkpoint.Options{
		MaxToKeep: e.config.KeepCheckpointMax(), KeepEveryNHours: e.config.KeepCheckpointEveryNHours(), FS: f.fs})
	if err != nil {
		return err
	}
	f.events = summary.NewLossy(func() summary.Writer { return summary.NewFileWriter(e.modelDir, summary.Options{FS: e.eventsFS}) }, func(err error) {
		e.log.Warn("events cannot be written: training goes on, and summaries are lost until there is room", "error", err)
	})
	return nil
}

// describe writes the graph, and an event that a run begins after step.
func (f *trainingFiles) describe(e *Estimator, p *program, step int64) error {
	if f.events == nil {
		return nil
	}
	if err := f.writeGraph(e, p); err != nil {
		return err
	}
	if e.config.SaveSummarySteps() == 0 {
		return nil
	}
	// It makes readers drop an earlier run's events of steps that this run repeats.
	return f.events.Add(summary.SessionStart(step + 1))
}

// writeGraph writes the graph for TensorBoard and, if the RunConfig asks for it, as text.
func (f *trainingFiles) writeGraph(e *Estimator, p *program) error {
	def, err := graphdef.ToGraphDef(p.graph)
	if err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	b, err := proto.Marshal(def)
	if err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	if e.config.SaveSummarySteps() > 0 {
		if err := f.events.Add(summary.GraphEvent(0, b)); err != nil {
			return err
		}
	}
	if !e.config.CheckpointSaveGraphDef() {
		return nil
	}
	text, err := prototext.MarshalOptions{Multiline: true}.Marshal(def)
	if err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	return atomicfile.Rewrite(filepath.Join(e.modelDir, "graph.pbtxt"), text)
}

// close closes the event file and lets others train in model_dir.
func (f *trainingFiles) close() error {
	var errs []error
	if f.events != nil {
		errs = append(errs, f.events.Close())
	}
	if f.lock != nil {
		errs = append(errs, f.lock.Close())
	}
	return errors.Join(errs...)
}
