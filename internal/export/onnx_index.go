package export

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// indexOps select elements by index, or count.
var indexOps = map[*ops.Def]func(*site) error{
	ops.GatherV2:            gather,
	ops.OneHot:              oneHot,
	ops.UnsortedSegmentSum:  segments("add", 0),
	ops.UnsortedSegmentProd: segments("mul", 1),
	ops.UpperBound:          upperBound,
	ops.LowerBound:          upperBound,
	ops.Bucketize:           bucketize,
	ops.Where:               func(s *site) error { return s.yield(s.swapped(s.step("NonZero", nil, s.in(0)), 1, 0)) },
	ops.GatherNd: func(s *site) error {
		return s.emit("GatherND", nil, s.in(0), s.as64(s.in(1), s.node.Inputs[1].DType()))
	},
	ops.ScatterNd: scatterNd,
	ops.TensorScatterUpdate: func(s *site) error {
		return s.emit("ScatterND", nil, s.in(0), s.as64(s.in(1), s.node.Inputs[1].DType()), s.in(2))
	},
	ops.Cumsum: func(s *site) error {
		return s.emit("CumSum", map[string]any{"exclusive": flag(s.node.Bool("exclusive")), "reverse": flag(s.node.Bool("reverse"))}, s.in(0), s.in(1))
	},
}

func gather(s *site) error {
	axis, err := s.axis(2, 0)
	if err != nil {
		return err
	}
	batch := s.node.Int("batch_dims", 0)
	if r := s.node.Inputs[1].Shape().Rank(); batch < 0 && r >= 0 {
		batch += r
	}
	switch {
	case batch == 0:
		return s.emit("Gather", map[string]any{"axis": axis}, s.in(0), s.in(1))
	case batch == 1 && axis == 1 && s.node.Inputs[0].Shape().Rank() == 2 && s.node.Inputs[1].Shape().Rank() == 2:
		return s.emit("GatherElements", map[string]any{"axis": 1}, s.in(0), s.in(1))
	}
	return fmt.Errorf("batch_dims %d of shapes %v and %v is not translated", batch, s.node.Inputs[0].Shape(), s.node.Inputs[1].Shape())
}

// oneHot gives no 1 for a negative id. ONNX counts these from the end, so they become the first id that is too large.
func oneHot(s *site) error {
	depth := s.as64(s.in(1), s.node.Inputs[1].DType())
	first := s.int64s("first", 0)
	values := s.step("Concat", map[string]any{"axis": 0}, s.step("Unsqueeze", nil, s.in(3), first), s.step("Unsqueeze", nil, s.in(2), first))
	ids, err := s.notNegative(s.as64(s.in(0), s.node.Inputs[0].DType()), depth)
	if err != nil {
		return err
	}
	return s.emit("OneHot", map[string]any{"axis": s.node.Int("axis", -1)}, ids, depth, values)
}

// notNegative returns ids with negative ones replaced by otherwise.
func (s *site) notNegative(ids, otherwise string) (string, error) {
	zero, err := s.scalar("zero", tensor.Int64, 0)
	if err != nil {
		return "", err
	}
	return s.step("Where", nil, s.step("Less", nil, ids, zero), otherwise, ids), nil
}

// segments reduces into one row more than requested, which receives negative ids. Empty segments have the value empty.
func segments(reduction string, empty float64) func(s *site) error {
	return func(s *site) error { return s.segments(reduction, empty) }
}

func (s *site) segments(reduction string, empty float64) error {
	rank, err := s.rank(1)
	if err != nil {
		return err
	}
	if rank != 1 {
		return fmt.Errorf("segment ids of rank %d: expected 1", rank)
	}
	one := s.int64s("one", 1)
	count := s.step("Reshape", nil, s.as64(s.in(2), s.node.Inputs[2].DType()), one)
	ids, err := s.notNegative(s.as64(s.in(1), s.node.Inputs[1].DType()), count)
	if err != nil {
		return err
	}
	row := s.step("Slice", nil, s.step("Shape", nil, s.in(0)), one, s.int64s("end", 1<<31-1))
	shape := s.step("Concat", map[string]any{"axis": 0}, s.step("Add", nil, count, one), row)
	g := graph.NewBuilder(graph.New())
	g.Scalar("empty", s.node.Outputs[0].DType, empty)
	if g.Err() != nil {
		return g.Err()
	}
	start := g.Graph.Node("empty").Attrs["value"].(*tensor.Tensor).Clone()
	start.Shape = []int{1}
	rows := s.step("ConstantOfShape", map[string]any{"value": start}, shape)
	sums := s.step("ScatterND", map[string]any{"reduction": reduction}, rows, s.step("Unsqueeze", nil, ids, s.int64s("last", -1)), s.in(0))
	return s.emit("Slice", nil, sums, s.int64s("start", 0), count)
}

// scatterNd adds to zeros.
func scatterNd(s *site) error {
	zero := tensor.New(s.node.Outputs[0].DType, 1)
	d := s.node.Inputs[0].DType()
	zeros := s.step("ConstantOfShape", map[string]any{"value": zero}, s.as64(s.in(2), d))
	return s.emit("ScatterND", map[string]any{"reduction": "add"}, zeros, s.as64(s.in(0), d), s.in(1))
}

// upperBound counts the sorted numbers that are at most each value; for LowerBound, those less than it.
func upperBound(s *site) error {
	compare := "LessOrEqual"
	if s.node.Op == "LowerBound" {
		compare = "Less"
	}
	return s.count(compare, s.step("Unsqueeze", nil, s.in(0), s.int64s("before", 1)), s.step("Unsqueeze", nil, s.in(1), s.int64s("after", 2)))
}

// bucketize counts the boundaries that are at most each number.
func bucketize(s *site) error {
	list, ok := s.node.Attrs["boundaries"].([]float32)
	if !ok || s.node.Inputs[0].DType() != tensor.Float32 {
		return fmt.Errorf("boundaries of %v: expected float32", s.node.Inputs[0].DType())
	}
	t, err := tensor.FromSlice(list, len(list))
	if err != nil {
		return err
	}
	return s.count("LessOrEqual", s.constant("boundaries", t), s.step("Unsqueeze", nil, s.in(0), s.int64s("last", -1)))
}

// count returns how often a comparison holds along the last dimension.
func (s *site) count(compare, x, y string) error {
	ones := s.cast(s.step(compare, nil, x, y), tensor.Int64)
	return s.yield(s.from64(s.step("ReduceSum", map[string]any{"keepdims": 0}, ones, s.int64s("axes", -1))))
}

// flag converts a bool for ONNX.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
