package eager

import (
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

// TestPayers draws who pays: the model for what follows from rows that were sent, the request for all else.
func TestPayers(t *testing.T) {
	memory := budget.NewServer(budget.Limits{Server: 1 << 30})
	defer memory.Close()
	column, row := tensor.New(tensor.Float32, 4096, 1), tensor.New(tensor.Float32, 1, 4096) // together 64 MiB
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

// TestFits: what fits is what can be taken, from each account.
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
