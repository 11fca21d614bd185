package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// fusedOps are ops that TensorFlow's graph optimizers fuse several nodes into. Each does what these nodes did, one after the other.
var fusedOps map[*ops.Def]maker

func init() { // they look up other kernels in the registry, which has them
	fusedOps = map[*ops.Def]maker{
		ops.FusedMatMul:                fused(ops.MatMul),
		ops.FusedConv2D:                fused(ops.Conv2D),
		ops.FusedDepthwiseConv2dNative: fused(ops.DepthwiseConv2dNative),
		ops.FusedBatchNormEx:           fusedNorm,
		ops.UnaryOpsComposition:        composition,
		ops.ParallelConcatStart:        concatStart,
		ops.ParallelConcatUpdate:       concatUpdate,
		ops.ParallelConcat:             parallelConcat,
	}
}

// stage computes output 0 from output 0 of the previous stage, and further arguments.
type stage struct {
	kernel kernel
	args   int
	outs   int
}

// stageOf resolves the kernel of an op, for a node with the site's attributes.
func (s *site) stageOf(op string, args int, attrs graph.Attrs) (stage, error) {
	def := registry()[op]
	if def == nil || def.in >= 0 && def.in != args+1 {
		return stage{}, fmt.Errorf("fused op %q %w", op, ErrUnsupported)
	}
	k, err := def.make(&site{node: &graph.Node{Name: s.node.Name, Op: op, Attrs: attrs}, outputs: def.out, generators: s.generators})
	return stage{k, args, def.out}, err
}

// run computes a stage: the arguments follow its first input.
func (f stage) run(c call, first Value, args []Value) (Value, error) {
	next := call{ctx: c.ctx, env: c.env, in: append([]Value{first}, args...), out: make([]Value, f.outs), grows: c.grows}
	err := f.kernel(next)
	return next.out[0], err
}

// activations are the ops that the remapper fuses after a product or normalization.
var activations = []string{"Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid"}

// fused makes the kernel of an op on two tensors, followed by the ops in fused_ops.
func fused(op *ops.Def) maker {
	return func(s *site) (kernel, error) {
		first, err := s.stageOf(op.Name, 1, s.node.Attrs)
		if err != nil {
			return nil, err
		}
		var stages []stage
		args := 0
		for _, name := range list[[]byte](s, "fused_ops") {
			next, err := s.following(string(name))
			if err != nil {
				return nil, err
			}
			stages = append(stages, next)
			args += next.args
		}
		return func(c call) error {
			if len(c.in) != 2+args {
				return fmt.Errorf("expected %d inputs, got %d", 2+args, len(c.in))
			}
			v, err := first.run(c, c.in[0], c.in[1:2])
			in := c.in[2:]
			for i := 0; i < len(stages) && err == nil; i++ {
				v, err = stages[i].run(c, v, in[:stages[i].args])
				in = in[stages[i].args:]
			}
			c.out[0] = v
			return err
		}, nil
	}
}

// following resolves one of the fused_ops.
func (s *site) following(name string) (stage, error) {
	switch name {
	case "BiasAdd":
		return s.stageOf(name, 1, s.node.Attrs)
	case "Add":
		return s.stageOf("AddV2", 1, s.node.Attrs)
	case "FusedBatchNorm":
		return s.stageOf("FusedBatchNorm", 4, graph.Attrs{"epsilon": s.node.Float("epsilon", 1e-4), "is_training": false, "data_format": []byte(s.str("data_format", "NHWC"))})
	case "LeakyRelu":
		return s.stageOf(name, 0, graph.Attrs{"alpha": s.node.Float("leakyrelu_alpha", 0.2)})
	}
	if !slices.Contains(activations, name) {
		return stage{}, fmt.Errorf("fused op %q %w", name, ErrUnsupported)
	}
	return s.stageOf(name, 0, nil)
}

// fusedNorm is FusedBatchNormV3, optionally followed by adding an image, and a Relu.
func fusedNorm(s *site) (kernel, error) {
	norm, err := batchNorm(s)
	if err != nil {
		return nil, err
	}
	sides, mode := s.count("num_side_inputs", 0, 1), s.str("activation_mode", "Identity")
	add, err := s.stageOf("AddV2", 1, nil)
	if err != nil {
		return nil, err
	}
	relu, err := s.stageOf("Relu", 0, nil)
	if err != nil {
		return nil, err
	}
	if mode != "Relu" && mode != "Identity" {
		return nil, fmt.Errorf("activation_mode %q %w", mode, ErrUnsupported)
	}
	return func(c call) error {
		if len(c.in) != 5+sides {
			return fmt.Errorf("expected %d inputs, got %d", 5+sides, len(c.in))
		}
		inner := c
		inner.in = c.in[:5]
		err := norm(inner)
		if sides == 1 && err == nil {
			c.out[0], err = add.run(c, c.out[0], c.in[5:])
		}
		if mode == "Relu" && err == nil {
			c.out[0], err = relu.run(c, c.out[0], nil)
		}
		return err
	}, nil
}

// composition applies unary elementwise ops one after the other.
func composition(s *site) (kernel, error) {
	var stages []stage
	for _, name := range list[[]byte](s, "op_names") {
		def := ops.Find(string(name))
		if def == nil || def.Shape != ops.SameShape || def.State != ops.Pure {
			return nil, fmt.Errorf("op %q of a composition %w", name, ErrUnsupported)
		}
		next, err := s.stageOf(string(name), 0, nil)
		if err != nil {
			return nil, err
		}
		stages = append(stages, next)
	}
	return func(c call) (err error) {
		v := c.in[0]
		for i := 0; i < len(stages) && err == nil; i++ {
			v, err = stages[i].run(c, v, nil)
		}
		c.out[0] = v
		return err
	}, nil
}

// concatStart allocates the output that concatUpdate fills.
func concatStart(s *site) (kernel, error) {
	d := s.dtype("dtype", tensor.Float32)
	shape, ok := s.node.Attrs["shape"].(graph.Shape)
	if !ok || !shape.Known() {
		return nil, fmt.Errorf("attribute shape: expected sizes that are known")
	}
	return func(c call) error {
		_, err := c.output(0, d, shape.At(1)...)
		return err
	}, nil
}

// concatUpdate replaces row loc; a negative loc counts from the end.
func concatUpdate(s *site) (kernel, error) {
	loc := s.node.Int("loc", 0)
	return func(c call) error {
		t, row := c.t(0), c.t(1)
		if len(t.Shape) == 0 || t.DType != row.DType || !slices.Equal(row.Shape, append([]int{1}, t.Shape[1:]...)) {
			return fmt.Errorf("update of shape %v does not fit a row of shape %v", row.Shape, t.Shape)
		}
		at := loc
		if at < 0 {
			at += t.Shape[0]
		}
		if at < 0 || at >= t.Shape[0] {
			return fmt.Errorf("loc %d is not a row of shape %v", loc, t.Shape)
		}
		out, err := c.output(0, t.DType, t.Shape...)
		if err != nil {
			return err
		}
		copyCells(out, 0, t, 0, t.Len())
		copyCells(out, at*row.Len(), row, 0, row.Len())
		return nil
	}, nil
}

// parallelConcat joins tensors that have one row each.
func parallelConcat(s *site) (kernel, error) {
	shape, ok := s.node.Attrs["shape"].(graph.Shape)
	if !ok || !shape.Known() {
		return nil, fmt.Errorf("attribute shape: expected sizes that are known")
	}
	return func(c call) error {
		want := shape.At(1)
		if len(want) == 0 || want[0] != len(c.in) {
			return fmt.Errorf("%d values do not make shape %v", len(c.in), want)
		}
		if err := sameType(c.in); err != nil {
			return err
		}
		out, err := c.output(0, c.t(0).DType, want...)
		if err != nil {
			return err
		}
		for i := range c.in {
			row := c.t(i)
			if !slices.Equal(row.Shape, append([]int{1}, want[1:]...)) {
				return fmt.Errorf("value %d of shape %v is not a row of shape %v", i, row.Shape, want)
			}
			copyCells(out, i*row.Len(), row, 0, row.Len())
		}
		return nil
	}, nil
}
