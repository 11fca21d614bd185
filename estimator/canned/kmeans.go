package canned

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
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

// Values of KMeans.InitialClusters and KMeans.DistanceMetric.
const (
	RandomInit         = "random"
	KMeansPlusPlusInit = "kmeans_plus_plus"
	KMC2Init           = "kmc2" // k-MC2, of tf's clustering ops; tf.estimator's KMeans does not offer it

	SquaredEuclidean = "squared_euclidean"
	Cosine           = "cosine"
)

// The keys of KMeans' predictions and metrics.
const (
	ClusterIndex = "cluster_index" // int64 [batch]: the closest center
	AllDistances = "all_distances" // float32 [batch, clusters]: squared euclidean, or cosine, distances
	Score        = "score"         // the sum of the distances to the closest centers, averaged over batches
)

// ClusterCenters is the name of the variable that holds the centers.
const ClusterCenters = "clusters"

// KMeans is tf.compat.v1.estimator.experimental.KMeans: K-means over whole batches,
// or by mini-batches (Sculley 2010). It has tf's variables: clusters, initialized
// and, for mini-batches, Variable (the update counts), clusters_updated and
// update_in_steps.
//
// The first steps, as many as needed, choose centers from the data, with loss 0;
// tf.estimator chooses them before its first step. With several replicas the centers
// come from the first replica's batch.
//
// A mini-batch moves a center x that had n points by (sum of its k new points -
// k*x) / (n+k), as tf documents. tf.estimator 2.15 divides by a number between n+k and
// n+2k, because it reads the counts while it changes them.
type KMeans struct {
	NumClusters     int              // at least 1; with Centers it may be 0
	InitialClusters string           // RandomInit, KMeansPlusPlusInit or KMC2Init; "": RandomInit
	Centers         [][]float32      // the initial clusters, instead of InitialClusters
	DistanceMetric  string           // SquaredEuclidean or Cosine; "": SquaredEuclidean
	Seed            int64            // for choosing centers; 0: the Estimator's
	FullBatch       bool             // each batch is all the data (use_mini_batch=False)
	MiniBatchSteps  int              // mini_batch_steps_per_iteration; 0: 1
	ChainLength     int              // kmc2_chain_length, the rows that a center is drawn from; 0: 200
	Retries         int              // kmeans_plus_plus_num_retries; 0: 2, negative: about log(NumClusters)
	Tolerance       float64          // relative_tolerance: training ends when the loss changes by less; 0: never
	Columns         []feature.Column // nil: all features, sorted by name, which must be dense
}

// KMeansModel is the model_fn of KMeans.
type KMeansModel struct {
	options KMeans
	plan    *feature.Plan // nil: all features as they are
}

var _ estimator.Preparer = (*KMeansModel)(nil)

// ModelFn returns the model_fn; its error names the option that is wrong.
func (o KMeans) ModelFn() (*KMeansModel, error) {
	if o.InitialClusters == "" {
		o.InitialClusters = RandomInit
	}
	if o.DistanceMetric == "" {
		o.DistanceMetric = SquaredEuclidean
	}
	if o.MiniBatchSteps == 0 {
		o.MiniBatchSteps = 1
	}
	if o.Retries == 0 {
		o.Retries = 2
	}
	if o.ChainLength == 0 {
		o.ChainLength = defaultChain
	}
	if len(o.Centers) > 0 && o.NumClusters == 0 {
		o.NumClusters = len(o.Centers)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	m := &KMeansModel{options: o}
	if o.Columns == nil {
		return m, nil
	}
	var err error
	m.plan, err = feature.New(feature.Columns{Dense: o.Columns})
	return m, err
}

func (o KMeans) check() error {
	switch {
	case o.NumClusters < 1 || o.NumClusters > 1<<24:
		return fmt.Errorf("num_clusters: expected 1 to 2^24, got %d", o.NumClusters)
	case o.InitialClusters != RandomInit && o.InitialClusters != KMeansPlusPlusInit && o.InitialClusters != KMC2Init:
		return fmt.Errorf("initial_clusters: expected %s, %s, %s or centers, got %q", RandomInit, KMeansPlusPlusInit, KMC2Init, o.InitialClusters)
	case o.ChainLength < 1:
		return fmt.Errorf("kmc2_chain_length: expected >= 1, got %d", o.ChainLength)
	case len(o.Centers) > 0 && len(o.Centers) != o.NumClusters:
		return fmt.Errorf("initial_clusters: expected %d centers, as num_clusters says, got %d", o.NumClusters, len(o.Centers))
	case o.DistanceMetric != SquaredEuclidean && o.DistanceMetric != Cosine:
		return fmt.Errorf("distance_metric: expected %s or %s, got %q", SquaredEuclidean, Cosine, o.DistanceMetric)
	case o.MiniBatchSteps < 1:
		return fmt.Errorf("mini_batch_steps_per_iteration: expected >= 1, got %d", o.MiniBatchSteps)
	case o.FullBatch && o.MiniBatchSteps > 1:
		return fmt.Errorf("mini_batch_steps_per_iteration: expected 1 where use_mini_batch is false, got %d", o.MiniBatchSteps)
	case !(o.Tolerance >= 0):
		return fmt.Errorf("relative_tolerance: expected >= 0, got %v", o.Tolerance)
	}
	for i, c := range o.Centers {
		if len(c) == 0 || len(c) != len(o.Centers[0]) {
			return fmt.Errorf("initial_clusters: center %d has %d numbers, expected as many as the first, which has %d, and at least one", i, len(c), len(o.Centers[0]))
		}
		for _, x := range c {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return fmt.Errorf("initial_clusters: center %d has the number %v: expected finite ones", i, x)
			}
		}
	}
	return nil
}

// New returns the Estimator of the model.
func (o KMeans) New(opts ...estimator.Option) (*estimator.Estimator, error) {
	return newEstimator(o.ModelFn, opts)
}

// Prepare applies the feature columns to a data set.
func (m *KMeansModel) Prepare(ds inputs.Dataset) (inputs.Dataset, error) {
	if m.plan == nil {
		return finiteFeatures(ds), nil
	}
	if _, err := m.plan.Mapper().Schema(ds.Schema()); err != nil {
		return nil, err
	}
	return m.plan.Transform(runtime.GOMAXPROCS(0))(ds), nil
}

// Plan returns the model's feature columns, nil if it reads all features unchanged.
func (m *KMeansModel) Plan() *feature.Plan { return m.plan }

// points returns the points to cluster, [batch, d], of unit length for the cosine
// distance.
func (m *KMeansModel) points(mc *estimator.ModelContext, f models.Features) *G.Node {
	var x *G.Node
	if m.plan != nil {
		x = columns.InputLayer(mc, f, m.plan.Dense(), feature.DenseScope)
	} else {
		all := f.All()
		slices.SortFunc(all, func(a, b models.Feature) int {
			if a.Name < b.Name {
				return -1
			}
			return 1
		})
		var parts []*G.Node
		for _, one := range all {
			if one.Dense == nil {
				mc.Failf("kmeans: feature %q is not dense: give the model feature columns", one.Name)
				return nil
			}
			parts = append(parts, ops.Cast(mc, ops.Flatten(mc, one.Dense), tensor.Float32))
		}
		if len(parts) == 0 {
			mc.Failf("kmeans: expected at least one feature, got none")
			return nil
		}
		x = parts[0]
		if len(parts) > 1 {
			x = ops.Concat(mc, 1, parts...)
		}
	}
	x = ops.Cast(mc, x, tensor.Float32)
	if m.options.DistanceMetric == Cosine {
		x = unit(mc, x)
	}
	return x
}

// unit scales rows to length 1, as tf.math.l2_normalize.
func unit(mc *estimator.ModelContext, x *G.Node) *G.Node {
	squares := ops.Sum(mc, ops.Square(mc, x), ops.KeepAxes(1))
	return ops.Mul(mc, x, ops.Rsqrt(mc, ops.Maximum(mc, squares, ops.Scalar(mc, tensor.Float32, 1e-12))))
}

// distances returns the distances of all points to all centers, [batch, clusters].
func (m *KMeansModel) distances(mc *estimator.ModelContext, x, centers *G.Node) *G.Node {
	if m.options.DistanceMetric == Cosine {
		return ops.Sub(mc, ops.Scalar(mc, tensor.Float32, 1), ops.MatMulT(mc, x, centers, false, true))
	}
	products := ops.MatMulT(mc, x, ops.Mul(mc, centers, ops.Scalar(mc, tensor.Float32, 2)), false, true)
	lengths := ops.Sum(mc, ops.Square(mc, x), ops.KeepAxes(1))
	return ops.Add(mc, ops.Sub(mc, lengths, products), ops.ExpandDims(mc, ops.Sum(mc, ops.Square(mc, centers), ops.Axes(1)), 0))
}

// Model builds the graph of a mode.
func (m *KMeansModel) Model(mc *estimator.ModelContext, features models.Features, _ models.Labels) (*estimator.Spec, error) {
	x := m.points(mc, features)
	if mc.Failed() {
		return nil, mc.Err()
	}
	v := m.variables(mc, x.Shape()[1])
	centers := v.centers
	if mc.Training() {
		// Centers that are not chosen yet are masked out.
		centers = ops.Where(mc, v.initialized, centers, ops.ZerosLike(mc, centers))
		if v.updateIn != nil { // an iteration begins with the result of the previous one
			begins := ops.LessEqual(mc, v.updateIn, ops.Scalar(mc, tensor.Int64, 0))
			centers = ops.Where(mc, begins, v.updated, centers)
		}
	}
	var chosen *G.Node
	if !mc.Training() { // training may have ended before all centers were chosen: no point is near the others
		chosen = ops.Greater(mc, ops.Min(mc, centers, ops.Axes(1)), ops.Scalar(mc, tensor.Float32, unchosen/2))
		centers = ops.Where(mc, ops.ExpandDims(mc, chosen, 1), centers, ops.ZerosLike(mc, centers))
	}
	if m.options.DistanceMetric == Cosine && (mc.Training() || !m.options.normalized()) {
		centers = unit(mc, centers)
	}
	all := m.distances(mc, x, centers)
	if chosen != nil {
		all = ops.Where(mc, ops.ExpandDims(mc, chosen, 0), all, ops.Scalar(mc, tensor.Float32, math.MaxFloat32))
	}
	index := ops.ArgMax(mc, ops.Neg(mc, all), 1)
	zero := ops.Scalar(mc, tensor.Float32, 0)
	loss := ops.Sum(mc, ops.Maximum(mc, ops.Min(mc, all, ops.Axes(1)), zero))
	spec := &estimator.Spec{Loss: loss, Predictions: estimator.Nodes{ClusterIndex: index, AllDistances: all},
		EvalMetrics: estimator.Metrics{Score: estimator.NewMetric("mean", loss)},
		ExportOutputs: map[string]estimator.ExportOutput{
			AllDistances:      {Kind: estimator.ExportPredict, Outputs: estimator.Nodes{"output": all}},
			ClusterIndex:      {Kind: estimator.ExportPredict, Outputs: estimator.Nodes{"output": index}},
			"serving_default": {Kind: estimator.ExportPredict, Outputs: estimator.Nodes{"output": index}},
		}}
	if !mc.Training() || mc.Failed() {
		return spec, mc.Err()
	}
	spec.Loss = ops.Where(mc, v.initialized, loss, zero)
	mc.Summarize(models.ScalarSummary, "loss/raw", spec.Loss)
	if m.options.Tolerance > 0 {
		spec.TrainingHooks = append(spec.TrainingHooks, &toleranceHook{tolerance: m.options.Tolerance})
	}
	seed := m.options.Seed
	if seed == 0 {
		seed = mc.CommonSeed()
	}
	refuseOptimizer(mc, "the centers of K-means")
	o := m.options
	chain := 0
	if o.InitialClusters == KMC2Init {
		chain = o.ChainLength
	}
	config, err := json.Marshal(kmeansStep{Clusters: o.NumClusters, Dimension: x.Shape()[1], Cosine: o.DistanceMetric == Cosine, FullBatch: o.FullBatch,
		Steps: o.MiniBatchSteps, PlusPlus: o.InitialClusters == KMeansPlusPlusInit, Retries: o.Retries, Chain: chain, Seed: seed})
	if err != nil {
		return nil, err
	}
	spec.TrainOp = &optimizers.TrainOp{Loss: spec.Loss, Step: &optimizers.StepOp{Function: "kmeans", Config: config, Args: []*G.Node{x, index}, Variables: v.all}}
	return spec, mc.Err()
}

// normalized reports whether centers have length 1 after each step.
func (o KMeans) normalized() bool {
	return o.DistanceMetric == Cosine && (o.FullBatch || o.MiniBatchSteps > 1)
}

// kmeansVariables are the variables that a mode needs; the others are nil.
type kmeansVariables struct {
	centers, initialized, updated, updateIn *G.Node
	all                                     []*models.Variable
}

func (m *KMeansModel) variables(mc *estimator.ModelContext, dimension int) (v kmeansVariables) {
	o := m.options
	if len(o.Centers) > 0 && len(o.Centers[0]) != dimension {
		mc.Failf("initial_clusters: the centers have %d numbers, the features %d", len(o.Centers[0]), dimension)
		return v
	}
	add := func(name string, shape []int, d tensor.DType, init models.Initializer) *G.Node {
		n := mc.Variable(name, shape, models.WithDType(d), models.NonTrainable(), models.WithInit(init))
		v.all = append(v.all, mc.VariableOf(n))
		return n
	}
	first := func() models.Initializer { return initialCenters(o) }
	v.centers = add(ClusterCenters, []int{o.NumClusters, dimension}, tensor.Float32, first())
	if !mc.Training() {
		return v
	}
	v.initialized = add("initialized", nil, tensor.Bool, truth(len(o.Centers) > 0))
	if o.MiniBatchSteps > 1 {
		v.updated = add("clusters_updated", []int{o.NumClusters, dimension}, tensor.Float32, first())
		v.updateIn = add("update_in_steps", nil, tensor.Int64, initializers.Constant{Value: float64(o.MiniBatchSteps)})
		add(updateCounts, []int{o.NumClusters}, tensor.Int64, initializers.Zeros())
	} else if !o.FullBatch {
		add(updateCounts, []int{o.NumClusters}, tensor.Int64, initializers.Ones())
	}
	return v
}

// updateCounts is tf's name of the counts of points by cluster.
const updateCounts = "Variable"

// toleranceHook ends training when the loss differs little from the previous step's
// loss.
type toleranceHook struct {
	hooks.Base
	tolerance float64
	last      float64 // 0: none yet
}

// Begin asks for the loss.
func (h *toleranceHook) Begin(s hooks.Setup) error { return s.Fetch("loss") }

// AfterRun compares the losses of this step and the previous one.
func (h *toleranceHook) AfterRun(_ context.Context, r hooks.Run) error {
	v, err := r.Value("loss")
	if err != nil {
		return err
	}
	loss := v.Float(0)
	if h.last != 0 && math.Abs(loss-h.last)/(1+math.Abs(h.last)) < h.tolerance {
		r.RequestStop("relative_tolerance of the loss is reached")
	}
	h.last = loss
	return nil
}
