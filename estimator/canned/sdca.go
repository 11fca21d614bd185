package canned

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/columns"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// LinearSDCA is tf.estimator.experimental.LinearSDCA. It trains a LinearClassifier of two
// classes or a LinearRegressor of one number by stochastic dual coordinate ascent
// (Shalev-Shwartz and Zhang 2013; with several replicas, the adding of Ma et al. 2015). It
// minimises, over the examples i with weights c_i,
//
//	sum of c_i*loss(y_i, w*x_i) + SymmetricL1*|w| + SymmetricL2/2*|w|^2
//
// The bias is a weight of a feature that is always 1, the logistic loss is the cross entropy,
// and the squared loss half the squared error. No learning rate is needed.
//
// The state of each example, by the fingerprint of its id, is in the variables
// sdca/example_ids, sdca/example_state and sdca/totals, so that a checkpoint has it.
type LinearSDCA struct {
	ExampleIDColumn   string  // text or whole numbers; equal ids are one example
	NumLossPartitions int     // batches that are processed concurrently; 0: as many as replicas in sync
	SymmetricL1       float64 // symmetric_l1_regularization, at least 0
	SymmetricL2       float64 // symmetric_l2_regularization, above 0; 0: 1
	Adaptive          bool    // examples of a batch are drawn by the gain expected from each (Csiba et al. 2015)
	Examples          int     // largest number of different examples; 0: 65536
}

// check sets defaults.
func (o *LinearSDCA) check() error {
	if o.SymmetricL2 == 0 {
		o.SymmetricL2 = 1
	}
	if o.Examples == 0 {
		o.Examples = 1 << 16
	}
	finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	switch {
	case o.ExampleIDColumn == "":
		return fmt.Errorf("optimizer sdca: example_id_column: expected the column that identifies examples")
	case o.NumLossPartitions < 0:
		return fmt.Errorf("optimizer sdca: num_loss_partitions: expected >= 1, got %d", o.NumLossPartitions)
	case !(o.SymmetricL1 >= 0) || !finite(o.SymmetricL1):
		return fmt.Errorf("optimizer sdca: symmetric_l1_regularization: expected >= 0, got %v", o.SymmetricL1)
	case !(o.SymmetricL2 > 0) || !finite(o.SymmetricL2):
		return fmt.Errorf("optimizer sdca: symmetric_l2_regularization: expected > 0, got %v", o.SymmetricL2)
	case o.Examples < 1 || o.Examples > 1<<28:
		return fmt.Errorf("optimizer sdca: num_examples: expected 1 to 2^28, got %d", o.Examples)
	}
	return nil
}

// The losses of SDCA, by TensorFlow's names.
const (
	logisticLoss = "logistic_loss"
	squaredLoss  = "squared_loss"
)

// sdca is a linear model that is trained by dual coordinate ascent.
type sdca struct {
	linear
	options LinearSDCA
	loss    string
	weights string
	words   []string // label vocabulary
}

// sdcaModel returns the model_fn of a linear model under a head of one logit.
func sdcaModel(o LinearEstimator, s sdca) (*Model, error) {
	if err := s.options.check(); err != nil {
		return nil, err
	}
	switch {
	case o.Optimizer != nil:
		return nil, fmt.Errorf("optimizer: expected either an optimizer or SDCA, got both")
	case o.SparseCombiner != "" && o.SparseCombiner != feature.Sum:
		return nil, fmt.Errorf("sparse_combiner: expected sum with the optimizer sdca, got %s", o.SparseCombiner)
	case o.Head == nil || o.Head.LogitsDimension() != 1:
		return nil, fmt.Errorf("optimizer sdca: expected two classes, or a label of one number")
	case heads.KindOfLoss(o.Head) == heads.OtherLoss:
		return nil, fmt.Errorf("optimizer sdca: a head %T of a loss of its own: expected another optimizer, or the head's own loss", o.Head)
	}
	m, err := newModel(feature.Columns{Linear: o.Columns}, o.Head, o.WeightColumn)
	if err != nil {
		return nil, err
	}
	m.keep = append(m.keep, s.options.ExampleIDColumn)
	part, err := newLinear(m, nil, linearRate)
	if err != nil {
		return nil, err
	}
	for _, in := range part.inputs {
		if in.Table != nil || in.Kind != feature.Numbers && in.Kind != feature.IDs {
			return nil, fmt.Errorf("column %s: the optimizer sdca takes numeric and categorical columns", in.Column)
		}
	}
	s.linear, s.weights = *part, o.WeightColumn
	m.body = &s
	return m, nil
}

var _ dataTrained = (*sdca)(nil)

// train returns the TrainOp of the weights.
func (s *sdca) train(mc *estimator.ModelContext, in heads.Inputs, loss *G.Node) *optimizers.TrainOp {
	step := sdcaStep{Loss: s.loss, L1: s.options.SymmetricL1, L2: s.options.SymmetricL2, Adaptive: s.options.Adaptive, Seed: mc.CommonSeed(),
		Partitions: max(s.options.NumLossPartitions, mc.ReplicasInSync()), Capacity: s.options.Examples + s.options.Examples/2}
	refuseOptimizer(mc, "linear models with SDCA")
	op := &optimizers.StepOp{Function: "sdca", Args: []*G.Node{s.labels(mc, in.Labels), s.exampleWeights(mc, in), s.exampleIDs(mc, in.Features)}}
	byName := map[string]*models.Variable{}
	for _, v := range mc.Variables() {
		byName[v.Name] = v
	}
	add := func(name string, c sdcaColumn, args ...*G.Node) {
		v := byName[name]
		if v == nil {
			mc.Failf("optimizer sdca: no variable %s", name)
			return
		}
		if slices.Contains(op.Variables, v) {
			mc.Failf("optimizer sdca: two columns share the weights %s: expected weights of their own", name)
			return
		}
		c.Variable, c.Rows = name, v.Shape[0]
		u := mc.Variable(name+"_unshrunk", v.Shape, models.WithDType(tensor.Float32), models.NonTrainable(), models.WithInit(initializers.Zeros()))
		op.Variables = append(op.Variables, v, mc.VariableOf(u))
		step.Columns = append(step.Columns, c)
		op.Args = append(op.Args, args...)
	}
	for _, one := range s.inputs {
		name := one.Kernel.In(feature.LinearScope)
		if one.Kind == feature.Numbers {
			add(name, sdcaColumn{Dense: true}, ops.Cast(mc, columns.InputLayer(mc, in.Features, []feature.Input{one}, feature.LinearScope), tensor.Float32))
			continue
		}
		ids := in.Features.Ragged(one.Values)
		if mc.Failed() {
			return nil
		}
		args := []*G.Node{ids.Values, ids.Offsets}
		if one.Weights != "" {
			args = append(args, in.Features.Ragged(one.Weights).Values)
		}
		add(name, sdcaColumn{Weighted: one.Weights != ""}, args...)
	}
	add(feature.LinearScope+"/bias_weights", sdcaColumn{Bias: true})
	ids := mc.Variable(sdcaIDs, []int{step.Capacity}, models.WithDType(tensor.Int64), models.NonTrainable(), models.WithInit(initializers.Zeros()))
	state := mc.Variable(sdcaState, []int{step.Capacity, 4}, models.WithDType(tensor.Float32), models.NonTrainable(), models.WithInit(initializers.Zeros()))
	totals := mc.Variable(sdcaTotals, []int{3}, models.WithDType(tensor.Float64), models.NonTrainable(), models.WithInit(initializers.Zeros()))
	if mc.Failed() {
		return nil
	}
	mc.Summarize(models.ScalarSummary, "sdca/approximate_duality_gap", s.dualityGap(mc, op.Variables, totals))
	op.Variables = append(op.Variables, mc.VariableOf(ids), mc.VariableOf(state), mc.VariableOf(totals))
	config, err := json.Marshal(step)
	if err != nil {
		mc.Fail(err)
	}
	op.Config = config
	return &optimizers.TrainOp{Loss: loss, Step: op}
}

// dualityGap bounds the distance of the objective from its minimum, per example, provided that
// the examples' state is up to date. vars are alternately weights and unshrunk weights.
func (s *sdca) dualityGap(mc *estimator.ModelContext, vars []*models.Variable, totals *G.Node) *G.Node {
	number := func(x float64) *G.Node { return ops.Scalar(mc, tensor.Float32, x) }
	sums := ops.Cast(mc, totals, tensor.Float32)
	part := func(i int) *G.Node { return ops.Sum(mc, ops.Slice(mc, sums, []int{i}, []int{1})) }
	gap := ops.Add(mc, part(0), part(1))
	for i := 0; i < len(vars); i += 2 {
		w := ops.Cast(mc, vars[i].Node, tensor.Float32)
		gap = ops.Add(mc, gap, ops.Add(mc, ops.Mul(mc, number(s.options.SymmetricL1), ops.Sum(mc, ops.Abs(mc, w))),
			ops.Mul(mc, number(s.options.SymmetricL2), ops.Sum(mc, ops.Square(mc, w)))))
	}
	return ops.DivNoNan(mc, gap, part(2))
}

// labels returns one number per example; for classes, 0 or 1.
func (s *sdca) labels(mc *estimator.ModelContext, labels models.Labels) *G.Node {
	n := labels.Only()
	if mc.Failed() {
		return nil
	}
	if len(s.words) == 0 {
		return ops.Cast(mc, n, tensor.Float32)
	}
	return mc.Encode(n, estimator.Encoder{DType: tensor.Float32, Encode: func(dst *tensor.Tensor, c inputs.NamedTensor) error {
		out := tensor.Values[float32](dst)
		for i := range out {
			id := slices.Index(s.words, string(c.Tensor.Strings[i]))
			if id < 0 {
				return &inputs.RowError{Column: c.Name, Row: int64(i), InBatch: true, Err: heads.UnknownWord(c.Tensor.Strings[i], len(s.words))}
			}
			out[i] = float32(id)
		}
		return nil
	}})
}

// exampleWeights returns one number per example.
func (s *sdca) exampleWeights(mc *estimator.ModelContext, in heads.Inputs) *G.Node {
	w := in.Features.Weights()
	if s.weights != "" {
		w = in.Features.Dense(s.weights)
	}
	if w == nil && !mc.Failed() {
		w = ops.OnesLike(mc, ops.Sum(mc, in.Logits, ops.Axes(1)))
	}
	if mc.Failed() {
		return nil
	}
	return heads.CheckedWeights(mc, w, tensor.Float32)
}

// exampleIDs returns the fingerprint of each example's id.
func (s *sdca) exampleIDs(mc *estimator.ModelContext, f models.Features) *G.Node {
	n := f.Dense(s.options.ExampleIDColumn)
	if mc.Failed() {
		return nil
	}
	return mc.Encode(n, estimator.Encoder{DType: tensor.Int64, Encode: func(dst *tensor.Tensor, c inputs.NamedTensor) error {
		out, t := tensor.Values[int64](dst), c.Tensor
		if t.Len() != len(out) {
			return fmt.Errorf("expected one id an example, got %d for %d", t.Len(), len(out))
		}
		for i := range out {
			switch t.DType {
			case tensor.String:
				out[i] = int64(feature.Fingerprint64(t.Strings[i]))
			case tensor.Int64:
				out[i] = int64(feature.Fingerprint64(fmt.Append(nil, tensor.Values[int64](t)[i])))
			case tensor.Int32:
				out[i] = int64(feature.Fingerprint64(fmt.Append(nil, tensor.Values[int32](t)[i])))
			default:
				return fmt.Errorf("ids of type %v: expected text or whole numbers", t.DType)
			}
			if out[i] == 0 { // 0 marks a free place
				out[i] = 1
			}
		}
		return nil
	}})
}
