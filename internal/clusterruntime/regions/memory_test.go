package regions_test

import (
	"context"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/dataflow"
	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
)

// paid runs a step with products of 16 KiB, paid by an account.
func paid(t *testing.T, p *dataflow.Program, a *budget.Account) error {
	t.Helper()
	table := rendezvous.New()
	if err := table.Send("x", rendezvous.Item{Tensor: matrix(64, 1)}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return p.Run(ctx, dataflow.Step{Env: &eager.Env{Payer: eager.Payer{Account: a, Lasting: true}}, Rendezvous: box{table}, Parallel: 2})
}

// TestMemoryOfPrograms: an account pays for the memory that programs keep from one run to the next, until they are closed.
func TestMemoryOfPrograms(t *testing.T) {
	b := newText()
	b.send("out", b.Op("Sum", "sum", graph.Type{DType: tensor.Float32}, graph.Attrs{"T": tensor.Float32}, b.layers(b.recv("x")), b.Const("axes", axes())))
	p, set := program(t, b, true)
	server := budget.NewServer(budget.Limits{Server: 1 << 30})
	a, later := server.OpenLasting(), server.OpenLasting()
	for range 3 { // the first two op by op
		if err := paid(t, p, a); err != nil {
			t.Fatal(err)
		}
	}
	if err := paid(t, p, later); err != nil {
		t.Fatal(err)
	}
	if kept := later.Held(); kept < 16<<10 {
		t.Errorf("the account of the last run pays for %d bytes, expected the memory of a program", kept)
	}
	if err := set.Close(); err != nil {
		t.Error(err)
	}
	if left := later.Held(); left != 0 {
		t.Errorf("the account pays for %d bytes after the programs were closed", left)
	}
}

// TestProgramsWithoutRoom: if an account cannot pay for programs, nodes run op by op, as long as it can pay for these.
func TestProgramsWithoutRoom(t *testing.T) {
	b := newText()
	b.send("out", b.layers(b.recv("x")))
	p, set := program(t, b, true)
	a := budget.NewServer(budget.Limits{Server: 512 << 10}).OpenLasting()
	other := a.Server().OpenLasting()
	for range 3 {
		if err := paid(t, p, a); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.ReserveModel(512<<10 - 40<<10); err != nil {
		t.Fatal(err)
	}
	if err := paid(t, p, a); err == nil {
		t.Error("a run took more than there is")
	}
	other.ReleaseModel(512 << 10)
	if err := paid(t, p, a); err != nil {
		t.Error(err)
	}
	if err := set.Close(); err != nil {
		t.Error(err)
	}
}

func axes() *tensor.Tensor {
	t := tensor.New(tensor.Int32, 2)
	tensor.Values[int32](t)[1] = 1
	return t
}
