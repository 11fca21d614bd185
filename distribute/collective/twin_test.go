package collective

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/goestimator/goestimator/distribute/cluster"
	"github.com/goestimator/goestimator/internal/graph"
)

// twin is a link without a transport: what it holds was allocated before.
type twin struct {
	full, free chan *cluster.Frame
	last       *cluster.Frame
	over       <-chan struct{}
}

func newTwin(over <-chan struct{}) *twin {
	t := &twin{full: make(chan *cluster.Frame, 64), free: make(chan *cluster.Frame, 64), over: over}
	for range cap(t.free) {
		t.free <- &cluster.Frame{Header: make([]byte, 0, 256), Body: [][]byte{make([]byte, 0, chunkBytes)}}
	}
	return t
}

func (t *twin) Send(f *cluster.Frame) error {
	select {
	case c := <-t.free:
		c.Header = append(c.Header[:0], f.Header...)
		c.Body[0] = c.Body[0][:0]
		for _, b := range f.Body {
			c.Body[0] = append(c.Body[0], b...)
		}
		t.full <- c
		return nil
	case <-t.over:
		return io.EOF
	}
}

// Recv gives a frame that is valid until the next call.
func (t *twin) Recv() (*cluster.Frame, error) {
	if t.last != nil {
		t.free <- t.last
		t.last = nil
	}
	select {
	case t.last = <-t.full:
		return t.last, nil
	case <-t.over:
		return nil, errors.New("over")
	}
}

// sending is the calling side of a twin.
type sending struct{ *twin }

func (s sending) CloseSend() error { return nil }
func (s sending) Recv() (*cluster.Frame, error) {
	<-s.over
	return nil, io.EOF
}

// newTwins makes a group whose links are twins.
func newTwins(t *testing.T, n int) []*Group {
	groups := make([]*Group, n)
	for rank := range groups {
		c, err := Config{Tasks: workers(n), Rank: rank, Endpoint: &Endpoint{}, Board: noBoard{}}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		groups[rank] = newGroup(c)
	}
	for from, a := range groups {
		for _, to := range a.linked() {
			b := groups[to]
			pipe := newTwin(b.done)
			a.out[to] = &outlet{peer: a.tasks[to], stream: sending{pipe}}
			b.in[from] = &inlet{peer: a.tasks[from], rank: from, stream: pipe}
		}
	}
	for _, g := range groups {
		g.run()
	}
	return groups
}

type noBoard struct{ Gatherer }

// A call with a known layout allocates nothing but what the transport does.
func TestSteadyCallsDoNotAllocate(t *testing.T) {
	const n = 3
	groups := newTwins(t, n)
	defer closeAll(groups)
	tensors := make([][]*graph.Tensor, n)
	for i := range tensors {
		tensors[i] = append(ones(600_000), ones(3)...)
	}
	steps := make([]chan bool, n)
	done := make(chan error)
	for rank := 1; rank < n; rank++ {
		steps[rank] = make(chan bool)
		go func() {
			for overlapped := range steps[rank] {
				done <- step(groups[rank], tensors[rank], overlapped)
			}
		}()
		defer close(steps[rank])
	}
	for _, overlapped := range []bool{false, true} {
		allocs := testing.AllocsPerRun(10, func() {
			for rank := 1; rank < n; rank++ {
				steps[rank] <- overlapped
			}
			if err := step(groups[0], tensors[0], overlapped); err != nil {
				t.Error(err)
			}
			for rank := 1; rank < n; rank++ {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
		})
		if allocs > 0 {
			t.Errorf("overlapped %t: %v allocations for a call on %d workers, expected none", overlapped, allocs, n)
		}
	}
}

func step(g *Group, tensors []*graph.Tensor, overlapped bool) error {
	if !overlapped {
		return g.AllReduce(context.Background(), tensors, Mean)
	}
	r, err := g.Start(context.Background(), tensors, Mean)
	if err != nil {
		return err
	}
	for i := range tensors {
		r.Ready(i)
	}
	return r.Wait()
}
