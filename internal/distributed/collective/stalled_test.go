package collective

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/platform/waiting"
)

// stalledUntil waits until a waiting worker finds that it waits for exactly the wanted workers.
func stalledUntil(t *testing.T, s *site, g *Group, want ...int) {
	t.Helper()
	ctx := within(t)
	var tasks []cluster.Task
	for _, r := range want {
		tasks = append(tasks, s.tasks[r])
	}
	for {
		call, _, ok := g.at.waiting()
		got := g.stalled(ctx, s.nodes[g.rank], call)
		if ok && slices.Equal(got, tasks) {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("rank %d waits for %v, expected %v", g.rank, got, tasks)
		}
	}
}

// TestStalledWorkersAreNamed: a waiting worker finds which workers have not begun the call, do not
// have all of its values, or do not answer, with and without a mesh.
func TestStalledWorkersAreNamed(t *testing.T) {
	for _, n := range []int{4, meshSize + 2} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := newSite(t, n, false)
			groups := s.form(t, 1, nil)
			all(t, n, func(rank int) error { return groups[rank].AllReduce(t.Context(), ones(8), Sum) })
			if _, _, ok := groups[0].at.waiting(); ok {
				t.Error("rank 0 waits, though the call is over")
			}
			reductions := make([]*Reduction, n)
			ctx := within(t)
			start := func(rank int) {
				t.Helper()
				var err error
				if reductions[rank], err = groups[rank].Start(ctx, ones(3<<16), Sum); err != nil {
					t.Fatal(err)
				}
			}
			for rank := range n {
				if rank != 2 {
					start(rank)
				}
				if rank != 2 && rank != 3 {
					reductions[rank].Ready(0)
				}
			}
			if _, _, ok := groups[3].at.waiting(); ok {
				t.Error("rank 3 waits for others, though it lacks a value itself")
			}
			stalledUntil(t, s, groups[0], 2, 3)
			start(2)
			stalledUntil(t, s, groups[1], 2, 3) // it has begun
			reductions[2].Ready(0)
			stalledUntil(t, s, groups[1], 3)
			s.faults.Drop(s.tasks[1], s.tasks[0])
			stalledUntil(t, s, groups[1], 0, 3) // does not answer
			s.faults.Heal(s.tasks[1], s.tasks[0])
			reductions[3].Ready(0)
			all(t, n, func(rank int) error { return reductions[rank].Wait() })
			if got := groups[0].stalled(ctx, s.nodes[0], 2); got != nil {
				t.Errorf("rank 0 waits for %v, though the call is over", got)
			}
		})
	}
}

// TestOtherGroupsAreNotAnswered: a worker answers only its own group.
func TestOtherGroupsAreNotAnswered(t *testing.T) {
	s := newSite(t, 2, false)
	groups := s.form(t, 1, nil)
	other := newGroup(Config{Name: "workers", Generation: 1, Tasks: s.tasks})
	other.id = groups[0].id + 1
	if at, err := other.whereIs(within(t), s.nodes[0], 1); err == nil {
		t.Errorf("another group learns of call %d", at)
	}
	if _, err := groups[0].whereIs(within(t), s.nodes[0], 1); err != nil {
		t.Error(err)
	}
}

// TestLookOutEnds: the look-out goroutine ends with the group.
func TestLookOutEnds(t *testing.T) {
	s := newSite(t, 2, false)
	groups := s.form(t, 1, func(c *Config) {
		c.Log = slog.New(slog.DiscardHandler)
		c.Describe = func(context.Context, []cluster.Task, string) []waiting.Target { return nil }
	})
	closeAll(groups) // goleak finds leftovers
}
