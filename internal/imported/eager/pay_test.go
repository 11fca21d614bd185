package eager

import (
	"bytes"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
)

// TestGrowing: ops that are defined to grow have kernels.
func TestGrowing(t *testing.T) {
	for _, op := range ops.Defs() {
		if op.Grows && !Supported(op.Name) {
			t.Errorf("there is no kernel of %s", op.Name)
		}
	}
}

// TestPayers checks who pays: the model for what follows from rows that were sent, the request for all else.
func TestPayers(t *testing.T) {
	memory := budget.NewServer(budget.Limits{Server: 1 << 30})
	defer memory.Close()
	column, row := tensor.New(tensor.Float32, 4096, 1), tensor.New(tensor.Float32, 1, 4096) // together 64 MiB
	texts, messages := tensor.New(tensor.String, 1024), tensor.New(tensor.String, 256)
	texts.Strings[0] = bytes.Repeat([]byte("a"), 4<<10)
	messages.Strings[0] = append([]byte{0x0a, 0x80, 0x80, 0x04}, make([]byte, 1<<16)...) // 64 K numbers: padding the others takes 64 MiB
	numbers := graph.Attrs{"message_type": []byte("t.M"), "field_names": [][]byte{[]byte("i")}, "output_types": []tensor.DType{tensor.Int32}, "descriptor_source": append([]byte("bytes://"), unhex(protoFile)...)}
	rows := graph.Attrs{"PARAMS_RAGGED_RANK": int64(1), "OUTPUT_RAGGED_RANK": int64(1), "Tvalues": tensor.Float32, "Tindices": tensor.Int64, "Tsplits": tensor.Int64}
	for name, c := range map[string]struct {
		op      string
		attrs   graph.Attrs
		in      []any
		payer   Payer
		refused bool
	}{
		"values, rows sent":      {"Fill", nil, []any{[]int64{16 << 20}, tensor.Scalar(float32(1))}, Payer{Rows: true}, true},
		"values, fixed":          {"Fill", nil, []any{[]int64{16 << 20}, tensor.Scalar(float32(1))}, Payer{Rows: true, Fixed: true}, false},
		"values, rows not sent":  {"Fill", nil, []any{[]int64{16 << 20}, tensor.Scalar(float32(1))}, Payer{Fixed: true}, true},
		"few values":             {"Fill", nil, []any{[]int64{1 << 20}, tensor.Scalar(float32(1))}, Payer{}, false},
		"sizes that multiply":    {"AddV2", nil, []any{column, row}, Payer{Rows: true}, true},
		"sizes that are given":   {"AddV2", nil, []any{tensor.New(tensor.Float32, 16<<20), tensor.Scalar(float32(1))}, Payer{Rows: true}, false},
		"as many, rows not sent": {"AddV2", nil, []any{tensor.New(tensor.Float32, 16<<20), tensor.Scalar(float32(1))}, Payer{}, true},
		"texts that are padded":  {"_Tokens", nil, []any{texts}, Payer{Rows: true}, true},
		"padded messages":        {"DecodeProtoV2", numbers, []any{messages}, Payer{Rows: true}, true},
		"a long row, often":      {"RaggedGather", rows, []any{[]int64{0, 1 << 16}, tensor.New(tensor.Float32, 1<<16), tensor.New(tensor.Int64, 256)}, Payer{Rows: true}, true},
		"no growth":              {"Neg", nil, []any{tensor.New(tensor.Float32, 16<<20)}, Payer{Rows: true}, false},
	} {
		c.payer.Account = memory.Open()
		s := newSession(t)
		s.env.Payer = c.payer
		_, err := s.try(c.op, c.attrs, c.in...)
		if (err != nil) != c.refused || (c.payer.Account.Refused() != nil) != c.refused {
			t.Errorf("%s: got %v", name, err)
		}
		c.payer.Account.Close()
	}
}

// TestFits: Fits and Take agree for each kind of account.
func TestFits(t *testing.T) {
	memory := budget.NewServer(budget.Limits{Server: 1 << 30})
	defer memory.Close()
	for _, p := range []Payer{{}, {Rows: true}, {Fixed: true}, {Rows: true, Fixed: true}} {
		for _, grew := range []bool{false, true} {
			for _, n := range []int{budget.Base, budget.Base + 1, 1 << 30, 1<<30 + 1} {
				p.Account = memory.Open()
				if fits, err := p.Fits(n, grew), p.Take(n, grew); fits != (err == nil) {
					t.Errorf("%+v, %v: %d bytes fit: %v; taken: %v", p, grew, n, fits, err)
				}
				p.Account.Close()
			}
		}
	}
	if !(Payer{}).Fits(1<<40, true) {
		t.Error("something does not fit where nobody pays")
	}
}

// TestContainersArePaid: values put into tables and queues are paid for before they are copied.
func TestContainersArePaid(t *testing.T) {
	memory := budget.NewServer(budget.Limits{Server: 1 << 20})
	defer memory.Close()
	s := newSession(t)
	queue := s.run("FIFOQueueV2", graph.Attrs{"component_types": []tensor.DType{tensor.Int64}, "shapes": []graph.Shape{graph.ShapeOf()}, "capacity": int64(1 << 20)})
	table := func(op string) Value {
		return s.run(op, graph.Attrs{"key_dtype": tensor.Int64, "value_dtype": tensor.Int64, "shared_name": []byte(op)})
	}
	static, mutable := table("HashTableV2"), table("MutableHashTableV2")
	s.env.Payer = Payer{Account: memory.OpenLasting(), Lasting: true}
	few, many := make([]int64, 100), make([]int64, 50_000)
	for i := range many {
		many[i] = int64(i)
	}
	copy(few, many)
	for _, c := range []struct {
		op string
		on Value
		in func(v []int64) []any
	}{
		{"QueueEnqueueManyV2", queue, func(v []int64) []any { return []any{v} }},
		{"LookupTableImportV2", static, func(v []int64) []any { return []any{v, v} }},
		{"LookupTableImportV2", mutable, func(v []int64) []any { return []any{v, v} }},
		{"LookupTableInsertV2", mutable, func(v []int64) []any { return []any{v, v} }},
	} {
		s.refuse("no memory", c.op, nil, append([]any{c.on}, c.in(many)...)...)
		s.run(c.op, nil, append([]any{c.on}, c.in(few)...)...)
	}
	s.env.Payer = Payer{}
	s.expect(s.run("QueueSizeV2", nil, queue), "int32[] 100")
	s.expect(s.run("LookupTableSizeV2", nil, static), "int64[] 100")
}

// TestCopiesArePaid: copies of indices, and rows of sparse tensors, are paid for before they are made.
func TestCopiesArePaid(t *testing.T) {
	memory := budget.NewServer(budget.Limits{Server: 3 << 19})
	defer memory.Close()
	s := newSession(t)
	s.env.Payer = Payer{Account: memory.OpenLasting(), Lasting: true}
	for _, c := range []struct {
		op    string
		attrs graph.Attrs
		in    func(n int) []any
	}{
		{"InTopKV2", graph.Attrs{"T": tensor.Int32}, func(n int) []any {
			return []any{tensor.New(tensor.Float32, n, 1), tensor.New(tensor.Int32, n), tensor.Scalar(int32(1))}
		}},
		{"SegmentSum", graph.Attrs{"T": tensor.Float32}, func(n int) []any { return []any{tensor.New(tensor.Float32, n), tensor.New(tensor.Int32, n)} }},
		{"SerializeManySparse", graph.Attrs{"T": tensor.Int8}, func(n int) []any {
			n /= 30
			at := tensor.New(tensor.Int64, n, 2)
			for i := range n {
				tensor.Values[int64](at)[2*i] = int64(i)
			}
			return []any{at, tensor.New(tensor.Int8, n), tensorOf([]int64{int64(n), 1}, 2)}
		}},
	} {
		s.refuse("no memory", c.op, c.attrs, c.in(200_000)...)
		s.run(c.op, c.attrs, c.in(1000)...)
	}
}

// TestBounds: a set of resources has no more room than its server has memory.
func TestBounds(t *testing.T) {
	s := newSession(t)
	s.env.Resources.Bound(1 << 10)
	attrs := graph.Attrs{"component_types": []tensor.DType{tensor.Int64}, "shapes": []graph.Shape{graph.ShapeOf()}, "capacity": int64(1 << 20)}
	s.refuse("queues have", "QueueEnqueueManyV2", nil, s.run("FIFOQueueV2", attrs), make([]int64, 100))
}
