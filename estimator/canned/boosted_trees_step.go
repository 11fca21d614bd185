package canned

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/runtime/trees"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// treeStepName is the name of the step function that grows trees.
const treeStepName = "boosted_trees"

func init() {
	optimizers.RegisterStepFunction(treeStepName, func(config []byte) (optimizers.StepFunction, error) {
		f := &treeStep{}
		if err := json.Unmarshal(config, &f.config); err != nil {
			return nil, err
		}
		return f, f.config.check()
	})
}

// treeStep grows a layer per step. Batches contribute sums for the nodes of the
// layer. Before the first layer they contribute sketches of the features whose bucket
// boundaries are not yet known.
type treeStep struct {
	config    treeConfig
	collector trees.Collector
	memory    memory
}

// stampSketch is the stamp of tallies that hold sketches.
const stampSketch = -1

// startBoundaries sets the given boundaries. Row i has those of feature i and ends with NaN; it begins with
// +Inf if they are not known yet.
func (c *treeConfig) startBoundaries(t *tensor.Tensor) {
	v := tensor.Values[float32](t)
	for i, f := range c.Features {
		row := v[i*256 : (i+1)*256]
		setBoundaries(row, f.Boundaries)
		if c.sought(i) {
			row[0] = unbounded
		}
	}
}

// unbounded marks boundaries that are not yet known, and the end of known boundaries.
const unbounded = math.MaxFloat32

func setBoundaries(row, b []float32) {
	for i := range row {
		row[i] = unbounded
	}
	copy(row, b)
}

// sought reports whether the boundaries of feature i come from a sketch.
func (c *treeConfig) sought(i int) bool {
	return c.Features[i].Width == 0 && c.Features[i].Boundaries == nil
}

// space returns the space of features with these boundaries.
func (c *treeConfig) space(boundaries []float32) (*trees.Space, error) {
	features := append([]trees.Feature(nil), c.Features...)
	for i := range features {
		if !c.sought(i) {
			continue
		}
		row := boundaries[i*256 : (i+1)*256]
		n := 0
		for n < len(row)-1 && row[n] != unbounded {
			n++
		}
		features[i].Boundaries = row[:n]
	}
	return trees.NewSpace(features, c.Width)
}

// bounded reports whether all boundaries are known.
func (c *treeConfig) bounded(e *trees.Ensemble) bool {
	if e.State[trees.StateBounded] != 0 {
		return true
	}
	for i := range c.Features {
		if c.sought(i) {
			return false
		}
	}
	return true
}

// collected is the number of sums of the widest layer, and one for the number of examples.
func (c *treeConfig) collected() int {
	bins := 0
	for i, f := range c.Features {
		switch {
		case f.Width > 0:
			bins += f.Width + (f.Width+254)/255
		case c.sought(i):
			bins += c.Buckets
		default:
			bins += len(f.Boundaries) + 1
		}
	}
	return (1<<(c.Depth-1))*c.Dim*(bins+1)*2 + 1
}

// sketchBytes bounds the size of the sketches of all features.
func (c *treeConfig) sketchBytes() int {
	n := 0
	for i := range c.Features {
		if c.sought(i) {
			n += trees.NewSketch(c.Epsilon).MaxBytes()
		}
	}
	return n
}

// values returns the ensemble in the variables; get is Value or Change.
func (c *treeConfig) values(get func(name string) *tensor.Tensor) (*trees.Ensemble, []float32, error) {
	e := &trees.Ensemble{Feature: tensor.Values[int32](get(treeVariable("feature"))), Threshold: tensor.Values[float32](get(treeVariable("threshold"))),
		Left: tensor.Values[int32](get(treeVariable("left"))), Values: tensor.Values[float32](get(treeVariable("value"))),
		Gains: tensor.Values[float32](get(treeVariable("gain"))), State: tensor.Values[int64](get(treeVariable("state")))}
	return e, tensor.Values[float32](get(treeVariable("bucket_boundaries"))), e.Check(&c.Config, c.Width)
}

// Begin returns the number of sums of the next layer.
func (f *treeStep) Begin(vars optimizers.StepVariables) (sums int, stamp int64, err error) {
	c := &f.config
	e, boundaries, err := c.values(vars.Value)
	switch {
	case err != nil:
		return 0, 0, err
	case e.Done(&c.Config):
		return 0, math.MaxInt64, nil
	case c.Loss != "":
		return 1, e.State[trees.StateSteps], nil
	case !c.bounded(e):
		return 1, stampSketch, nil
	}
	s, err := c.space(boundaries)
	if err != nil {
		return 0, 0, err
	}
	return e.Size(&c.Config, s) + 1, e.State[trees.StateSteps], nil
}

// Collect adds the sketches of a batch, or its sums and, at the end, its number of examples.
func (f *treeStep) Collect(vars optimizers.StepVariables, args []*tensor.Tensor, t *optimizers.Tally) error {
	c := &f.config
	if len(t.Sums) == 0 {
		return nil
	}
	e, boundaries, err := c.values(vars.Value)
	if err != nil {
		return err
	}
	if c.Loss != "" {
		return f.memory.collect(c, memoryStep{e: e, boundaries: boundaries, args: args, tally: t})
	}
	x := tensor.Values[float32](args[0])
	rows := len(x) / c.Width
	t.Sums[len(t.Sums)-1] += float64(rows)
	if !c.bounded(e) {
		var weights []float32
		if c.Weighted {
			weights = float32s(args[3])
		}
		t.Records, err = c.sketch(x, weights, t.Records)
		return err
	}
	s, err := c.space(boundaries)
	if err != nil {
		return err
	}
	loss := trees.Given{G: float32s(args[1]), H: float32s(args[2]), Dim: c.Dim}
	whole := c.PerExample
	if c.Mean {
		whole *= rows
	}
	if whole > 1 {
		scaled := make([]float32, len(loss.G))
		for i, g := range loss.G {
			scaled[i] = g * float32(whole)
		}
		loss.G = scaled
	}
	return f.collector.Collect(&c.Config, s, e, x, loss, t.Sums[:len(t.Sums)-1])
}

// float32s returns a tensor's numbers as float32.
func float32s(t *tensor.Tensor) []float32 {
	if v := tensor.Values[float32](t); v != nil {
		return v
	}
	out := make([]float32, t.Len())
	for i := range out {
		out[i] = float32(t.Float(i))
	}
	return out
}

// sketch appends the sketches of a batch's numbers. With weights, buckets have
// equal weight, not equal numbers of examples.
func (c *treeConfig) sketch(x, weights []float32, b []byte) ([]byte, error) {
	var err error
	for i, feature := range c.Features {
		if !c.sought(i) {
			continue
		}
		s := trees.NewSketch(c.Epsilon)
		s.Push(x[feature.First:], c.Width, weights)
		if b, err = s.AppendBinary(b); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// Apply grows a layer, or sets the boundaries, once enough batches are collected.
func (f *treeStep) Apply(vars optimizers.StepVariables, t *optimizers.Tally) error {
	c := &f.config
	if len(t.Sums) == 0 {
		return nil
	}
	e, boundaries, err := c.values(vars.Change)
	if err != nil {
		return err
	}
	if c.Loss != "" {
		return c.applyMemory(e, boundaries, vars.Change(treeVariable("loss")), t)
	}
	if t.Sums[len(t.Sums)-1] == 0 {
		return nil // no examples
	}
	if !c.bounded(e) {
		return c.applySketches(e, boundaries, vars, t)
	}
	sums := t.Sums
	if c.Batches > 1 {
		collected := tensor.Values[float64](vars.Change(treeVariable("collected")))[:len(sums)]
		if e.State[trees.StateBatches] == 0 {
			clear(collected)
		}
		for i, v := range sums {
			collected[i] += v
		}
		sums = collected
	}
	if !e.Collected(c.Batches) {
		return nil
	}
	s, err := c.space(boundaries)
	if err != nil {
		return err
	}
	examples := sums[len(sums)-1]
	first, end := e.Active(&c.Config)
	e.Grow(&c.Config, s, &trees.Sums{Nodes: end - first, Dim: c.Dim, Bins: s.Bins, V: sums[:len(sums)-1]}, examples)
	return nil
}

// applySketches merges sketches, and sets the boundaries once there are enough.
func (c *treeConfig) applySketches(e *trees.Ensemble, boundaries []float32, vars optimizers.StepVariables, t *optimizers.Tally) error {
	merged, err := c.merge(t.Records)
	if err != nil {
		return err
	}
	if c.Batches > 1 {
		kept := tensor.Values[uint8](vars.Change(treeVariable("sketches")))
		if e.State[trees.StateBatches] > 0 {
			rest := kept
			for i, s := range merged {
				if s == nil {
					continue
				}
				if rest, err = merged[i].MergeBinary(rest); err != nil {
					return err
				}
			}
		}
		b := kept[:0]
		for _, s := range merged {
			if s == nil {
				continue
			}
			if b, err = s.AppendBinary(b); err != nil {
				return err
			}
		}
		if len(b) > len(kept) {
			return errors.New("sketches are larger than expected")
		}
	}
	if !e.Collected(c.Batches) {
		return nil
	}
	for i, s := range merged {
		if s != nil {
			setBoundaries(boundaries[i*256:(i+1)*256], s.Boundaries(c.Buckets))
		}
	}
	e.State[trees.StateBounded] = 1
	return nil
}

// merge merges the records of one or more batches; the result has a sketch for each feature without
// boundaries.
func (c *treeConfig) merge(records []byte) ([]*trees.Sketch, error) {
	out := make([]*trees.Sketch, len(c.Features))
	for first := true; first || len(records) > 0; first = false {
		for i := range c.Features {
			if !c.sought(i) {
				continue
			}
			if out[i] == nil {
				out[i] = trees.NewSketch(c.Epsilon)
			}
			var err error
			if records, err = out[i].MergeBinary(records); err != nil {
				return nil, fmt.Errorf("feature %q: %w", c.Features[i].Name, err)
			}
		}
	}
	return out, nil
}
