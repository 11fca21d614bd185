package dataflow

import (
	"context"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/looptest"
	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"pgregory.net/rapid"
)

// box is a Rendezvous within a test.
type box struct{ *rendezvous.Table }

func (b box) Send(key rendezvous.Key, item rendezvous.Item) error {
	return b.Table.Send(key.String(), item)
}
func (b box) Recv(ctx context.Context, key rendezvous.Key) (rendezvous.Item, error) {
	return b.Table.Recv(ctx, key.String())
}

type fatal interface {
	Fatal(args ...any)
}

// fetched runs a graph and returns an item that it sent.
func fetched(t fatal, g *looptest.Graph, edge string) rendezvous.Item {
	p, err := Compile(g.Graph, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := box{rendezvous.New()}
	if err := p.Run(context.Background(), Step{Env: &eager.Env{}, Rendezvous: b, Parallel: 2}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	item, err := b.Recv(ctx, rendezvous.Key{Edge: edge, Iteration: rendezvous.Outside})
	if err != nil {
		t.Fatal("nothing was sent:", err)
	}
	return item
}

// same treats all NaNs as equal.
func same(a, b float32) bool { return a == b || a != a && b != b }

func TestControlFlowGivesWhatTheProgramSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := looptest.Draw(t, 4)
		g := looptest.New()
		g.Send("out", p.Build(g))
		item := fetched(t, g, "out")
		if want := p.Result(); item.Dead || !same(float32(item.Tensor.Float(0)), want) {
			t.Fatalf("expected %v, got %+v", want, item)
		}
	})
}
