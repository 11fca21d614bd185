package canned

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Characters are the bytes that a LanguageModel knows by default: NUL, which stands for all other bytes, tab, line feed and printable ASCII.
const Characters = "\x00\n\t !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"

// LanguageModel learns the texts in a column, one per row, byte by byte, with a line feed before and after each. Of a text that is longer than
// the network's context it learns the beginning. Its predictions say how likely a text is: "loss" is the mean negative log-probability of a
// byte, and "perplexity" its exponential. estimator.ExportGenerator exports a model that generates text. tf.estimator has no such model.
type LanguageModel struct {
	Column     string                // of the texts; "": the only feature
	Net        networks.GPT          // without a Vocabulary; a Context of 0 is 128
	Characters string                // bytes, each once; "": Characters. The first one stands for all other bytes
	Optimizer  *optimizers.Optimizer // nil: Adam with learning rate 0.001
}

// ModelFn returns the model_fn; its error names the option that is wrong.
func (o LanguageModel) ModelFn() (*TextModel, error) {
	m := &TextModel{column: o.Column, net: o.Net, characters: cmp.Or(o.Characters, Characters), optimizer: choice{o.Optimizer, o.Optimizer != nil}}
	m.net.Vocabulary, m.net.Context = len(m.characters), cmp.Or(m.net.Context, 128)
	for i := range len(m.characters) {
		if strings.IndexByte(m.characters, m.characters[i]) < i {
			return nil, fmt.Errorf("characters: %q is there twice", m.characters[i])
		}
		m.ids[m.characters[i]] = int32(i)
	}
	if strings.IndexByte(m.characters, '\n') < 1 {
		return nil, fmt.Errorf("characters: %q: expected a byte that stands for all others, and a line end among those that follow", m.characters)
	}
	if m.net.Context < 2 {
		return nil, fmt.Errorf("context: expected 2 or more, got %d", m.net.Context)
	}
	if !m.optimizer.given {
		var err error
		if m.optimizer.Optimizer, err = named("Adam", ownRate); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// New returns the Estimator of the model.
func (o LanguageModel) New(opts ...estimator.Option) (*estimator.Estimator, error) {
	return newEstimator(o.ModelFn, opts)
}

// TextModel is the model_fn of a LanguageModel.
type TextModel struct {
	column     string
	net        networks.GPT
	characters string
	ids        [256]int32 // by byte
	optimizer  choice
}

var _ estimator.ModelFn = (*TextModel)(nil)

// Generator returns the generator of texts, for estimator.ExportGenerator and TextWriter.
func (m *TextModel) Generator() estimator.Generator {
	return estimator.Generator{Model: m.net, Characters: m.characters}
}

// nothing is the id of a place after the end of a text.
const nothing = -1

// Model builds the graph of a mode.
func (m *TextModel) Model(mc *estimator.ModelContext, f models.Features, _ models.Labels) (*estimator.Spec, error) {
	text := f.Only
	if m.column != "" {
		text = func() *G.Node { return f.Dense(m.column) }
	}
	column := text()
	if mc.Failed() {
		return nil, mc.Err()
	}
	if f.Weights() != nil {
		return nil, errors.New("language_model: texts have no weights: leave the column of the role weight out")
	}
	if d := models.GraphType(column.Dtype()); d != tensor.String || len(column.Shape()) != 1 {
		return nil, fmt.Errorf("language_model: the column is %v%v: expected one text in each row", d, column.Shape())
	}
	places := m.net.Context
	ids := mc.Encode(column, estimator.Encoder{DType: tensor.Int32, Shape: []int{places + 1}, Encode: m.encode})
	zero := ops.Scalar(mc, tensor.Int32, 0)
	following := ops.Slice(mc, ids, []int{0, 1}, []int{-1, -1})
	there := ops.Cast(mc, ops.NotEqual(mc, following, ops.Scalar(mc, tensor.Int32, nothing)), mc.DType())
	following = ops.Maximum(mc, following, zero)
	logits := m.net.Logits(mc, ops.Maximum(mc, ops.Slice(mc, ids, []int{0, 0}, []int{-1, places}), zero))
	flat := ops.Reshape(mc, logits, -1, m.net.Vocabulary)
	each := ops.Reshape(mc, ops.SparseSoftmaxCrossEntropyWithLogits(mc, ops.Reshape(mc, following, -1), flat), -1, places)
	each = ops.Mul(mc, each, there)
	if mc.Mode() == models.Predict {
		mean := ops.DivNoNan(mc, ops.Sum(mc, each, ops.Axes(1)), ops.Sum(mc, there, ops.Axes(1)))
		return &estimator.Spec{Mode: mc.Mode(), Predictions: estimator.Nodes{"loss": mean, "perplexity": ops.Exp(mc, mean)}}, mc.Err()
	}
	spec := &estimator.Spec{Mode: mc.Mode(), Loss: ops.DivNoNan(mc, ops.Sum(mc, each), ops.Sum(mc, there))}
	if mc.Failed() {
		return nil, mc.Err()
	}
	if mc.Mode() == models.Train {
		spec.TrainOp = m.optimizer.in(mc).Minimize(mc, spec.Loss)
		return spec, mc.Err()
	}
	args := []*G.Node{ops.Reshape(mc, following, -1), flat, ops.Reshape(mc, there, -1)}
	spec.EvalMetrics = estimator.Metrics{}
	for name, kind := range map[string]string{"average_loss": "sparse_categorical_crossentropy", "perplexity": "perplexity"} {
		spec.EvalMetrics[name] = estimator.Metric{New: func() (metrics.Accumulator, error) { return metrics.New(kind, metrics.WithLogits(true)) }, Args: args}
	}
	return spec, mc.Err()
}

// encode writes the ids of texts, [rows, places].
func (m *TextModel) encode(dst *tensor.Tensor, c inputs.NamedTensor) error {
	out, places := tensor.Values[int32](dst), dst.Shape[1]
	for row, text := range c.Tensor.Strings {
		line := append(append([]byte{'\n'}, text[:min(len(text), places)]...), '\n')
		for i := range places {
			id := int32(nothing)
			if i < len(line) {
				id = m.ids[line[i]]
			}
			out[row*places+i] = id
		}
	}
	return nil
}

// languageModelNamed makes a LanguageModel from the parameters of the network gpt, and its own.
func languageModelNamed(r *paramReader) (estimator.ModelFn, error) {
	o := LanguageModel{Column: r.text("column"), Characters: r.text("characters"), Optimizer: r.optimizer("optimizer", ownRate)}
	keys, err := networks.Keys("gpt")
	given := map[string]any{}
	for _, key := range keys {
		if v := r.Any(key); v != nil {
			given[key] = v
		}
	}
	if err == nil {
		o.Net, err = networks.NewGPT(given)
	}
	if err != nil {
		r.Fail(err)
	}
	return finish(r, o.ModelFn)
}
