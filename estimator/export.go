package estimator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/export"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
)

// ServingInput describes the inputs of an exported model.
type ServingInput struct {
	form    export.InputForm
	columns []inputs.Column
}

// RawServingInput feeds a tensor for each feature. Columns describe the data; see
// ServingColumns. A model of feature columns may be exported without them: it knows
// which features it reads, but not their shapes, accepts lists, and offers only
// predictions.
func RawServingInput(columns ...inputs.Column) ServingInput {
	return ServingInput{export.Raw(), columns}
}

// ParsingServingInput feeds serialized tf.train.Examples. Columns are as for RawServingInput.
func ParsingServingInput(columns ...inputs.Column) ServingInput {
	return ServingInput{export.Parsing(), columns}
}

// String is "raw" or "parsing".
func (s ServingInput) String() string { return s.form.String() }

// ServingColumns returns the columns of an input_fn's data, without reading it. Pass the modes
// that ExportModes gets: they need data with labels, which Predict does not.
func (e *Estimator) ServingColumns(ctx context.Context, input InputFn, modes ...models.Mode) ([]inputs.Column, error) {
	mode := models.Predict
	if len(modes) > 0 {
		mode = models.Eval
	}
	ds, err := e.callInput(ctx, input, mode)
	if err != nil {
		return nil, err
	}
	return slices.Clone(ds.Schema().Columns()), nil
}

// ExportOption adjusts an export.
type ExportOption func(*exportOptions)

type exportOptions struct {
	checkpoint string
	steps      int
	modes      []models.Mode
	assets     map[string][]byte
	warmUp     []*apis_go_proto.PredictionLog
	write      export.Options
}

// ExportCheckpoint exports the checkpoint with that prefix instead of the newest.
func ExportCheckpoint(prefix string) ExportOption {
	return func(o *exportOptions) { o.checkpoint = prefix }
}

// ExportSequenceLength sets the length of the longest sequence, in steps, that an
// exported sequence model takes. It is rounded up to a power of two.
func ExportSequenceLength(steps int) ExportOption {
	return func(o *exportOptions) { o.steps = steps }
}

// ExportModes adds the graphs of Train or Eval to the graph of Predict, with the tags "train" and "eval".
// The columns of the serving input must include the labels, as ServingColumns returns them for these modes.
// Labels and weights of steps are fed padded to the length of ExportSequenceLength.
//
// A label or weight column that the model_fn encodes, as heads do, is fed in its encoded form: ids for
// the words of a vocabulary, zeros and ones for several classes.
//
// Both graphs have the loss and the predictions. The Train graph has the update as its train_op, by which
// TensorFlow continues from the checkpoint as Train would. A model that trains by a step function (boosted
// trees, K-means) has no such op: exporting its Train graph is an error that wraps optimizers.ErrStepFunction.
//
// The Eval graph has metrics/<name>/value and metrics/<name>/update_op for the Spec's EvalMetrics.
// Accumulators of other packages have no graph; they are left out, and the log names them.
func ExportModes(modes ...models.Mode) ExportOption {
	return func(o *exportOptions) { o.modes = modes }
}

// ExportAssets adds files below assets.extra, by name.
func ExportAssets(files map[string][]byte) ExportOption {
	return func(o *exportOptions) { o.assets = files }
}

// ExportWarmUp adds requests that a server replays before it uses the model.
func ExportWarmUp(requests ...*apis_go_proto.PredictionLog) ExportOption {
	return func(o *exportOptions) { o.warmUp = requests }
}

// ExportText writes saved_model.pbtxt instead of saved_model.pb.
func ExportText() ExportOption {
	return func(o *exportOptions) { o.write.Text = true }
}

// ExportSavedModel writes the newest checkpoint as a SavedModel to a new folder in
// base, and returns that folder. Its name is the Unix time in seconds, and it appears
// atomically.
//
// There is a signature for each of the Spec's ExportOutputs, under its name. The only
// one, or the one of that name, is serving_default. Without a checkpoint the error
// wraps ErrNoCheckpoint.
func (e *Estimator) ExportSavedModel(ctx context.Context, base string, serving ServingInput, opts ...ExportOption) (string, error) {
	dir, err := e.export(ctx, serving, opts, func(m export.Model, o exportOptions) (string, error) {
		return export.SavedModel(atomicfile.OS{}, base, m, o.write)
	})
	if err != nil {
		return "", fmt.Errorf("export: %w", err)
	}
	return dir, nil
}

// export builds the exported model and passes it to write.
func (e *Estimator) export(ctx context.Context, serving ServingInput, opts []ExportOption, write func(export.Model, exportOptions) (string, error)) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	o := e.exportOptions(opts)
	m, r, err := e.exported(serving, o)
	if err != nil {
		return "", err
	}
	defer r.Close()
	return write(m, o)
}

func (e *Estimator) exportOptions(opts []ExportOption) exportOptions {
	o := exportOptions{write: export.Options{Log: e.log}}
	for _, f := range opts {
		f(&o)
	}
	return o
}

// exported returns the model to export, and the checkpoint with its variables, which the caller closes.
func (e *Estimator) exported(serving ServingInput, o exportOptions) (export.Model, io.Closer, error) {
	m := export.Model{Assets: o.assets, WarmUp: o.warmUp}
	r, err := e.openCheckpoint(o.checkpoint)
	if err != nil {
		return m, nil, err
	}
	x := &exporting{est: e, serving: serving, options: o, reader: r, trainable: map[string]bool{}, stored: map[string]string{}}
	for _, mode := range append([]models.Mode{models.Predict}, o.modes...) {
		g, err := x.graph(mode)
		if err != nil {
			return m, nil, errors.Join(fmt.Errorf("mode %s: %w", mode, err), r.Close())
		}
		m.Graphs = append(m.Graphs, g)
	}
	m.Variables = export.Variables{Value: x.value, Trainable: func(name string) bool { return x.trainable[name] }}
	return m, r, nil
}

// openCheckpoint opens the checkpoint with that prefix, "" for the newest; there must be one.
func (e *Estimator) openCheckpoint(prefix string) (*checkpoint.Reader, error) {
	r, err := e.openForInference(prefix)
	if errors.Is(err, checkpoint.ErrNone) {
		return nil, fmt.Errorf("%w in model_dir: %s", ErrNoCheckpoint, e.modelDir)
	}
	return r, err
}

// exporting makes the graphs of one export.
type exporting struct {
	est       *Estimator
	serving   ServingInput
	options   exportOptions
	reader    *checkpoint.Reader
	trainable map[string]bool
	stored    map[string]string // checkpoint names of the variables that have another name there
}

// graph builds a mode's graph with its inputs and signatures.
func (x *exporting) graph(mode models.Mode) (export.Graph, error) {
	p, err := x.program(mode)
	if err != nil {
		return export.Graph{}, err
	}
	if err := x.check(p); err != nil {
		return export.Graph{}, err
	}
	if mode == models.Predict {
		x.est.warnUnused(x.reader, p)
	}
	return x.describe(p)
}

// describe returns a program's graph with its inputs and signatures.
func (x *exporting) describe(p *program) (g export.Graph, err error) {
	g = export.Graph{Mode: p.mode, IR: p.graph, Input: x.serving.form}
	if plan := planOf(x.est.modelFn); plan != nil {
		g.Columns, g.Raw = plan, x.serving.columns
	}
	if g.Signatures, err = p.signatures(); err != nil {
		return g, err
	}
	switch p.mode {
	case models.Train:
		if g.TrainOp, err = p.emitUpdate(); err != nil {
			return g, err
		}
	case models.Eval:
		if err := x.addMetrics(p, &g); err != nil {
			return g, err
		}
	}
	used := needed(g)
	for _, f := range p.feeds {
		if !used[f.output.Node] && !used[f.offsets.Node] {
			continue // an unused column
		}
		if f.encoder != nil && p.mode == models.Predict {
			return g, fmt.Errorf("column %q is encoded on the host by the model_fn: a model that does so to features cannot be exported", f.column.Name)
		}
		feed := export.Feed{Column: f.column, Values: f.output, Offsets: f.offsets}
		if f.ragged != nil && f.ragged.Padded {
			feed.Length, feed.Width = f.ragged.Length, max(f.ragged.Step, 1)
		}
		g.Feeds = append(g.Feeds, feed)
	}
	return g, nil
}

// needed returns the nodes that a graph's signatures and train op depend on.
func needed(g export.Graph) map[*graph.Node]bool {
	nodes := slices.Clone(g.TrainOp)
	for _, s := range g.Signatures {
		for _, o := range s.Outputs {
			nodes = append(nodes, o.Output.Node)
		}
	}
	return graph.Reachable(nodes...)
}

// program builds a mode's program for the inputs of the exported model.
func (x *exporting) program(mode models.Mode) (*program, error) {
	schema, err := x.est.exportedSchema(x.serving.columns, mode)
	if err != nil {
		return nil, err
	}
	build := func(sizes raggedSizes) (*program, error) {
		if sizes == nil {
			return x.est.startProgram(mode, schema)
		}
		return x.est.buildProgram(mode, schema, sizes)
	}
	p, err := build(nil)
	if err != nil {
		return nil, err
	}
	sizes := raggedSizes{}
	for _, f := range p.feeds {
		if f.ragged == nil || !f.ragged.Padded {
			continue
		}
		if x.options.steps < 1 {
			return nil, fmt.Errorf("column %q is a sequence: say how many steps the longest has (export.max_sequence_length, or ExportSequenceLength)", f.column.Name)
		}
		steps := powerOfTwo(x.options.steps)
		sizes[f.column.Name] = models.RaggedSize{Capacity: steps * max(f.ragged.Step, 1), Length: steps}
	}
	if len(sizes) == 0 {
		return p, nil
	}
	return build(sizes)
}

// exportedSchema returns the schema of the model_fn's data if the exported model is
// fed these columns.
func (e *Estimator) exportedSchema(columns []inputs.Column, mode models.Mode) (*inputs.Schema, error) {
	if plan := planOf(e.modelFn); plan != nil {
		specs, err := plan.ExampleSpecs()
		if err != nil {
			return nil, err
		}
		columns = unread(columns, specs, mode)
		for _, s := range specs {
			columns = append(columns, inputs.Column{Name: s.Key, DType: s.DType, Shape: s.Shape, Ragged: s.VarLen})
		}
	} else if len(columns) == 0 {
		return nil, errors.New("no columns: say what the model is fed with, for example by ServingColumns")
	}
	raw, err := inputs.NewSchema(columns...)
	if err != nil {
		return nil, err
	}
	p, ok := e.modelFn.(Preparer)
	if !ok {
		return raw, nil
	}
	ds, err := p.Prepare(described{raw})
	if err != nil {
		return nil, err
	}
	return ds.Schema(), nil
}

// unread returns the columns that feature columns do not read but the model_fn may: labels and weights.
// With labels it includes all numeric columns, since one of them may be the head's weight column.
func unread(columns []inputs.Column, specs []feature.ExampleSpec, mode models.Mode) []inputs.Column {
	read := map[string]bool{}
	for _, s := range specs {
		read[s.Key] = true
	}
	return slices.DeleteFunc(slices.Clone(columns), func(c inputs.Column) bool {
		if c.Role == inputs.Label || c.Role == inputs.Weight {
			return false
		}
		return read[c.Name] || mode == models.Predict || c.DType == tensor.String
	})
}

// described is a data set that is never read.
type described struct{ schema *inputs.Schema }

// Schema implements inputs.Dataset.
func (d described) Schema() *inputs.Schema { return d.schema }

// Iterate implements inputs.Dataset.
func (d described) Iterate(context.Context) (inputs.Iterator, error) {
	return nil, errors.New("this data set is a description, without data")
}

// planOf returns the feature columns of a model_fn, nil for none.
func planOf(fn ModelFn) *feature.Plan {
	if p, ok := fn.(prepared); ok {
		fn, _ = p.Preparer.(ModelFn)
	}
	if p, ok := fn.(interface{ Plan() *feature.Plan }); ok {
		return p.Plan()
	}
	return nil
}

// signatures returns the signatures of the program's graph.
func (p *program) signatures() ([]export.Signature, error) {
	loss := export.Named{Name: "loss", Output: p.loss}
	switch p.mode {
	case models.Train, models.Eval:
		out := export.Signature{Name: string(export.Training), Kind: export.Training, Outputs: []export.Named{loss}}
		if p.mode == models.Eval {
			out.Name, out.Kind = string(export.Eval), export.Eval
		}
		for _, n := range p.predictions {
			n.name = "predictions/" + n.name
			out.Outputs = append(out.Outputs, n.exported())
		}
		return []export.Signature{out}, nil
	}
	if len(p.exports) == 0 {
		all := export.Signature{Name: defaultSignature, Kind: export.Predict}
		for _, n := range p.predictions {
			all.Outputs = append(all.Outputs, n.exported())
		}
		return []export.Signature{all}, nil
	}
	var out []export.Signature
	found := false
	for _, s := range p.exports {
		sig := export.Signature{Name: s.name, Kind: export.Kind(s.kind)}
		for _, n := range s.outputs {
			sig.Outputs = append(sig.Outputs, n.exported())
		}
		found = found || s.name == defaultSignature
		out = append(out, sig)
	}
	if !found && len(out) > 1 {
		return nil, fmt.Errorf("multiple export_outputs were provided, but none of them is specified as the default: name one of them %s", defaultSignature)
	}
	return out, nil
}

// defaultSignature is the signature for requests that name none.
const defaultSignature = "serving_default"

func (n named) exported() export.Named {
	out := export.Named{Name: n.name, Output: n.output}
	if n.text != nil {
		out.Text = &export.Text{Words: n.text.Vocabulary}
	}
	return out
}
