package dataflow

import (
	"context"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/looptest"
	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
)

// TestLoopThatWaitsForItself: a loop with an Enter node that waits for the loop's own end still exists when the run is over. The
// next run begins another one.
func TestLoopThatWaitsForItself(t *testing.T) {
	g := looptest.New()
	attrs := graph.Attrs{"frame_name": []byte("f")}
	x := g.Node("Enter", attrs, 1, g.Value(1)).Out(0)
	less := g.Node("Enter", attrs, 1, g.Op("Less", g.Value(2), g.Value(1)))
	split := g.Node("Switch", nil, 2, x, less.Out(0))
	g.Send("out", g.Node("Exit", nil, 1, split.Out(0)).Out(0))
	dead := g.Node("Exit", nil, 1, split.Out(1))
	g.Node("Enter", attrs, 1, dead.Out(0))
	p, err := Compile(g.Graph, nil)
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 10 {
		b := box{rendezvous.New()}
		if err := p.Run(t.Context(), Step{Env: &eager.Env{}, Rendezvous: b, Parallel: 1}); err != nil {
			t.Fatal(err)
		}
		item, err := b.Recv(over, rendezvous.Key{Edge: "out", Iteration: rendezvous.Outside})
		if err != nil || item.Tensor.Float(0) != 1 {
			t.Fatalf("run %d: %+v, %v", i, item, err)
		}
	}
}

// TestQueueUsesItsRoomAgain: tasks leave in the order in which they were added, and a queue that is never empty does not grow.
func TestQueueUsesItsRoomAgain(t *testing.T) {
	q, next, most := &queue{}, int32(0), 0
	for i := range int32(100_000) {
		q.push(task{node: i})
		for q.len() > 1+int(i%7) {
			if got := q.pop().node; got != next {
				t.Fatalf("got task %d, expected %d", got, next)
			}
			next++
		}
		most = max(most, cap(q.tasks))
	}
	if most > 64 {
		t.Errorf("the queue had room for %d tasks, and held 8", most)
	}
}

// TestStepsDoNotMeet: concurrent runs of a program, also after failed ones, have their own values.
func TestStepsDoNotMeet(t *testing.T) {
	const n, clients = 5, 4
	p, done := sums(t, n), make(chan error, clients)
	for c := range clients {
		go func() {
			var err error
			for i := 0; i < 200 && err == nil; i++ {
				v := float32(1000*c + i)
				g := &full{item: rendezvous.Item{Tensor: tensor.Scalar(v)}, late: i%2 == 1}
				if err = p.Run(t.Context(), Step{Rendezvous: g, Parallel: 2}); err == nil && g.sent.Tensor.Float(0) != float64(n*v) {
					t.Errorf("the sum of %d times %v is %v", n, v, g.sent.Tensor.Float(0))
				}
			}
			done <- err
		}()
	}
	for range clients {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
