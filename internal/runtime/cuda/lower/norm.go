package lower

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// normOps are batch normalization over all dimensions but the last. Activations are float32 or bfloat16, all else float32.
var normOps = map[*ops.Def]lowering{
	ops.FusedBatchNormV3: lowerNorm, ops.FusedBatchNormEx: lowerNorm, ops.FusedBatchNormGradV3: lowerNormGrad,
}

// norm is a step with the sizes that it needs before its operands have sizes.
type norm struct {
	step
	half     bool
	training bool
}

func newNorm(t *Target, o *engine.Operation, x *engine.Operand) (*norm, error) {
	d := x.Type.DType
	if d != tensor.Float32 && d != tensor.BFloat16 {
		return nil, fmt.Errorf("element type %v is not supported", d)
	}
	if f := o.Node.Str("data_format"); f != "" && f != "NHWC" && f != "NDHWC" {
		return nil, fmt.Errorf("data_format %s is not supported", f)
	}
	if s := x.Type.Shape; s.Rank() < 2 || !s.Dims[s.Rank()-1].Static() {
		return nil, fmt.Errorf("expected rank >= 2 and a number of channels, got %v", s)
	}
	return &norm{step: step{t: t, o: o}, half: d == tensor.BFloat16, training: o.Node.Bool("is_training")}, nil
}

// matrix returns x's sizes as a matrix for a batch.
func matrix(x *engine.Operand, batch int) (rows, cols int) {
	s := x.Type.Shape
	cols = s.Dims[s.Rank()-1].Const
	return s.ElementsAt(batch) / max(cols, 1), cols
}

// channels fails unless all operands are float32 vectors of x's channels.
func channels(x *engine.Operand, of ...*engine.Operand) error {
	want := graph.Shape{Dims: x.Type.Shape.Dims[x.Type.Shape.Rank()-1:]}
	for _, v := range of {
		if v.Type.DType != tensor.Float32 || !v.Type.Shape.Equal(want) {
			return fmt.Errorf("expected float32 %v for the channels of %v, got %v %v", want, x.Type.Shape, v.Type.DType, v.Type.Shape)
		}
	}
	return nil
}

// lowerNorm takes x, scale, offset, mean, variance and a side input, and gives y, mean, variance, the reserves with mean and
// plain variance, and an unused one.
func lowerNorm(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 5, 6); err != nil {
		return nil, err
	}
	s, err := newNorm(t, o, o.In[0])
	if err != nil {
		return nil, err
	}
	stats := o.In[1:5]
	if s.training && o.Node.Float("exponential_avg_factor", 1) == 1 {
		stats = o.In[1:3] // mean and variance are not read in training
	}
	if err := errors.Join(channels(o.In[0], stats...), channels(o.In[0], o.Out[1:5]...), typed(o.In[0].Type.DType, o.Out[0])); err != nil {
		return nil, err
	}
	if o.Node.Int("num_side_inputs", 0) > 0 && (len(o.In) != 6 || o.In[5].Type.DType != o.In[0].Type.DType) {
		return nil, fmt.Errorf("num_side_inputs: expected one more input of type %v", o.In[0].Type.DType)
	}
	if a := o.Node.Str("activation_mode"); a != "" && a != "Identity" && a != "Relu" {
		return nil, fmt.Errorf("activation_mode %s is not supported", a)
	}
	s.step.workspace = func(batch int) int {
		n := kernels.Norm{Half: s.half}
		n.Rows, n.Cols = matrix(o.In[0], batch)
		return n.ScratchBytes()
	}
	return fixedNorm{s, s.forward}, nil
}

// fixedNorm is a norm with its launches.
type fixedNorm struct {
	*norm
	launches func() []Launch
}

// Bind implements Step.
func (n fixedNorm) Bind() ([]Launch, error) { return n.launches(), nil }

func (s *norm) forward() []Launch {
	o := s.o
	n := kernels.Norm{Y: s.out(0), X: s.in(0), Gamma: s.in(1), Beta: s.in(2), Mean: s.out(3), Variance: s.out(4), Scratch: Address(&o.Workspace),
		Epsilon: o.Node.Float("epsilon", 1e-4), Relu: o.Node.Str("activation_mode") == "Relu", Half: s.half,
		MeanOld: s.in(3), VarianceOld: s.in(4), MeanNew: s.out(1), VarianceNew: s.out(2), Factor: o.Node.Float("exponential_avg_factor", 1)}
	n.Rows, n.Cols = rowsCols(o.In[0])
	if o.Node.Int("num_side_inputs", 0) > 0 {
		n.Add = s.in(5)
	}
	unused := zeros(o.Out[5])
	if s.training {
		return append(Launches(s.t.Kernels, n.Train()...), unused)
	}
	n.Mean, n.Variance = s.in(3), s.in(4)
	all := append(Launches(s.t.Kernels, n.Infer()...), unused)
	for i, from := range []int{3, 4, 3, 4} {
		all = append(all, Copy{s.out(1 + i), s.in(from), 4 * n.Cols})
	}
	return all
}

// lowerNormGrad takes dy, x, scale, mean, variance and a reserve, and gives dx, dscale, doffset and two unused reserves.
func lowerNormGrad(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 5, 3); err != nil {
		return nil, err
	}
	s, err := newNorm(t, o, o.In[1])
	if err != nil {
		return nil, err
	}
	if err := errors.Join(channels(o.In[1], o.In[2:5]...), channels(o.In[1], o.Out[1:3]...), typed(o.In[1].Type.DType, o.In[0], o.Out[0])); err != nil {
		return nil, err
	}
	s.step.workspace = func(batch int) int {
		n := kernels.NormGrad{}
		n.Rows, n.Cols = matrix(o.In[1], batch)
		return n.ScratchBytes()
	}
	return fixedNorm{s, s.backward}, nil
}

func (s *norm) backward() []Launch {
	o := s.o
	n := kernels.NormGrad{DX: s.out(0), DGamma: s.out(1), DBeta: s.out(2), DY: s.in(0), X: s.in(1), Gamma: s.in(2), Mean: s.in(3), Variance: s.in(4),
		Scratch: Address(&o.Workspace), Epsilon: o.Node.Float("epsilon", 1e-4), Training: s.training, Half: s.half}
	n.Rows, n.Cols = rowsCols(o.In[1])
	all := Launches(s.t.Kernels, n.Calls()...)
	for _, v := range o.Out[3:] {
		all = append(all, zeros(v))
	}
	return all
}
