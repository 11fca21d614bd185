package estimator

import (
	"fmt"
	"github.com/goestimator/goestimator/internal/training/update"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/models"
)

// AutoSummaries are summaries that training writes in addition to those of the model_fn.
type AutoSummaries struct {
	Histograms bool // of every trainable variable and its gradient
	Images     int  // the number of images of each batch to show, for each feature that is an image
}

// WithAutoSummaries adds summaries to the model_fn's own.
func WithAutoSummaries(a AutoSummaries) Option {
	return func(e *Estimator) error {
		if a.Images < 0 {
			return fmt.Errorf("auto summaries: images must be >= 0, given: %d", a.Images)
		}
		e.auto = a
		return nil
	}
}

// summaryTensors are the model_fn's summaries and the automatic ones.
func (p *program) summaryTensors(auto AutoSummaries) []hooks.SummaryTensor {
	var out []hooks.SummaryTensor
	for _, s := range p.summaries {
		out = append(out, hooks.SummaryTensor{Tag: s.Tag, Kind: s.Kind, Fetch: s.output.String()})
	}
	if auto.Histograms {
		out = append(out, p.histograms()...)
	}
	if n := auto.Images; n > 0 {
		for _, f := range p.feeds {
			if isImage(f.column) {
				out = append(out, hooks.SummaryTensor{Tag: f.output.Node.Name, Kind: models.ImageSummary, Fetch: f.output.String(), MaxImages: n})
			}
		}
	}
	return out
}

// histograms returns the histograms of the trainable variables at the start of the step, and of the dense
// gradients that are applied.
func (p *program) histograms() []hooks.SummaryTensor {
	grads, err := p.appliedGradients()
	if err != nil {
		return nil // compilation reports the error
	}
	var out []hooks.SummaryTensor
	i := 0
	for _, g := range p.spec.TrainOp.Groups {
		for _, v := range g.Variables {
			read := graph.NewBuilder(p.graph).Read(p.graph.Node(v.Name).Out(0), graph.TypeOf(v.DType, v.Shape...))
			out = append(out, hooks.SummaryTensor{Tag: v.Name, Kind: models.HistogramSummary, Fetch: read.String()})
			if grad := grads[i]; !grad.Sparse() {
				out = append(out, hooks.SummaryTensor{Tag: v.Name + "/gradient", Kind: models.HistogramSummary, Fetch: grad.Output.String()})
			}
			i++
		}
	}
	return out
}

// appliedGradients returns the gradients without the loss scale. They are 0 if the update is skipped, since NaN
// has no histogram.
func (p *program) appliedGradients() ([]lower.Value, error) {
	var grads []lower.Value
	for _, g := range p.effects.Gradients {
		grads = append(grads, *g)
	}
	b := graph.NewBuilder(p.graph)
	plain, err := update.Unscale(p.spec.TrainOp, b, grads)
	if err != nil || !plain.Finite.Valid() {
		return plain.Gradients, err
	}
	for i, g := range plain.Gradients {
		plain.Gradients[i] = g.Map(func(x graph.Output) graph.Output {
			zeros := b.Op("ZerosLike", "summaries/ZerosLike", x.Type(), graph.Attrs{"T": x.DType()}, x)
			return b.Op("SelectV2", "summaries/SelectV2", x.Type(), graph.Attrs{"T": x.DType()}, plain.Finite, x, zeros)
		})
	}
	return plain.Gradients, b.Err()
}

// isImage reports whether a feature has the shape of an image: height, width and 1, 3 or 4 channels.
func isImage(c inputs.Column) bool {
	if c.Role != inputs.Feature || len(c.Shape) != 3 {
		return false
	}
	ch := c.Shape[2]
	return ch == 1 || ch == 3 || ch == 4
}
