package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goestimator/goestimator/cmd/cli/internal/assess"
	"github.com/goestimator/goestimator/cmd/cli/internal/events"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// ErrNothing is wrapped if a folder has neither events nor checkpoints.
var ErrNothing = errors.New("nothing to report")

// Run is the content of a model_dir.
type Run struct {
	Dir         string
	Events      []events.Run
	Checkpoints []checkpoint.Entry
	Config      string   // config.yaml; empty if there is none
	Damage      error    // of event files that could only be read in part
	ClassNames  []string // names of the classes; nil: their numbers
	Step        *StepTime
	Embeddings  []Embedding // tables written by run.projector

	Evaluation *assess.Result // the model evaluated on data; nil: it was not evaluated
	DataName   string         // name of the data
	Checkpoint string         // that was evaluated
}

// Collect reads a model_dir.
func Collect(dir string) (*Run, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("expected a model_dir: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s: expected a model_dir, which is a folder", dir)
	}
	r := &Run{Dir: dir}
	r.Events, r.Damage = events.Load(dir)
	if r.Checkpoints, err = checkpoint.All(dir); err != nil && !errors.Is(err, checkpoint.ErrNone) {
		return nil, err
	}
	if r.Step, err = readStepTime(filepath.Join(dir, "profile.json")); err != nil {
		r.Damage = errors.Join(r.Damage, err)
	}
	if r.Embeddings, err = readEmbeddings(dir); err != nil {
		r.Damage = errors.Join(r.Damage, err)
	}
	config, err := atomicfile.ReadFile(atomicfile.OS{}, filepath.Join(dir, "config.yaml"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	r.Config = string(config)
	if len(r.Events) == 0 && len(r.Checkpoints) == 0 {
		return nil, errors.Join(fmt.Errorf("%w: %s holds neither events nor checkpoints", ErrNothing, dir), r.Damage)
	}
	return r, nil
}

func number(x float64) string { return fmt.Sprintf("%.5g", x) }

// RunLabel names a folder of events: the model_dir itself is "train".
func RunLabel(run string) string {
	if run == "." {
		return "train"
	}
	return run
}

// saved is a row in the table of checkpoints.
type saved struct {
	Name string
	Step int64
	Time string
}

func (r *Run) saved() []saved {
	var out []saved
	for _, c := range r.Checkpoints {
		when := ""
		if !c.Time.IsZero() {
			when = c.Time.UTC().Format(time.DateTime) + " UTC"
		}
		out = append(out, saved{filepath.Base(c.Prefix), c.Step, when})
	}
	return out
}

// tagged is a tag and the runs that have it.
type tagged struct {
	name string
	runs []string
	tags []events.Tag
}

// byTag groups the tags of a kind across runs, loss and learning rate first.
func (r *Run) byTag(kind events.Kind) []tagged {
	at := map[string]int{}
	var out []tagged
	for _, run := range r.Events {
		for _, t := range run.Tags {
			if t.Kind != kind {
				continue
			}
			i, ok := at[t.Name]
			if !ok {
				i = len(out)
				at[t.Name] = i
				out = append(out, tagged{name: t.Name})
			}
			out[i].runs = append(out[i].runs, RunLabel(run.Name))
			out[i].tags = append(out[i].tags, t)
		}
	}
	slices.SortStableFunc(out, func(a, b tagged) int { return strings.Compare(order(a.name), order(b.name)) })
	return out
}

// order is a sort key that puts the most important tags first.
func order(tag string) string {
	switch tag {
	case "loss":
		return "0"
	case "accuracy":
		return "1"
	case "global_step/sec":
		return "~1"
	case "data_wait":
		return "~2"
	case "learning_rate":
		return "~0"
	}
	return "2" + tag
}

// lastStep is the highest step in events or checkpoints.
func (r *Run) lastStep() int64 {
	step := int64(0)
	for _, run := range r.Events {
		for _, t := range run.Tags {
			step = max(step, t.Last().Step)
		}
	}
	for _, c := range r.Checkpoints {
		step = max(step, c.Step)
	}
	return step
}
