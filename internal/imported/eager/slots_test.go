package eager

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
)

// unit is half the size of the large tensors in these tests.
const unit = 32 << 10

// planned is a step of a test: the op, its attributes, and the slots of its values.
type planned struct {
	op    string
	attrs graph.Attrs
	in    []int
	out   []int
	held  int // units paid for after the step
}

// The slots set before the first step: a large tensor, its shape, numbers and texts.
const (
	large = iota
	flat
	zero
	anySize
	first
	sentences
	variable
	begin // the steps' own slots begin here
)

// prepareSteps prepares the steps; the values in the slots of kept stay.
func prepareSteps(t *testing.T, all []planned, kept ...int) (steps []Step, size int) {
	t.Helper()
	for _, p := range all {
		n := &graph.Node{Name: p.op, Op: p.op, Attrs: p.attrs, Outputs: make([]graph.Type, len(p.out))}
		k, err := Prepare(n)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, Step{Kernel: k, In: p.in, Out: p.out, Keeps: Keeps(n)})
		for _, at := range append(p.out, begin-1) {
			size = max(size, at+1)
		}
	}
	needed := make([]bool, size)
	for at := range begin {
		needed[at] = true
	}
	for _, at := range kept {
		needed[at] = true
	}
	for i := len(steps) - 1; i >= 0; i-- {
		steps[i].Ends(needed)
	}
	return steps, size
}

// given sets the values before the first step.
func given(t *testing.T, s session, slots *Slots) {
	t.Helper()
	all := tensor.New(tensor.String, 64)
	for i := range all.Strings {
		all.Strings[i] = make([]byte, 2*unit/64)
	}
	slots.Values[large] = Value{T: tensor.New(tensor.Float32, 2*unit/4)}
	slots.Values[flat] = Value{T: tensorOf([]int32{2, -1}, 2)}
	slots.Values[zero] = Value{T: tensor.Scalar(int32(0))}
	slots.Values[anySize] = Value{T: tensor.Scalar(int32(-1))}
	slots.Values[first] = Value{T: tensorOf([]int32{1}, 1)}
	slots.Values[sentences] = Value{T: all}
	slots.Values[variable] = s.run("VarHandleOp", graph.Attrs{"shared_name": []byte("v"), "dtype": tensor.Float32, "shape": graph.Shape{UnknownRank: true}})
}

// TestSlotsGiveBack: the memory of a value is returned after its last use, and not while another value shares it.
func TestSlotsGiveBack(t *testing.T) {
	float := graph.Attrs{"T": tensor.Float32}
	neg := func(in, out, held int) planned { return planned{"Neg", float, []int{in}, []int{out}, held} }
	reshape := func(in, out, held int) planned { return planned{"Reshape", float, []int{in, flat}, []int{out}, held} }
	split := func(in, held int) planned {
		return planned{"Split", graph.Attrs{"T": tensor.Float32, "num_split": int64(2)}, []int{zero, in}, []int{12, 13}, held}
	}
	lower := func(in, out, held int) planned { return planned{"StringLower", nil, []int{in}, []int{out}, held} }
	list := graph.Attrs{"element_dtype": tensor.Float32, "shape_type": tensor.Int32}
	for name, c := range map[string]struct {
		steps []planned
		kept  []int
	}{
		"a chain":                  {[]planned{neg(large, 7, 2), neg(7, 8, 2), neg(8, 9, 2), neg(9, 10, 0)}, nil},
		"what is fetched":          {[]planned{neg(large, 7, 2), neg(7, 8, 4), neg(8, 9, 4)}, []int{7, 9}},
		"what is read twice":       {[]planned{neg(large, 7, 2), neg(7, 8, 4), {"AddV2", float, []int{7, 7}, []int{9}, 4}}, []int{8, 9}},
		"a view":                   {[]planned{neg(large, 7, 2), reshape(7, 8, 2), neg(8, 9, 2), neg(9, 10, 2)}, []int{10}},
		"a view of a view":         {[]planned{neg(large, 7, 2), reshape(7, 8, 2), reshape(8, 9, 2), neg(9, 10, 2)}, []int{10}},
		"a view that is fetched":   {[]planned{neg(large, 7, 2), reshape(7, 8, 2), neg(large, 9, 2)}, []int{8}},
		"two views":                {[]planned{neg(large, 7, 2), reshape(7, 8, 2), reshape(7, 9, 2), neg(8, 10, 4), neg(9, 11, 4)}, []int{10, 11}},
		"a view of what is given":  {[]planned{reshape(large, 7, 0), reshape(7, 8, 0)}, []int{8}},
		"parts of one piece":       {[]planned{neg(large, 7, 2), split(7, 2), neg(12, 8, 3), neg(13, 9, 2)}, []int{8, 9}},
		"a part that stays":        {[]planned{neg(large, 7, 2), split(7, 2), neg(12, 8, 3)}, []int{8, 13}},
		"a part that nobody reads": {[]planned{neg(large, 7, 2), split(7, 2), neg(12, 8, 1)}, []int{8}},
		"both of two inputs": {[]planned{neg(large, 7, 2), neg(large, 8, 4), {"IdentityN", graph.Attrs{"T": []tensor.DType{tensor.Float32, tensor.Float32}}, []int{7, 8}, []int{9, 10}, 4},
			neg(9, 11, 4)}, []int{10, 11}},
		"texts":            {[]planned{lower(sentences, 7, 2), {"Reshape", graph.Attrs{"T": tensor.String}, []int{7, flat}, []int{8}, 2}, {"StringLength", nil, []int{8}, []int{9}, 0}}, []int{9}},
		"texts of texts":   {[]planned{lower(sentences, 7, 2), {"Slice", graph.Attrs{"T": tensor.String}, []int{7, first, first}, []int{8}, 2}}, []int{8}},
		"a list":           {[]planned{neg(large, 7, 2), reshape(7, 8, 2), {"TensorListFromTensor", list, []int{8, anySize}, []int{9}, 2}, neg(large, 10, 2)}, nil},
		"a variable":       {[]planned{neg(large, 7, 2), {"AssignVariableOp", graph.Attrs{"dtype": tensor.Float32}, []int{variable, 7}, nil, 2}, neg(large, 8, 2)}, nil},
		"a dropped result": {[]planned{{"Neg", float, []int{large}, []int{-1}, 0}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			memory := budget.NewServer(budget.Limits{Server: 1 << 30})
			defer memory.Close()
			a := memory.Open()
			defer a.Close()
			s := newSession(t)
			steps, size := prepareSteps(t, c.steps, c.kept...)
			slots := NewSlots(size)
			given(t, s, slots)
			s.env.Payer = Payer{Account: a, Rows: true}
			for range 2 { // the second run reuses the slots
				before := a.Mark()
				slots.Begin(s.env.Payer)
				for i := range steps {
					if err := slots.Run(t.Context(), s.env, &steps[i]); err != nil {
						t.Fatal(err)
					}
					if got := int(a.Held()) / unit; got != c.steps[i].held {
						t.Errorf("step %d: %d units are paid for, expected %d", i, got, c.steps[i].held)
					}
				}
				a.ReleaseSince(before, 0)
			}
			for at := begin; at < size; at++ {
				if stays := slices.Contains(c.kept, at); stays != (slots.Values[at] != Value{}) {
					t.Errorf("slot %d: kept %v, expected %v", at, !stays, stays)
				}
			}
		})
	}
}

// TestSlotsAllocate: the slots of growing steps are allocated once for the values and once for inputs and outputs.
func TestSlotsAllocate(t *testing.T) {
	var steps []Step
	for n := range fewValues {
		steps = append(steps, Step{Kernel: func(context.Context, *Env, []Value, []Value) error { return nil }, In: make([]int, n), Out: []int{1}})
	}
	got := testing.AllocsPerRun(10, func() {
		slots := NewSlots(2)
		slots.Begin(Payer{})
		for i := range steps {
			if err := slots.Run(t.Context(), nil, &steps[i]); err != nil {
				t.Fatal(err)
			}
		}
	})
	if got > 3 {
		t.Errorf("%v allocations, expected 3", got)
	}
}

// TestFunctionsGiveBack: branches and loops return the memory of their functions' intermediate values in each iteration.
func TestFunctionsGiveBack(t *testing.T) {
	const large = 1 << 20
	whole := graph.Type{DType: tensor.Float32, Shape: graph.Shape{UnknownRank: true}}
	negated := func(b *graph.Builder, x graph.Output, times int) graph.Output {
		for i := range times {
			x = b.Op("Neg", "negated"+string(rune('a'+i)), whole, nil, x)
		}
		return x
	}
	s := control(t)
	s.env.Functions["round"] = function(t, 3, func(b *graph.Builder, in outputs) outputs {
		return outputs{b.Op("AddV2", "sum", scalar, nil, in[0], b.Const("one", tensor.Scalar(int64(1)))), in[1], negated(b, in[2], 7)}
	})
	s.env.Functions["branch"] = function(t, 2, func(b *graph.Builder, in outputs) outputs { return outputs{in[0], negated(b, in[1], 7)} })
	s.env.Functions["view"] = function(t, 2, func(b *graph.Builder, in outputs) outputs {
		x := negated(b, in[1], 2)
		return outputs{b.Op("Reshape", "first", whole, nil, x, b.Const("flat", tensorOf([]int32{-1}, 1))), b.Op("Reshape", "second", whole, nil, x, b.Const("square", tensorOf([]int32{512, -1}, 2)))}
	})
	loop, two := attrs(three, "cond", "less", "body", "round"), []tensor.DType{tensor.Int64, tensor.Float32}
	x := tensor.New(tensor.Float32, large/4)
	tensor.Values[float32](x)[7] = 1
	for name, c := range map[string]struct {
		op    string
		attrs graph.Attrs
		in    []any
		out   int // the large result
		peak  int // number of large tensors at once
		held  int // number afterwards
	}{
		"a loop":    {"StatelessWhile", loop, []any{int64(0), int64(5), x}, 2, 3, 1},
		"no round":  {"StatelessWhile", loop, []any{int64(5), int64(5), x}, 2, 0, 0},
		"a branch":  {"StatelessIf", attrs(two, "then_branch", "branch", "else_branch", "first"), []any{tensor.Scalar(true), int64(1), x}, 1, 2, 1},
		"two views": {"If", attrs(two, "then_branch", "view", "else_branch", "first"), []any{tensor.Scalar(true), int64(1), x}, 1, 2, 1},
	} {
		for _, short := range []int{0, 1} {
			const small = 8 << 10 // numbers
			memory := budget.NewServer(budget.Limits{Server: int64(max(c.peak*large, small) + small*(1-2*short))})
			s.env.Payer = Payer{Account: memory.Open(), Rows: true}
			out, err := s.try(c.op, c.attrs, c.in...)
			if refused := short > 0 && c.peak > 0; (err != nil) != refused {
				t.Errorf("%s: memory for %d large tensors, less %d: got %v", name, c.peak, short*small, err)
			}
			if held := int(s.env.Payer.Account.Held()) / large; err == nil && (held != c.held || math.Abs(float64(tensor.Values[float32](out[c.out].T)[7])) != 1) {
				t.Errorf("%s: %d large tensors are held, expected %d", name, held, c.held)
			}
			s.env.Payer.Account.Close()
			memory.Close()
		}
	}
}
