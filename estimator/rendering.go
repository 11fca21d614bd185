package estimator

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distribute/trace"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// rendering is one build of the model_fn, at one batch size.
type rendering struct {
	*trace.Tracing
	program *program
}

// inputSpec describes the inputs of a program.
type inputSpec struct {
	columns []inputs.Column
	sizes   raggedSizes
}

func (e *Estimator) render(mode models.Mode, in inputSpec, batch int) (*rendering, error) {
	r := &rendering{program: &program{mode: mode, sizes: in.sizes}}
	opts := models.Options{Mode: mode, Batch: batch, Seed: e.seed, DType: e.dtype, Frozen: e.isFrozen}
	_, err := models.Build(opts, func(b *models.Builder) error {
		mc := &ModelContext{Builder: b, params: e.params.clone(), config: e.config, columns: in.columns, optimizer: e.opt, optional: e.optional}
		mc.replicas = e.replicasInSync(mode)
		features, labels, err := mc.addInputs(in)
		if err != nil {
			return err
		}
		spec, err := e.modelFn.Model(mc, features, labels)
		if err != nil {
			return err
		}
		if b.Failed() {
			return b.Err()
		}
		if err := spec.validate(mode); err != nil {
			return err
		}
		if mode == models.Train && e.opt != nil && !e.optional && !mc.asked {
			return errors.New("the model_fn has an optimizer of its own: leave WithOptimizer out (in a config file, the section optimizer), or let it take the context's")
		}
		if mode == models.Train {
			if err := e.checkFrozen(spec, b.Variables()); err != nil {
				return err
			}
		}
		r.program.spec = spec
		return r.lower(mc)
	})
	if err != nil {
		return nil, fmt.Errorf("model_fn, mode %s: %w", mode, err)
	}
	return r, nil
}

// addInputs makes a leaf for each column, and a second one for the offsets of a ragged feature.
func (mc *ModelContext) addInputs(in inputSpec) (features models.Features, labels models.Labels, err error) {
	b := mc.Builder
	var fs, ls []models.Feature
	var weights *G.Node
	for _, c := range in.columns {
		shape := append([]int{b.Batch()}, c.Shape...)
		var leaf *G.Node
		switch {
		case c.Role == inputs.Label:
			leaf = b.Input("labels/"+c.Name, c.DType, shape...)
			l := models.Feature{Name: c.Name, Dense: leaf}
			if c.Ragged {
				l.Ragged, l.Dense = &models.Ragged{Values: l.Dense}, nil
			}
			ls = append(ls, l)
		case c.Role == inputs.Weight && c.Ragged:
			return features, labels, fmt.Errorf("column %q is ragged: expected one weight for each example", c.Name)
		case c.Role == inputs.Weight:
			if weights != nil {
				return features, labels, fmt.Errorf("column %q is a second weight: expected one column with the role weight at most", c.Name)
			}
			weights = b.Input("weights/"+c.Name, c.DType, shape...)
			leaf = weights
		case c.Ragged:
			r := b.Ragged(c.Name, c.DType, in.sizes[c.Name])
			leaf = r.Values
			fs = append(fs, models.Feature{Name: c.Name, Ragged: r})
		default:
			leaf = b.Input("features/"+c.Name, c.DType, shape...)
			fs = append(fs, models.Feature{Name: c.Name, Dense: leaf})
		}
		mc.leaves = append(mc.leaves, leaf)
	}
	return models.NewFeatures(b, fs...).WithWeights(weights), models.NewLabels(b, ls...), b.Err()
}

// lower lowers everything that the Spec and the Builder name.
func (r *rendering) lower(mc *ModelContext) (err error) {
	p, b := r.program, mc.Builder
	p.variables = b.Variables()
	if r.Tracing, err = trace.New(b, p.spec.TrainOp); err != nil {
		return err
	}
	for i, c := range mc.columns {
		p.feeds = append(p.feeds, feed{column: c, output: r.Leaves[mc.leaves[i]]})
	}
	for _, in := range b.RaggedInputs() {
		f := &p.feeds[slices.Index(mc.leaves, in.Values)]
		f.ragged, f.offsets = in, r.Leaves[in.Offsets]
	}
	for _, e := range mc.encoded {
		p.feeds = append(p.feeds, e.feed(mc.columns, r.Leaves[e.node]))
	}
	for i := range p.feeds {
		r.Move(&p.feeds[i].output)
		r.Move(&p.feeds[i].offsets)
	}
	r.collect(b)
	return r.Lower(b)
}

// collect lists the roots: loss, predictions, metrics, gradients, updates, summaries.
func (r *rendering) collect(b *models.Builder) {
	p := r.program
	if p.spec.Loss != nil {
		r.Add(p.spec.Loss, "loss", &p.loss)
	}
	p.predictions = r.named("prediction", p.spec.Predictions, p.spec.Texts)
	switch p.mode {
	case models.Predict:
		r.collectExports()
	case models.Eval:
		r.collectMetrics()
	}
	if p.mode == models.Train {
		p.effects = r.Effects(b, p.spec.TrainOp)
	}
	p.summaries = make([]summaryOutput, len(b.Summaries()))
	for i, s := range b.Summaries() {
		p.summaries[i].Summary = s
		r.Add(s.Node, "summary "+s.Tag, &p.summaries[i].output)
	}
}

// named lists nodes and texts by name.
func (r *rendering) named(what string, nodes Nodes, texts Texts) []named {
	names := slices.Concat(sortedKeys(nodes), sortedKeys(texts))
	slices.Sort(names)
	out := make([]named, len(names))
	for i, name := range names {
		out[i].name = name
		n := nodes[name]
		if t, ok := texts[name]; ok {
			out[i].text, n = &t, t.IDs
		}
		r.Add(n, what+" "+name, &out[i].output)
	}
	return out
}

func (r *rendering) collectExports() {
	for _, name := range sortedKeys(r.program.spec.ExportOutputs) {
		o := r.program.spec.ExportOutputs[name]
		r.program.exports = append(r.program.exports, exported{name, o.Kind, r.named("export output "+name, o.Outputs, o.Texts)})
	}
}

func (r *rendering) collectMetrics() {
	p := r.program
	for _, name := range sortedKeys(p.spec.EvalMetrics) {
		m := metricArgs{name: name, metric: p.spec.EvalMetrics[name]}
		m.args = make([]graph.Output, len(m.metric.Args))
		for i, n := range m.metric.Args {
			r.Add(n, "metric "+name, &m.args[i])
		}
		p.metrics = append(p.metrics, m)
	}
}

// unified returns the program of the two renderings first and r, with one graph.
func (r *rendering) unified(first *rendering) (*program, error) {
	if err := trace.Unify(first.Tracing, r.Tracing); err != nil {
		return nil, err
	}
	r.program.graph, r.program.step = r.Graph, r.Step
	return r.program, nil
}

// leaveOutUnfed removes unused columns from the feeds if they are text, ragged, or fed
// encoded. Text or ragged labels that are used are an error: programs compute with
// numbers.
func (r *rendering) leaveOutUnfed() error {
	used := r.Used()
	encoded := map[string]bool{}
	for _, f := range r.program.feeds {
		encoded[f.column.Name] = encoded[f.column.Name] || f.encoder != nil
	}
	var errs []error
	var feeds []feed
	for _, f := range r.program.feeds {
		unfit := f.column.DType == tensor.String || f.column.Ragged && f.ragged == nil
		switch {
		case f.ragged != nil && !unfit:
			if used[f.output] || used[f.offsets] {
				feeds = append(feeds, f)
			}
		case f.encoder != nil, !unfit && (used[f.output] || !encoded[f.column.Name]):
			feeds = append(feeds, f)
		case used[f.output] && f.column.Ragged && f.column.DType != tensor.String:
			errs = append(errs, fmt.Errorf("column %q is a ragged label, and the model uses its values: expected a head that encodes them", f.column.Name))
		case used[f.output]:
			errs = append(errs, fmt.Errorf("column %q is text, and the model uses it: give it a vocabulary, or leave it out with role: ignore", f.column.Name))
		}
	}
	r.program.feeds = feeds
	return errors.Join(errs...)
}
