package session_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// agreed is a case in which TensorFlow 2.15 has the same outcome.
type agreed struct {
	step
	shape   []int // the first result's shape
	refused bool
}

// zeros is a fed tensor.
func zeros(shape ...int) operand { return fedOf(tensor.New(tensor.Float32, shape...)) }

// weights is a constant tensor.
func weights(shape ...int) operand { return constantOf(random(len(shape), shape...)) }

func ints32(v ...int) operand { return constantOf(numbers32(v...)) }
func int32Of(v int) operand   { return constantOf(scalar32(v)) }

// gives and refuses return cases.
func gives(st step, shape ...int) agreed { return agreed{step: st, shape: shape} }
func refuses(st step) agreed             { return agreed{step: st, refused: true} }

// moved is an op with a window: strides, then the paddings if they are explicit.
func moved(op, padding string, stride []int64, pads []int64, in ...operand) step {
	attrs := graph.Attrs{"strides": []int64{1, stride[0], stride[1], 1}, "padding": []byte(padding)}
	if pads != nil {
		attrs["explicit_paddings"] = pads
	}
	return floatStep(op, attrs, in...)
}

func pooled(op, padding string, size, stride, pads []int64, in ...operand) step {
	st := moved(op, padding, stride, pads, in...)
	st.attrs["ksize"] = []int64{1, size[0], size[1], 1}
	return st
}

func around(top, bottom, left, right int64) []int64 {
	return []int64{0, 0, top, bottom, left, right, 0, 0}
}

var once = []int64{1, 1}

// windowCases: a result's size is (size - window + stride) / stride, rounded toward 0; negative sizes are refused.
func windowCases() []agreed {
	conv := func(padding string, stride, pads []int64, in ...operand) step {
		return moved("Conv2D", padding, stride, pads, in...)
	}
	cases := []agreed{
		gives(conv("VALID", once, nil, zeros(1, 3, 3, 1), weights(3, 3, 1, 2)), 1, 1, 1, 2),
		gives(conv("VALID", once, nil, zeros(1, 2, 3, 1), weights(3, 3, 1, 2)), 1, 0, 1, 2),
		refuses(conv("VALID", once, nil, zeros(1, 1, 3, 1), weights(3, 3, 1, 2))),
		refuses(conv("VALID", once, nil, zeros(0, 1, 3, 1), weights(3, 3, 1, 2))),
		gives(conv("VALID", []int64{2, 1}, nil, zeros(1, 1, 3, 1), weights(3, 3, 1, 2)), 1, 0, 1, 2),
		refuses(conv("VALID", []int64{2, 1}, nil, zeros(1, 0, 3, 1), weights(4, 3, 1, 2))),
		gives(conv("SAME", once, nil, zeros(1, 0, 3, 1), weights(3, 3, 1, 2)), 1, 0, 3, 2),
		gives(conv("VALID", []int64{math.MaxInt32, 1}, nil, zeros(1, 4, 4, 1), weights(2, 2, 1, 1)), 1, 1, 3, 1),
		refuses(conv("VALID", []int64{1 << 31, 1}, nil, zeros(1, 4, 4, 1), weights(2, 2, 1, 1))),
		refuses(conv("VALID", []int64{0, 1}, nil, zeros(1, 4, 4, 1), weights(2, 2, 1, 1))),
		// Explicit paddings.
		gives(conv("EXPLICIT", once, around(2, 1, 0, 3), zeros(1, 4, 4, 1), weights(2, 2, 1, 1)), 1, 6, 6, 1),
		gives(conv("EXPLICIT", []int64{1 << 21, 1}, around(1<<21, 1, 0, 0), zeros(1, 4, 4, 1), weights(2, 2, 1, 1)), 1, 2, 3, 1),
		refuses(conv("EXPLICIT", once, around(-1, 1, 0, 0), zeros(1, 4, 4, 1), weights(2, 2, 1, 1))),
		refuses(conv("EXPLICIT", once, around(0, 0, 0, math.MinInt64), zeros(1, 4, 4, 1), weights(2, 2, 1, 1))),
		refuses(conv("EXPLICIT", []int64{1 << 30, 1}, around(1<<40, 1, 0, 0), zeros(1, 4, 4, 1), weights(2, 2, 1, 1))),
		refuses(conv("EXPLICIT", once, []int64{0, 0, 1, 1, 1, 1, 0, 1}, zeros(1, 4, 4, 1), weights(2, 2, 1, 1))),
		refuses(conv("EXPLICIT", once, []int64{0, 0, 1, 1, 1, 1}, zeros(1, 4, 4, 1), weights(2, 2, 1, 1))),
		refuses(conv("EXPLICIT", once, nil, zeros(1, 4, 4, 1), weights(2, 2, 1, 1))),
		refuses(conv("VALID", once, around(0, 0, 0, 0), zeros(1, 4, 4, 1), weights(2, 2, 1, 1))),
		refuses(conv("EXPLICIT", once, around(0, 1, 0, 0), zeros(1, 1, 4, 1), weights(5, 2, 1, 1))),
		// Filters.
		refuses(conv("VALID", once, nil, zeros(1, 4, 4, 0), weights(2, 2, 0, 1))),
		gives(conv("VALID", once, nil, zeros(2, 4, 4, 0), weights(2, 2, 1, 4)), 2, 3, 3, 4),
		refuses(conv("SAME", once, nil, zeros(2, 4, 4, 1), weights(0, 2, 1, 1))),
		gives(conv("SAME", once, nil, zeros(0, 4, 4, 1), weights(0, 2, 1, 1)), 0, 4, 4, 1),
		gives(conv("SAME", once, nil, zeros(2, 4, 4, 1), weights(2, 2, 1, 0)), 2, 4, 4, 0),
		refuses(conv("VALID", once, nil, zeros(2, 4, 4, 4), weights(1, 2, 3, 1))),
		gives(conv("VALID", once, nil, zeros(2, 4, 4, 4), weights(1, 2, 2, 4)), 2, 4, 3, 4),
		refuses(conv("VALID", once, nil, zeros(2, 4, 4, 4), weights(1, 2, 2, 3))),
		refuses(conv("VALID", once, nil, zeros(2, 4, 4), weights(1, 2, 4, 3))),
	}
	deep := func(padding string, pads []int64, in ...operand) step {
		return moved("DepthwiseConv2dNative", padding, once, pads, in...)
	}
	cases = append(cases,
		gives(deep("SAME", nil, zeros(1, 2, 2, 1), weights(0, 2, 1, 1)), 1, 2, 2, 1),
		gives(deep("VALID", nil, zeros(1, 2, 2, 1), weights(0, 1, 1, 1)), 1, 3, 2, 1),
		gives(deep("SAME", nil, zeros(1, 2, 2, 0), weights(1, 1, 0, 2)), 1, 2, 2, 0),
		gives(deep("SAME", nil, zeros(1, 2, 2, 1), weights(1, 2, 1, 0)), 1, 2, 2, 0),
		refuses(deep("SAME", nil, zeros(1, 2, 2, 2), weights(1, 1, 1, 1))),
		refuses(deep("VALID", nil, zeros(1, 1, 2, 1), weights(3, 1, 1, 1))),
		refuses(deep("VALID", around(0, 0, 0, 0), zeros(1, 2, 2, 1), weights(1, 1, 1, 1))))
	two := []int64{2, 2}
	for _, op := range []string{"MaxPool", "AvgPool"} {
		cases = append(cases,
			gives(pooled(op, "VALID", two, once, nil, zeros(1, 1, 2, 3)), 1, 0, 1, 3),
			refuses(pooled(op, "VALID", []int64{3, 1}, once, nil, zeros(1, 1, 2, 3))),
			gives(pooled(op, "VALID", []int64{3, 1}, two, nil, zeros(1, 1, 2, 3)), 1, 0, 1, 3),
			gives(pooled(op, "SAME", []int64{1 << 21, 1}, []int64{1 << 30, 1}, nil, zeros(1, 4, 2, 3)), 1, 1, 2, 3),
			refuses(pooled(op, "VALID", []int64{0, 1}, once, nil, zeros(1, 1, 2, 3))),
			refuses(pooled(op, "VALID", two, once, nil, zeros(2, 2, 3))))
	}
	return append(cases,
		gives(pooled("MaxPool", "EXPLICIT", two, once, around(1, 0, 1, 1), zeros(1, 2, 2, 1)), 1, 2, 3, 1),
		refuses(pooled("MaxPool", "EXPLICIT", two, once, around(2, 0, 1, 1), zeros(1, 2, 2, 1))),
		gives(pooled("MaxPool", "VALID", two, once, around(1, 1, 1, 1), zeros(1, 2, 2, 1)), 1, 1, 1, 1),
		refuses(pooled("AvgPool", "EXPLICIT", two, once, around(0, 0, 0, 0), zeros(1, 2, 2, 1))))
}

// shapeCases are for ops that change shapes.
func shapeCases() []agreed {
	reshape := func(x operand, to ...int) step {
		return floatStep("Reshape", graph.Attrs{"Tshape": tensor.Int32}, x, ints32(to...))
	}
	spread := func(x operand, to ...int) step {
		return floatStep("BroadcastTo", graph.Attrs{"Tidx": tensor.Int32}, x, ints32(to...))
	}
	split := func(n int, x operand, sizes ...int) step {
		st := floatStep("SplitV", graph.Attrs{"num_split": int64(n), "Tlen": tensor.Int32}, x, ints32(sizes...), int32Of(0))
		st.outs = outputs(n)
		return st
	}
	steps := func(start, limit, delta int) step {
		return step{op: "Range", attrs: graph.Attrs{"Tidx": tensor.Int32}, in: []operand{int32Of(start), int32Of(limit), int32Of(delta)}, outs: []tensor.DType{tensor.Int32}}
	}
	cut := func(x operand, begin, end, stride, shrink int) step {
		return floatStep("StridedSlice", graph.Attrs{"Index": tensor.Int32, "shrink_axis_mask": int64(shrink)}, x, ints32(begin), ints32(end), ints32(stride))
	}
	blocks := func(op string, x operand, block operand) step {
		return floatStep(op, graph.Attrs{"Tblock_shape": tensor.Int32, "Tpaddings": tensor.Int32, "Tcrops": tensor.Int32}, x, block, constantOf(tensor.New(tensor.Int32, 1, 2)))
	}
	fields := func(n int) step {
		return floatStep("SpaceToDepth", graph.Attrs{"block_size": int64(n)}, zeros(1, 2, 2, 1))
	}
	return []agreed{
		gives(reshape(zeros(0, 3), 0, -1), 0, 3), gives(reshape(zeros(3, 0), 0, -1), 0, 3), refuses(reshape(zeros(2, 3), 0, -1)),
		gives(reshape(zeros(0, 4), 0, -1, 3), 0, 1, 3), gives(reshape(zeros(0, 1, 5, 2), 0, 4, -1), 0, 4, 2), gives(reshape(zeros(0, 3), -1), 0),
		gives(reshape(zeros(0, 3), -1, 3), 0, 3), gives(reshape(zeros(0, 3), 5, 0), 5, 0), refuses(reshape(zeros(0, 3), 5, 1)),
		refuses(reshape(zeros(2, 3), -1, -1)), refuses(reshape(zeros(2, 3), -2, 3)), refuses(reshape(zeros(2, 3), -1, 4)),
		gives(spread(zeros(1, 3), 2, 4, 3), 2, 4, 3), gives(spread(zeros(1, 3), 0, 3), 0, 3), refuses(spread(zeros(2, 3), 3)), refuses(spread(zeros(2, 3), 4, 3)),
		refuses(spread(zeros(2, 3), -1, 3)),
		gives(steps(1, 7, 2), 3), gives(steps(7, 1, -2), 3), gives(steps(1, 1, -2), 0), refuses(steps(1, 7, -2)), refuses(steps(7, 1, 2)), refuses(steps(1, 2, 0)),
		gives(cut(zeros(3, 2), 2, 9, 1, 1), 2), refuses(cut(zeros(3, 2), 3, 9, 1, 1)), gives(cut(zeros(3, 2), -3, 9, 1, 1), 2), refuses(cut(zeros(3, 2), -4, 9, 1, 1)),
		gives(cut(zeros(3, 2), 5, 9, 1, 0), 0, 2), refuses(cut(zeros(3, 2), 0, 1, 0, 0)), refuses(cut(zeros(3, 2), 2, 1, -1, 1)), refuses(cut(zeros(0, 2), 0, 1, 1, 1)),
		gives(split(2, zeros(3, 2), 1, -1), 1, 2), gives(split(1, zeros(3, 2), 3), 3, 2), gives(split(1, zeros(3, 2), -1), 3, 2), refuses(split(2, zeros(3, 2), 4, -1)),
		refuses(split(2, zeros(3, 2), -1, -1)), refuses(split(2, zeros(3, 2), 1, 1)),
		gives(fields(2), 1, 1, 1, 4), refuses(fields(1)), refuses(fields(0)),
		gives(blocks("SpaceToBatchND", zeros(1, 4), ints32(2)), 2, 2), refuses(blocks("SpaceToBatchND", zeros(1, 4), constantOf(shaped32([]int{2}, 1, 1)))),
		gives(blocks("BatchToSpaceND", zeros(2, 2), ints32(2)), 1, 4), refuses(blocks("BatchToSpaceND", zeros(2, 2), constantOf(shaped32([]int{2}, 1, 1)))),
	}
}

// indexCases are for ops that take indices or select.
func indexCases() []agreed {
	gather := func(x, ids operand) step {
		return floatStep("GatherV2", graph.Attrs{"Tparams": tensor.Float32, "Tindices": tensor.Int32, "Taxis": tensor.Int32}, x, ids, int32Of(0))
	}
	gatherNd := func(x, ids operand) step {
		return floatStep("GatherNd", graph.Attrs{"Tparams": tensor.Float32, "Tindices": tensor.Int32}, x, ids)
	}
	scatter := func(ids, x operand, to ...int) step {
		return floatStep("ScatterNd", graph.Attrs{"Tindices": tensor.Int32}, ids, x, ints32(to...))
	}
	segments := func(x operand, n int, ids ...int) step {
		return floatStep("UnsortedSegmentSum", graph.Attrs{"Tindices": tensor.Int32, "Tnumsegments": tensor.Int32}, x, ints32(ids...), int32Of(n))
	}
	reverse := func(x operand, axes ...int) step {
		return floatStep("ReverseV2", graph.Attrs{"Tidx": tensor.Int32}, x, ints32(axes...))
	}
	choose := func(cond []int, a, b operand) step {
		return floatStep("Select", nil, fedOf(tensor.New(tensor.Bool, cond...)), a, b)
	}
	sum := func(x operand, axes ...int) step {
		return floatStep("Sum", graph.Attrs{"Tidx": tensor.Int32}, x, ints32(axes...))
	}
	largest := func(x operand, axis int) step {
		return step{op: "ArgMax", attrs: graph.Attrs{"T": tensor.Float32, "Tidx": tensor.Int32, "output_type": tensor.Int64}, in: []operand{x, int32Of(axis)}, outs: []tensor.DType{tensor.Int64}}
	}
	grid := func(v []int, shape ...int) operand { return constantOf(shaped32(v, shape...)) }
	return []agreed{
		gives(gather(zeros(3, 2), ints32(2)), 1, 2), refuses(gather(zeros(3, 2), ints32(3))), refuses(gather(zeros(3, 2), ints32(-1))), gives(gather(zeros(3, 0), ints32(7)), 1, 0),
		gives(gather(zeros(0, 2), ints32()), 0, 2), refuses(gather(zeros(0, 2), ints32(0))), refuses(gather(zeros(), ints32(0))),
		gives(gatherNd(zeros(3, 2), grid([]int{2, 1}, 1, 2)), 1), refuses(gatherNd(zeros(3, 2), grid([]int{3, 1}, 1, 2))), refuses(gatherNd(zeros(), grid(nil, 3, 0))),
		refuses(gatherNd(zeros(4, 0), grid(nil, 1, 0))), refuses(gatherNd(zeros(4, 0), grid([]int{0}, 1, 1))), gives(gatherNd(zeros(4, 0), grid(nil, 0, 1)), 0, 0),
		refuses(gatherNd(zeros(4, 3), grid([]int{0, 0, 0}, 1, 3))), refuses(gatherNd(zeros(4, 3), int32Of(0))),
		gives(scatter(grid([]int{1}, 1, 1), zeros(1, 2), 3, 2), 3, 2), refuses(scatter(grid([]int{3}, 1, 1), zeros(1, 2), 3, 2)), refuses(scatter(grid([]int{1}, 1, 1), zeros(1, 0), 3, 0)),
		gives(scatter(grid(nil, 0, 1), zeros(0, 0), 3, 0), 3, 0), refuses(scatter(grid([]int{1}, 1, 1), zeros(2, 2), 3, 2)),
		gives(segments(zeros(2, 3), 2, 0, -1), 2, 3), refuses(segments(zeros(2, 3), 2, 0, 2)), gives(segments(zeros(2, 0), 2, 0, 9), 2, 0), refuses(segments(zeros(2, 3), -1, 0, 0)),
		refuses(segments(zeros(2, 3), 2, 0)), gives(segments(zeros(0, 3), 0), 0, 3),
		gives(reverse(zeros(2, 3), 1), 2, 3), refuses(reverse(zeros(2, 3), 2)), refuses(reverse(zeros(2, 3), 0, -2)), gives(reverse(zeros(0, 3), 7, 7), 0, 3), gives(reverse(zeros(), 7)),
		gives(choose(nil, zeros(2, 3), zeros(2, 3)), 2, 3), gives(choose([]int{2}, zeros(2, 3), zeros(2, 3)), 2, 3), refuses(choose([]int{3}, zeros(2, 3), zeros(2, 3))),
		refuses(choose([]int{2}, zeros(2, 3), zeros(2, 1))), refuses(choose([]int{2, 1}, zeros(2, 3), zeros(2, 3))), refuses(choose(nil, zeros(2, 3), zeros(3))),
		gives(sum(zeros(2, 3), 0, 1)), refuses(sum(zeros(2, 3), 0, 0)), refuses(sum(zeros(2, 3), 0, -2)), refuses(sum(zeros(2, 3), 2)), gives(sum(zeros(0, 3), 0), 3),
		gives(largest(zeros(0, 3), 1), 0), refuses(largest(zeros(0, 3), 0)), refuses(largest(zeros(0, 0), 0)),
	}
}

// otherCases are for ops with their own rules for ranks and sizes.
func otherCases() []agreed {
	resize := func(op string, x operand, h, w int) step { return floatStep(op, nil, x, ints32(h, w)) }
	norm := func(x operand, n int) step {
		st := floatStep("FusedBatchNormV3", graph.Attrs{"U": tensor.Float32, "is_training": false, "epsilon": float32(.5), "data_format": []byte("NHWC")}, x, weights(n), weights(n), weights(n), constantOf(absolute(random(1, n))))
		st.outs = outputs(6)
		return st
	}
	pad := func(value operand) step {
		return floatStep("PadV2", graph.Attrs{"Tpaddings": tensor.Int32}, zeros(2), constantOf(shaped32([]int{1, 2}, 1, 2)), value)
	}
	roll := func(x operand, by, axes []int) step {
		return floatStep("Roll", graph.Attrs{"Tshift": tensor.Int32, "Taxis": tensor.Int32}, x, ints32(by...), ints32(axes...))
	}
	hot := func(value operand) step {
		return floatStep("OneHot", graph.Attrs{"TI": tensor.Int32, "axis": int64(-1)}, ints32(1, 0), int32Of(3), value, weights())
	}
	fill := func(value operand) step {
		return floatStep("Fill", graph.Attrs{"index_type": tensor.Int32}, ints32(2, 3), value)
	}
	var cases []agreed
	for _, op := range []string{"ResizeBilinear", "ResizeNearestNeighbor"} {
		cases = append(cases, gives(resize(op, zeros(1, 2, 2, 1), 3, 4), 1, 3, 4, 1), gives(resize(op, zeros(0, 2, 2, 1), 3, 4), 0, 3, 4, 1), refuses(resize(op, zeros(1, 2, 2, 0), 3, 4)),
			refuses(resize(op, zeros(1, 2, 2, 1), 0, 4)), refuses(resize(op, zeros(1, 0, 2, 1), 3, 4)))
	}
	return append(cases,
		gives(norm(zeros(2, 2, 2, 3), 3), 2, 2, 2, 3), gives(norm(zeros(2, 1, 2, 2, 3), 3), 2, 1, 2, 2, 3), refuses(norm(zeros(2, 3), 3)), refuses(norm(zeros(2, 2, 2, 3), 2)),
		gives(pad(weights()), 5), refuses(pad(weights(1))), gives(roll(zeros(3), []int{1}, []int{0}), 3), refuses(roll(zeros(), nil, nil)), refuses(roll(zeros(3), []int{1}, []int{1})),
		gives(hot(weights()), 2, 3), refuses(hot(weights(1))), gives(fill(zeros()), 2, 3), gives(fill(zeros(1)), 2, 3), refuses(fill(zeros(2))))
}

// TestAgreedCases: for unusual shapes and indices, eager, session and engine refuse what TensorFlow 2.15 refuses, and
// compute the rest. The log names the ops that the engine does not have.
func TestAgreedCases(t *testing.T) {
	testkit.NotConcurrent(t)
	unsupported := map[string]bool{}
	for name, cases := range map[string][]agreed{"windows": windowCases(), "shapes": shapeCases(), "indices": indexCases(), "other": otherCases()} {
		t.Run(name, func(t *testing.T) {
			for _, c := range cases {
				t.Run(fmt.Sprint(c.op, " ", c.in[0].t.Shape), func(t *testing.T) {
					s := sample{c.step}
					values, err := s.reference()
					switch {
					case c.refused && err == nil:
						t.Errorf("expected that it is refused, got %s\n%s", brief(values[0][0].T), s)
					case !c.refused && err != nil:
						t.Errorf("expected shape %v, got %v\n%s", c.shape, err, s)
					case err == nil:
						if got := values[0][0].T.Shape; fmt.Sprint(got) != fmt.Sprint(c.shape) {
							t.Errorf("expected shape %v, got %v\n%s", c.shape, got, s)
						}
					}
					differ(t, s)
					if !engine.Supported(c.op) {
						unsupported[c.op] = true
					}
				})
			}
		})
	}
	t.Logf("the engine lacks %v", unsupported)
}
