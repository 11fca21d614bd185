package heads

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// MultiHead is several heads over one model (tf.estimator.MultiHead). Its loss is the
// weighted sum of the heads' losses. Each head has the label of its name; a
// reconstruction needs none. Metrics are loss/<head> and the metrics of the heads; a
// prediction's name is <head>/<key>.
type MultiHead struct {
	heads   []Head
	weights []float64
	err     error
}

var _ Head = MultiHead{}

// Multi returns the MultiHead of several heads, which must all have names and the same
// loss reduction. The first is the default when serving.
func Multi(hs ...Head) MultiHead { return MultiHead{heads: slices.Clone(hs), err: checkHeads(hs)} }

// Weighted returns the head with one weight for each head's loss; without any, all are 1.
func (m MultiHead) Weighted(headWeights ...float64) MultiHead {
	if n := len(headWeights); n > 0 && n != len(m.heads) && m.err == nil {
		m.err = fmt.Errorf("%w: heads and head_weights must have the same size. Given len(heads): %d. Given len(head_weights): %d", ErrOption, len(m.heads), n)
	}
	m.weights = slices.Clone(headWeights)
	return m
}

// Of returns the model_fn of a network with this head; the Estimator's optimizer trains it.
func (m MultiHead) Of(n networks.Network) estimator.ModelFn { return ModelFn(n, m, nil) }

// Err returns what is wrong with the heads.
func (m MultiHead) Err() error {
	if m.err == nil && len(m.heads) == 0 { // the zero MultiHead
		return checkHeads(nil)
	}
	return m.err
}

// checkHeads reports heads that cannot be combined.
func checkHeads(hs []Head) error {
	if len(hs) == 0 {
		return fmt.Errorf("%w: must specify heads. Given: %v", ErrOption, hs)
	}
	var names []string
	for i, h := range hs {
		if h == nil || h.Name() == "" {
			return fmt.Errorf("%w: all given heads must have name specified. Head %d has none", ErrOption, i)
		}
		if err := Check(h); err != nil {
			return err
		}
		if slices.Contains(names, h.Name()) {
			return fmt.Errorf("%w: two heads have the name %q", ErrOption, h.Name())
		}
		names = append(names, h.Name())
	}
	var reductions []losses.Reduction
	for _, h := range hs {
		reductions = append(reductions, h.LossReduction())
	}
	if len(slices.Compact(slices.Clone(reductions))) > 1 {
		return fmt.Errorf("%w: the loss_reduction must be the same for different heads. Given: %v", ErrOption, reductions)
	}
	return nil
}

// Name returns the names of the heads, joined by "_".
func (m MultiHead) Name() string { return strings.Join(m.names(), "_") }

func (m MultiHead) names() []string {
	if m.err != nil {
		return nil
	}
	var names []string
	for _, h := range m.heads {
		names = append(names, h.Name())
	}
	return names
}

// LogitsDimension is the sum of the heads' dimensions.
func (m MultiHead) LogitsDimension() int {
	if m.err != nil {
		return 0
	}
	n := 0
	for _, h := range m.heads {
		n += h.LogitsDimension()
	}
	return n
}

// LossReduction is the heads' reduction.
func (m MultiHead) LossReduction() losses.Reduction {
	if m.Err() != nil {
		return losses.SumOverBatchSize
	}
	return m.heads[0].LossReduction()
}

// Spec returns the Spec of mc's mode.
func (m MultiHead) Spec(mc *estimator.ModelContext, in Inputs) (*estimator.Spec, error) {
	return spec(mc, m, in)
}

// Part merges the parts of the heads.
func (m MultiHead) Part(mc *estimator.ModelContext, in Inputs) (*Part, error) {
	if err := m.Err(); err != nil {
		return nil, err
	}
	logits, err := m.split(mc, in)
	if err != nil {
		return nil, err
	}
	labels, err := m.labels(mc, in.Labels)
	if err != nil {
		return nil, err
	}
	out := &Part{Predictions: estimator.Nodes{}, Texts: estimator.Texts{}, Metrics: estimator.Metrics{},
		ExportOutputs: map[string]estimator.ExportOutput{}}
	for i, h := range m.heads {
		p, err := h.Part(mc, Inputs{Features: in.Features, Labels: labels[i], Logits: logits[i]})
		if err != nil {
			return nil, fmt.Errorf("head %s: %w", h.Name(), err)
		}
		out.addPredictions(h.Name(), p)
		if p.Loss == nil {
			continue
		}
		summarize(mc, h, "loss", p.Loss)
		out.addLoss(mc, h.Name(), p, m.weight(i))
	}
	out.ExportOutputs["serving_default"] = out.ExportOutputs[m.heads[0].Name()]
	out.ExportOutputs["predict"] = estimator.ExportOutput{Kind: estimator.ExportPredict, Outputs: out.Predictions, Texts: out.Texts}
	return out, mc.Err()
}

func (m MultiHead) weight(i int) float64 {
	if m.weights == nil {
		return 1
	}
	return m.weights[i]
}

// addPredictions adds a head's predictions and signatures.
func (p *Part) addPredictions(head string, of *Part) {
	for k, n := range of.Predictions {
		p.Predictions[head+"/"+k] = n
	}
	for k, t := range of.Texts {
		p.Texts[head+"/"+k] = t
	}
	for k, e := range of.ExportOutputs {
		if k == "serving_default" {
			p.ExportOutputs[head] = e
		} else {
			p.ExportOutputs[head+"/"+k] = e
		}
	}
}

// addLoss adds a head's weighted loss and metrics.
func (p *Part) addLoss(mc *estimator.ModelContext, head string, of *Part, weight float64) {
	p.Metrics["loss/"+head] = meanOf(of.Loss)
	for k, m := range of.Metrics {
		p.Metrics[k] = m
	}
	loss := of.Loss
	if weight != 1 {
		loss = ops.Mul(mc, loss, ops.Scalar(mc, models.GraphType(loss.Dtype()), weight))
	}
	if p.Loss != nil {
		loss = ops.Add(mc, p.Loss, loss)
	}
	p.Loss = loss
}

// split returns the logits of each head.
func (m MultiHead) split(mc *estimator.ModelContext, in Inputs) ([]*G.Node, error) {
	out := make([]*G.Node, len(m.heads))
	if in.HeadLogits != nil {
		for i, h := range m.heads {
			if out[i] = in.HeadLogits[h.Name()]; out[i] == nil {
				return nil, fmt.Errorf("logits has missing values for head(s): %s", h.Name())
			}
		}
		return out, nil
	}
	if in.Logits == nil || len(in.Logits.Shape()) != 2 || in.Logits.Shape()[1] != m.LogitsDimension() {
		return nil, fmt.Errorf("could not split logits of shape %v among the heads %v. The last dimension of the logits tensor should equal %d",
			shapeOf(in.Logits), m.names(), m.LogitsDimension())
	}
	from := 0
	for i, h := range m.heads {
		if h.LogitsDimension() < 1 {
			return nil, fmt.Errorf("head %s leaves open how many of the logits are its own: give it their number, or use Inputs.HeadLogits", h.Name())
		}
		out[i] = column(mc, in.Logits, from, h.LogitsDimension())
		from += h.LogitsDimension()
	}
	return out, mc.Err()
}

// labels returns the label of each head; none when predicting, or for a reconstruction.
func (m MultiHead) labels(mc *estimator.ModelContext, labels models.Labels) ([]models.Labels, error) {
	out := make([]models.Labels, len(m.heads))
	if mc.Mode() == models.Predict {
		return out, nil
	}
	for i, h := range m.heads {
		if _, ofFeatures := h.(ReconstructionHead); ofFeatures {
			continue
		}
		if labels.Len() == 0 {
			return nil, errNoLabels
		}
		at := slices.Index(labels.Names(), h.Name())
		if at < 0 {
			return nil, fmt.Errorf("labels has missing values for head(s): %s. The input has %v", h.Name(), labels.Names())
		}
		out[i] = models.NewLabels(mc, labels.All()[at])
	}
	return out, nil
}
