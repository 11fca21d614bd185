package main

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// The subject embedding trains a table sharded over two parameter servers: the sum
// of each example's rows, a dense layer, a logistic loss, Adagrad.
const (
	tableRows    = 10_000_000
	tableWidth   = 16
	tableIDs     = 40 // for each example
	tableBatch   = 512
	tableBatches = 64
)

// slope initializes the dense layer's kernel; the table starts with zeros.
type slope struct{}

// Init implements models.Initializer.
func (slope) Init(t *tensor.Tensor, _ uint64) error {
	for i := range tensor.Values[float32](t) {
		tensor.Values[float32](t)[i] = float32(i+1) / 32
	}
	return nil
}

func embeddingModel() (estimator.ModelFn, error) {
	o, err := optimizers.New("adagrad", map[string]any{"learning_rate": 0.1})
	if err != nil {
		return nil, err
	}
	return estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
		x := layers.Embedding(mc, f.Dense("x"), tableRows, tableWidth, layers.Weights{KernelInit: initializers.Zeros()})
		y := layers.Dense(mc, ops.Sum(mc, x, ops.Reduction{Axes: []int{1}}), 1, layers.Weights{KernelInit: slope{}})
		labels := ops.ExpandDims(mc, ops.Cast(mc, l.Only(), tensor.Float32), -1)
		spec := &estimator.Spec{Predictions: estimator.Nodes{"logits": y}, Loss: losses.SigmoidCrossEntropy(mc, labels, y, losses.Options{})}
		spec.TrainOp = o.Minimize(mc, spec.Loss)
		return spec, nil
	}), nil
}

// embeddingBatches draws the data. Batches 1 and 2 share no id, and batches 3 and 4
// repeat them. Their losses show whether rows are updated, but do not depend on when
// exactly rows are fetched.
func embeddingBatches() (x, y *tensor.Tensor) {
	r := rand.New(rand.NewPCG(1, 2))
	x, y = tensor.New(tensor.Int64, tableBatch*tableBatches, tableIDs), tensor.New(tensor.Int64, tableBatch*tableBatches)
	ids, labels := tensor.Values[int64](x), tensor.Values[int64](y)
	fillInts(r, ids, tableRows)
	fillInts(r, labels, 2)
	n := tableBatch * tableIDs
	for i := range ids[:2*n] {
		ids[i] = ids[i]&^1 | int64(i/n)
	}
	copy(ids[2*n:], ids[:2*n])
	copy(labels[2*tableBatch:], labels[:2*tableBatch])
	return x, y
}

func embeddingField(ctx context.Context, s settings, dir string) (field, error) {
	x, y := embeddingBatches()
	kernel := tensor.New(tensor.Float32, tableWidth, 1)
	if err := (slope{}).Init(kernel, 0); err != nil {
		return field{}, err
	}
	g := &fixtures{}
	g.add("kernel", false, kernel)
	g.add("x", true, x)
	g.add("y", true, y)
	if err := g.write(ctx, dir); err != nil {
		return field{}, err
	}
	argv, err := self("embedding", dir)
	return field{reference: embeddingReference(tensor.Values[int64](x), tensor.Values[int64](y)), tolerance: 1e-4, contenders: []contender{{name: ours, argv: argv},
		s.peer("tf.estimator", "embedding.py", dir)}}, err
}

// embeddingWorker is the chief, and the only task that trains.
func embeddingWorker(l *link, args []string) error {
	t, err := joinCluster(map[string]int{"ps": 2})
	defer t.close()
	if err != nil {
		return err
	}
	w := workload{model: embeddingModel, feature: []int{tableIDs}, batch: tableBatch}
	option, err := inCluster(runconfig.Strategy{Name: "parameter_server", Partitioner: runconfig.Partitioner{Kind: "min_size"}})
	if err != nil {
		return err
	}
	g, err := readFixtures(args[0])
	if err != nil {
		return err
	}
	x, err := g.get("x")
	if err != nil {
		return err
	}
	y, err := g.get("y")
	if err != nil {
		return err
	}
	e, err := w.estimator(estimator.WithModelDir(filepath.Join(args[0], "model")), option)
	if err != nil {
		return err
	}
	_, err = e.Train(context.Background(), w.input(x, y, w.batch), estimator.WithHooks(&pacer{link: l, checked: checkedSteps}))
	return err
}

// embeddingReference trains in float64 by the definition, and creates rows of the table
// when they are first used.
func embeddingReference(ids, labels []int64) map[string][]float64 {
	m := &tableModel{rows: map[int64]*[2][tableWidth]float64{}}
	for i := range m.top[0] {
		m.top[0][i], m.top[1][i] = float64(i+1)/32, 0.1
	}
	m.top[0][tableWidth], m.top[1][tableWidth] = 0, 0.1
	var losses []float64
	for s := range checkedSteps {
		b := s * tableBatch
		losses = append(losses, m.step(ids[b*tableIDs:(b+tableBatch)*tableIDs], labels[b:b+tableBatch]))
	}
	return map[string][]float64{"": losses}
}

// tableModel has values [0] and Adagrad's accumulators [1].
type tableModel struct {
	rows map[int64]*[2][tableWidth]float64
	top  [2][tableWidth + 1]float64 // the kernel and the bias
}

func (m *tableModel) row(id int64) *[2][tableWidth]float64 {
	if m.rows[id] == nil {
		m.rows[id] = &[2][tableWidth]float64{}
		for k := range tableWidth {
			m.rows[id][1][k] = 0.1
		}
	}
	return m.rows[id]
}

// step trains on one batch and returns the loss before the update.
func (m *tableModel) step(ids, labels []int64) float64 {
	grads, top, loss := map[int64]float64{}, [tableWidth + 1]float64{}, 0.0
	for i, label := range labels {
		mine := ids[i*tableIDs : (i+1)*tableIDs]
		sum, z := [tableWidth]float64{}, m.top[0][tableWidth]
		for _, id := range mine {
			for k, v := range m.row(id)[0] {
				sum[k] += v
			}
		}
		for k, v := range sum {
			z += v * m.top[0][k]
		}
		loss += math.Max(z, 0) - z*float64(label) + math.Log1p(math.Exp(-math.Abs(z)))
		d := (1/(1+math.Exp(-z)) - float64(label)) / float64(len(labels))
		for k, v := range sum {
			top[k] += d * v
		}
		top[tableWidth] += d
		for _, id := range mine {
			grads[id] += d // still to be multiplied by the kernel
		}
	}
	for id, d := range grads {
		r := m.row(id)
		for k := range tableWidth {
			adagrad(&r[0][k], &r[1][k], d*m.top[0][k])
		}
	}
	for k, g := range top {
		adagrad(&m.top[0][k], &m.top[1][k], g)
	}
	return loss / float64(len(labels))
}

func adagrad(w, sum *float64, g float64) {
	*sum += g * g
	*w -= 0.1 * g / math.Sqrt(*sum)
}
