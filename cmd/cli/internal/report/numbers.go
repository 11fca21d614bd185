package report

import (
	"math"

	"github.com/goestimator/goestimator/cmd/cli/internal/assess"
	"github.com/goestimator/goestimator/cmd/cli/internal/events"
)

// Numbers is the content of a page, for programs.
type Numbers struct {
	Report     string         `json:"report"` // path of the page
	ModelDir   string         `json:"model_dir"`
	GlobalStep int64          `json:"global_step"`
	Checkpoint string         `json:"checkpoint,omitempty"` // evaluated on the data
	Metrics    []MetricRange  `json:"metrics"`
	Time       []TimeShare    `json:"training_time,omitempty"`
	Step       *StepTime      `json:"step_time,omitempty"`
	Embeddings []Embedding    `json:"embeddings,omitempty"`
	Evaluation *assess.Result `json:"evaluation,omitempty"`
}

// MetricRange is a scalar of the events: its last, lowest and highest value, and the steps of these.
type MetricRange struct {
	Run         string        `json:"run"`
	Name        string        `json:"name"`
	Last        assess.Number `json:"last"`
	Step        int64         `json:"step"`
	Lowest      assess.Number `json:"lowest"`
	LowestStep  int64         `json:"lowest_step"`
	Highest     assess.Number `json:"highest"`
	HighestStep int64         `json:"highest_step"`
}

// Numbers returns the numbers of the page that is written to out.
func (r *Run) Numbers(out string) Numbers {
	return Numbers{Report: out, ModelDir: r.Dir, GlobalStep: r.lastStep(), Checkpoint: r.Checkpoint, Metrics: r.metrics(), Time: r.trainingTime(), Step: r.Step, Embeddings: r.Embeddings, Evaluation: r.Evaluation}
}

// metrics are the scalars of the evaluations; of training if there are no evaluations.
func (r *Run) metrics() []MetricRange {
	out := []MetricRange{}
	for _, evaluations := range []bool{true, false} {
		for _, run := range r.Events {
			if (run.Name != ".") != evaluations {
				continue
			}
			for _, t := range run.Tags {
				if t.Kind == events.Scalar {
					out = append(out, newMetric(run.Name, t))
				}
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return out
}

func newMetric(run string, t events.Tag) MetricRange {
	last := t.Last()
	m := MetricRange{Run: RunLabel(run), Name: t.Name, Last: assess.Number(last.Scalar), Step: last.Step,
		Lowest: assess.Number(last.Scalar), LowestStep: last.Step, Highest: assess.Number(last.Scalar), HighestStep: last.Step}
	found := false
	for _, p := range t.Points {
		x := assess.Number(p.Scalar)
		if math.IsNaN(p.Scalar) {
			continue
		}
		if !found || x < m.Lowest {
			m.Lowest, m.LowestStep = x, p.Step
		}
		if !found || x > m.Highest {
			m.Highest, m.HighestStep = x, p.Step
		}
		found = true
	}
	return m
}
