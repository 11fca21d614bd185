package estimator

import (
	"fmt"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distribute/trace"
	"github.com/goestimator/goestimator/models"
)

// program is a model_fn's graph of one mode in the intermediate representation,
// with a symbolic batch.
type program struct {
	mode      models.Mode
	spec      *Spec
	graph     *graph.Graph
	feeds     []feed
	variables []*models.Variable
	step      graph.Output

	loss        graph.Output // invalid if the mode has no loss
	predictions []named
	exports     []exported // signatures; of mode Predict
	metrics     []metricArgs
	effects     trace.Effects
	summaries   []summaryOutput
	sizes       raggedSizes // the capacity that it was built for
	unreached   []string    // trainable variables that the loss does not depend on
}

type feed struct {
	column  inputs.Column
	output  graph.Output
	encoder *Encoder // nil: the column is fed as it is

	ragged  *models.RaggedInput // a ragged feature, with
	offsets graph.Output        // a second placeholder; else nil
}

type named struct {
	name   string
	output graph.Output
	text   *Text // nil: the output is the prediction
}

// exported is a signature of the exported model.
type exported struct {
	name    string
	kind    ExportKind
	outputs []named
}

type metricArgs struct {
	name   string
	metric Metric
	args   []graph.Output
}

type summaryOutput struct {
	models.Summary
	output graph.Output
}

// buildProgram runs the model_fn at two batch sizes and unifies the two graphs.
// Ragged columns have the capacity in sizes.
func (e *Estimator) buildProgram(mode models.Mode, schema *inputs.Schema, sizes raggedSizes) (*program, error) {
	in := inputSpec{columns: fedColumns(mode, schema), sizes: sizes}
	a, err := e.render(mode, in, trace.FirstBatch)
	if err != nil {
		return nil, err
	}
	b, err := e.render(mode, in, trace.SecondBatch)
	if err != nil {
		return nil, err
	}
	p, err := b.unified(a)
	if err != nil {
		return nil, fmt.Errorf("model_fn, mode %s: %w", mode, err)
	}
	if err := b.leaveOutUnfed(); err != nil {
		return nil, fmt.Errorf("model_fn, mode %s: %w", mode, err)
	}
	if p.spec.TrainOp != nil {
		p.unreached = p.spec.TrainOp.Unreached
	}
	return p, nil
}

// fedColumns are the columns that a mode's graph reads: all, except labels when
// predicting.
func fedColumns(mode models.Mode, schema *inputs.Schema) []inputs.Column {
	var out []inputs.Column
	for _, c := range schema.Columns() {
		if mode != models.Predict || c.Role != inputs.Label {
			out = append(out, c)
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
