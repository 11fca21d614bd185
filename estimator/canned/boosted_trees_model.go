package canned

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/runtime/trees"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/columns"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// BoostedTrees is a boosted trees estimator's model_fn with its feature columns,
// ready for estimator.New.
type BoostedTrees struct {
	model  *Model
	config treeConfig
	means  means // of the head, for explanations; nil: no explanations
}

// treeConfig is the configuration of the step function.
type treeConfig struct {
	trees.Config
	Features []trees.Feature `json:"features"`
	Width    int             `json:"width"`   // numbers of an example
	Epsilon  float64         `json:"epsilon"` // of the sketches
	Buckets  int             `json:"buckets"` // of a feature whose boundaries come from a sketch
	Batches  int             `json:"batches"` // of a layer
	Mean     bool            `json:"mean"`    // the loss is the mean over examples
	// PerExample is the number of losses of an example; their mean is the example's loss.
	PerExample int            `json:"per_example"`
	Loss       heads.LossKind `json:"loss"`     // of training in memory
	Weighted   bool           `json:"weighted"` // an argument is the examples' weights
}

// newBoostedTrees makes the model.
func newBoostedTrees(o BoostedTreesOptions, h heads.Head, weights string) (*BoostedTrees, error) {
	dense, err := treeColumns(o.Columns)
	if err != nil {
		return nil, err
	}
	m, err := newModel(feature.Columns{Dense: dense}, h, weights)
	if err != nil {
		return nil, err
	}
	b := &BoostedTrees{model: m}
	m.body = b
	or := func(v, def int) int {
		if v == 0 {
			return def
		}
		return v
	}
	c := &b.config
	c.Config = trees.Config{Trees: or(o.Trees, 100), Depth: or(o.MaxDepth, 6), LearningRate: o.LearningRate, L1: o.L1, L2: o.L2,
		Complexity: o.TreeComplexity, MinNodeWeight: o.MinNodeWeight, ColumnShare: o.ColumnShare, CenterBias: o.CenterBias, Pruning: trees.Pruning(o.PruningMode),
		Dim: h.LogitsDimension()}
	_, c.Softmax = h.(heads.MultiClassHead)
	if c.ClassTrees = o.ClassTrees; c.ClassTrees {
		c.Trees *= c.Dim
	}
	if c.LearningRate == 0 {
		c.LearningRate = 0.1
	}
	c.Batches, c.Epsilon = or(o.BatchesPerLayer, 1), o.QuantileSketchEpsilon
	if c.Epsilon == 0 {
		c.Epsilon = 0.01
	}
	c.Features, c.Width = treeFeatures(o.Columns, m.plan.Dense())
	if c.Mean, err = checkLoss(h); err != nil {
		return nil, err
	}
	c.PerExample = 1
	switch h.(type) {
	case heads.MultiClassHead:
	case heads.MultiLabelHead: // the mean over the labels, for every reduction
		c.PerExample = c.Dim
	default:
		if c.Mean {
			c.PerExample = c.Dim
		}
	}
	if o.Explanations {
		var ok bool
		if b.means, ok = h.(means); !ok || c.Dim != 1 {
			return nil, fmt.Errorf("boosted trees: explanations: expected two classes, or a label of one number")
		}
	}
	if _, ok := h.(heads.MultiClassHead); o.ClassTrees && !ok {
		return nil, fmt.Errorf("boosted trees: class_trees: expected a model of more than two classes")
	}
	if o.TrainInMemory {
		if c.Loss, err = memoryLoss(h); err != nil {
			return nil, err
		}
	}
	return b, c.check()
}

func (c *treeConfig) check() error {
	switch {
	case len(c.Features) == 0:
		return fmt.Errorf("boosted trees: no feature columns: expected at least one")
	case !(c.Epsilon > 0 && c.Epsilon < 1):
		return fmt.Errorf("boosted trees: quantile_sketch_epsilon %v, expected more than 0 and less than 1", c.Epsilon)
	case c.Batches < 1:
		return fmt.Errorf("boosted trees: n_batches_per_layer %d, expected at least 1", c.Batches)
	case c.Loss != "" && c.Batches > 1:
		return fmt.Errorf("boosted trees: n_batches_per_layer %d with train_in_memory, whose batch is the whole data: expected 1", c.Batches)
	}
	c.Buckets = min(max(int(math.Ceil(1/c.Epsilon)), 2), 256)
	if err := c.Check(); err != nil {
		return err
	}
	_, err := trees.NewSpace(c.Features, c.Width)
	return err
}

// treeScope is the scope of the ensemble's variables.
const treeScope = "boosted_trees"

// treeVariable names a variable of the ensemble.
func treeVariable(name string) string { return treeScope + "/" + name }

// start gives a variable its first value.
type start func(t *tensor.Tensor)

// Init sets t.
func (s start) Init(t *tensor.Tensor, _ uint64) error {
	s(t)
	return nil
}

// treeNodes are the variables of the ensemble in a graph.
type treeNodes map[string]*G.Node

// declare makes the ensemble's variables.
func (b *BoostedTrees) declare(mc *estimator.ModelContext) treeNodes {
	c, out := &b.config, treeNodes{}
	add := func(name string, d tensor.DType, shape []int, set func(e *trees.Ensemble, t *tensor.Tensor)) {
		out[name] = mc.Variable(name, shape, models.WithDType(d), models.NonTrainable(), models.WithInit(start(func(t *tensor.Tensor) {
			set(trees.NewEnsemble(&c.Config), t)
		})))
	}
	n := c.Nodes()
	zeros := func(*trees.Ensemble, *tensor.Tensor) {}
	mc.Scope(treeScope, func() {
		add("feature", tensor.Int32, []int{n}, zeros)
		add("threshold", tensor.Float32, []int{n}, func(e *trees.Ensemble, t *tensor.Tensor) { copy(tensor.Values[float32](t), e.Threshold) })
		add("left", tensor.Int32, []int{n}, func(e *trees.Ensemble, t *tensor.Tensor) { copy(tensor.Values[int32](t), e.Left) })
		add("value", tensor.Float32, []int{n, c.Dim}, zeros)
		if !mc.Training() {
			return
		}
		add("gain", tensor.Float32, []int{n}, zeros)
		add("state", tensor.Int64, []int{trees.StateSize}, func(e *trees.Ensemble, t *tensor.Tensor) { copy(tensor.Values[int64](t), e.State) })
		add("loss", tensor.Float32, nil, zeros)
		add("bucket_boundaries", tensor.Float32, []int{len(c.Features), 256}, func(_ *trees.Ensemble, t *tensor.Tensor) { c.startBoundaries(t) })
		if c.Batches > 1 {
			add("collected", tensor.Float64, []int{c.collected()}, zeros)
			add("sketches", tensor.Uint8, []int{c.sketchBytes()}, zeros)
		}
	})
	return out
}

// logits returns the sums of the trees' values, which it gathers: see package trees.
func (b *BoostedTrees) logits(mc *estimator.ModelContext, f models.Features, _ int) *G.Node {
	return b.predict(mc, b.declare(mc), b.input(mc, f))
}

// input returns the examples, [batch, width].
func (b *BoostedTrees) input(mc *estimator.ModelContext, f models.Features) *G.Node {
	return columns.InputLayer(mc, f, b.model.plan.Dense(), treeScope)
}

func (b *BoostedTrees) predict(mc *estimator.ModelContext, v treeNodes, x *G.Node) *G.Node {
	_, leaves := b.descend(mc, v, x)
	if mc.Failed() {
		return nil
	}
	if b.config.ClassTrees {
		return ops.Cast(mc, b.sumOfClasses(mc, v["value"], leaves), mc.DType())
	}
	return ops.Cast(mc, ops.Sum(mc, ops.Gather(mc, v["value"], leaves), ops.Axes(1)), mc.DType())
}

// sumOfClasses sums the values that leaves [batch, trees] have for their tree's class. Only the root of the first tree has values for other
// classes, too.
func (b *BoostedTrees) sumOfClasses(mc *estimator.ModelContext, value, leaves *G.Node) *G.Node {
	c := &b.config
	class, first := tensor.New(tensor.Int32, 1, c.Trees), tensor.New(tensor.Float32, 1, c.Dim)
	for i := range c.Trees {
		tensor.Values[int32](class)[i] = int32(i % c.Dim)
	}
	for k := 1; k < c.Dim; k++ {
		tensor.Values[float32](first)[k] = 1
	}
	dim := tensor.Scalar(int32(c.Dim))
	at := ops.Add(mc, ops.Mul(mc, leaves, ops.Constant(mc, dim)), ops.Constant(mc, class))
	own := ops.Gather(mc, ops.Reshape(mc, value, -1), at)
	sums := ops.Sum(mc, ops.Reshape(mc, own, -1, c.Trees/c.Dim, c.Dim), ops.Axes(1))
	bias := ops.Mul(mc, ops.Slice(mc, value, []int{0, 0}, []int{1, -1}), ops.Constant(mc, first))
	return ops.Add(mc, sums, bias)
}

// descend returns the nodes [batch, trees] that examples pass in each layer, and the nodes where they end.
func (b *BoostedTrees) descend(mc *estimator.ModelContext, v treeNodes, x *G.Node) (passed []*G.Node, node *G.Node) {
	c := &b.config
	if mc.Failed() {
		return nil, nil
	}
	roots := tensor.New(tensor.Int32, 1, c.Trees)
	per := c.Nodes() / c.Trees
	for i := range c.Trees {
		tensor.Values[int32](roots)[i] = int32(i * per)
	}
	below := float64(math.Nextafter32(math.MaxFloat32, 0)) // no number reaches the threshold of a leaf
	x = ops.Minimum(mc, ops.Cast(mc, x, tensor.Float32), ops.Scalar(mc, tensor.Float32, below))
	one := ops.Slice(mc, x, []int{0, 0}, []int{-1, 1})
	none := ops.Cast(mc, ops.GreaterEqual(mc, one, ops.Scalar(mc, tensor.Float32, math.MaxFloat32)), tensor.Int32)
	node = ops.Add(mc, none, ops.Constant(mc, roots)) // [batch, trees]
	for range c.Depth {
		passed = append(passed, node)
		number := ops.GatherEach(mc, x, ops.Gather(mc, v["feature"], node))
		right := ops.GreaterEqual(mc, number, ops.Gather(mc, v["threshold"], node))
		node = ops.Add(mc, ops.Gather(mc, v["left"], node), ops.Cast(mc, right, tensor.Int32))
	}
	return passed, node
}

// minimize is not called: Model says how the loss is minimised.
func (b *BoostedTrees) minimize(*estimator.ModelContext, *G.Node) *optimizers.TrainOp { return nil }

// Model builds the graph of a mode.
func (b *BoostedTrees) Model(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	if !mc.Training() {
		spec, err := b.model.Model(mc, features, labels)
		if err == nil && b.means != nil && mc.Mode() == models.Predict {
			err = b.explain(mc, spec, features)
		}
		return spec, err
	}
	v := b.declare(mc)
	var spec *estimator.Spec
	var err error
	if b.config.Loss != "" {
		spec, err = b.memorySpec(mc, v, features, labels)
	} else {
		spec, err = b.batchSpec(mc, v, features, labels)
	}
	if err != nil {
		return nil, err
	}
	done := b.done(mc, v)
	if mc.Failed() {
		return nil, mc.Err()
	}
	spec.TrainOp.Step.Args = append(spec.TrainOp.Step.Args, done) // in the graph for the hook
	spec.TrainingHooks = append(spec.TrainingHooks, &treesDone{node: done.Name()})
	return spec, mc.Err()
}

// batchSpec trains by the gradients of the head's loss.
func (b *BoostedTrees) batchSpec(mc *estimator.ModelContext, v treeNodes, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	x := b.input(mc, features)
	// Gradients are taken with respect to a leaf of zeros that is added to the logits.
	zeros := mc.Encode(features.Dense(b.model.plan.Dense()[0].Values), estimator.Encoder{DType: mc.DType(), Shape: []int{b.config.Dim},
		Encode: func(dst *tensor.Tensor, _ inputs.NamedTensor) error {
			clear(dst.Bytes)
			return nil
		}})
	logits := ops.Add(mc, b.predict(mc, v, x), zeros)
	if mc.Failed() {
		return nil, mc.Err()
	}
	return b.model.head.Spec(mc, heads.Inputs{Features: features, Labels: labels, Logits: logits, TrainOp: func(loss *G.Node) *optimizers.TrainOp {
		grads, err := G.Grad(loss, zeros)
		if err != nil {
			mc.Fail(fmt.Errorf("boosted trees: differentiate the loss by the logits: %w", err))
			return nil
		}
		args := []*G.Node{x, grads[0], hessian(mc, b.model.head, logits)}
		y, err := heads.LabelsOf(mc, b.model.head, labels)
		if err != nil {
			mc.Fail(err)
			return nil
		}
		w := b.model.exampleWeights(mc, features, y)
		if b.config.Weighted = w != nil; b.config.Weighted && !mc.Failed() {
			args[2] = ops.Mul(mc, args[2], w)
			args = append(args, ops.Mean(mc, w, ops.Axes(1))) // weights of single outputs
		}
		return b.trainOp(mc, v, loss, args)
	}})
}

func (b *BoostedTrees) trainOp(mc *estimator.ModelContext, v treeNodes, loss *G.Node, args []*G.Node) *optimizers.TrainOp {
	refuseOptimizer(mc, "boosted trees")
	if mc.Failed() {
		return nil
	}
	config, err := json.Marshal(&b.config)
	if err != nil {
		mc.Fail(err)
		return nil
	}
	op := &optimizers.StepOp{Function: treeStepName, Config: config, Args: args}
	for _, variable := range mc.Variables() {
		if n, ok := v[variable.Name[min(len(treeScope)+1, len(variable.Name)):]]; ok && n == variable.Node {
			op.Variables = append(op.Variables, variable)
		}
	}
	return &optimizers.TrainOp{Loss: loss, Step: op}
}

// done returns the node that says whether all trees are finished.
func (b *BoostedTrees) done(mc *estimator.ModelContext, v treeNodes) *G.Node {
	at := ops.Constant(mc, tensor.Scalar(int32(trees.StateTrees)))
	return ops.GreaterEqual(mc, ops.Gather(mc, v["state"], at), ops.Scalar(mc, tensor.Int64, float64(b.config.Trees)))
}

// treesDone ends training when all trees are finished.
type treesDone struct {
	hooks.Base
	node string
}

// Begin asks for the node.
func (h *treesDone) Begin(s hooks.Setup) error { return s.Fetch(h.node) }

// AfterRun stops after the first step that had nothing to grow.
func (h *treesDone) AfterRun(_ context.Context, r hooks.Run) error {
	t, err := r.Value(h.node)
	if err != nil {
		return err
	}
	if t.Float(0) != 0 {
		r.RequestStop("all trees are grown")
	}
	return nil
}

// Prepare applies the feature columns to a data set.
func (b *BoostedTrees) Prepare(ds inputs.Dataset) (inputs.Dataset, error) { return b.model.Prepare(ds) }

// Plan returns the model's feature columns: numbers instead of bucketized columns,
// and indicators of categorical ones.
func (b *BoostedTrees) Plan() *feature.Plan { return b.model.plan }
