package keyvalue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everything has all interfaces of a Store and a Client.
type everything interface {
	KeyValue
	Regrouper
	Pulse
}

// scene is a leader, and functions that return its other tasks.
type scene struct {
	store   *Store
	as      func(index int) everything // worker index
	restart func(index int) everything // the same task as a new process
}

func worker(i int) cluster.Task { return cluster.Task{Job: "worker", Index: i} }

var leader = cluster.Task{Job: "ps", Index: 0}

// inMemory has its tasks on the Store itself.
func inMemory(_ *testing.T, o Options) scene {
	b := NewStore(o)
	next := uint64(0)
	restart := func(i int) everything {
		next++
		return b.As(cluster.Peer{Task: worker(i), Incarnation: next})
	}
	known := map[int]everything{}
	return scene{b, func(i int) everything {
		if known[i] == nil {
			known[i] = restart(i)
		}
		return known[i]
	}, func(i int) everything { known[i] = restart(i); return known[i] }}
}

// overWire has its tasks on their own nodes.
func overWire(t *testing.T, o Options) scene {
	b := NewStore(o)
	nodes, network := cluster.NewLocal(leader, worker(0), worker(1), worker(2))
	t.Cleanup(func() {
		for task, n := range nodes {
			if task != leader {
				n.Close()
			}
		}
		nodes[leader].Close()
	})
	if err := nodes[leader].Register(b.Service()); err != nil {
		t.Fatal(err)
	}
	nodes[leader].Serve()
	return scene{b, func(i int) everything { return NewClient(nodes[worker(i)], leader) }, func(i int) everything {
		nodes[worker(i)].Close()
		nodes[worker(i)] = network.Restart(worker(i))
		return NewClient(nodes[worker(i)], leader)
	}}
}

// contract runs a test for both twins.
func contract(t *testing.T, o Options, test func(t *testing.T, s scene)) {
	t.Run("store", func(t *testing.T) { test(t, inMemory(t, o)) })
	t.Run("client", func(t *testing.T) { test(t, overWire(t, o)) })
}

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, expected %v", err, want)
	}
	if f, ok := want.(*fault); ok && status.Code(err) != f.code {
		t.Fatalf("code %v of %v, expected %v", status.Code(err), err, f.code)
	}
}

func TestValues(t *testing.T) {
	contract(t, Options{}, func(t *testing.T, s scene) {
		ctx, a, b := patient(t), s.as(0), s.as(1)
		_, ok, err := a.Get(ctx, "k")
		must(t, err)
		if ok {
			t.Fatal("a value before it was set")
		}
		var got []byte
		var waited sync.WaitGroup
		waited.Go(func() { got, err = a.Wait(ctx, "k") })
		must(t, b.Set(ctx, "k", []byte("v")))
		waited.Wait()
		must(t, err)
		must(t, b.Set(ctx, "empty", nil))
		empty, ok, err2 := a.Get(ctx, "empty")
		must(t, err2)
		if string(got) != "v" || !ok || len(empty) != 0 {
			t.Fatalf("got %q; %q %v", got, empty, ok)
		}
		must(t, b.Set(ctx, "k", []byte("w")))
		if got, _, err = a.Get(ctx, "k"); err != nil || string(got) != "w" {
			t.Fatalf("got %q, %v", got, err)
		}
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		_, err = a.Wait(short, "never")
		wantError(t, err, context.DeadlineExceeded)
	})
}

// gatherAll makes all ranks gather, each as its task.
func gatherAll(ctx context.Context, s scene, name string, size int) ([][][]byte, []error) {
	out, errs := make([][][]byte, size), make([]error, size)
	var all sync.WaitGroup
	for rank := range size {
		who := s.as(rank)
		all.Go(func() {
			out[rank], errs[rank] = who.Gather(ctx, Gather{name, rank, size, fmt.Append(nil, "v", rank)})
		})
	}
	all.Wait()
	return out, errs
}

func TestGatherGivesAllTheValuesByRank(t *testing.T) {
	contract(t, Options{}, func(t *testing.T, s scene) {
		ctx := patient(t)
		got, errs := gatherAll(ctx, s, "g", 3)
		must(t, errors.Join(errs...))
		want := [][]byte{[]byte("v0"), []byte("v1"), []byte("v2")}
		for rank := range got {
			if d := cmp.Diff(want, got[rank]); d != "" {
				t.Errorf("rank %d: %s", rank, d)
			}
		}
		again, err := s.as(1).Gather(ctx, Gather{"g", 1, 3, []byte("v1")}) // its answer was lost
		must(t, err)
		if d := cmp.Diff(want, again); d != "" {
			t.Error(d)
		}
		_, err = s.as(1).Gather(ctx, Gather{"g", 1, 3, []byte("other")})
		wantError(t, err, ErrStale)
		_, err = s.restart(1).Gather(ctx, Gather{"g", 1, 3, []byte("v1")})
		wantError(t, err, ErrStale)
	})
}

func TestGatherNamesTheMissing(t *testing.T) {
	contract(t, Options{}, func(t *testing.T, s scene) {
		expectMissing(t, []int{0, 2}, func(ctx context.Context) error {
			_, err := s.as(1).Gather(ctx, Gather{"g", 1, 3, nil})
			return err
		})
	})
}

// expectMissing calls ask until a deadline; the error must name the missing ranks. A slow machine may exceed a short
// deadline before the store was asked; then the error names none.
func expectMissing(t *testing.T, ranks []int, ask func(context.Context) error) {
	t.Helper()
	for _, limit := range []time.Duration{time.Second, 20 * time.Second} {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		err := ask(ctx)
		wantError(t, err, context.DeadlineExceeded)
		var m *MissingError
		if !errors.As(err, &m) || m.Ranks != nil && !cmp.Equal(m.Ranks, ranks) {
			t.Fatalf("got %v, expected ranks %v to be missing", err, ranks)
		}
		if m.Ranks != nil {
			return
		}
	}
	t.Fatal("the missing ranks are not named")
}

// arrived waits until that many ranks have come to a gather.
func arrived(t *testing.T, b *Store, name string, ranks int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		b.mu.Lock()
		r := b.rounds[name]
		if l := b.lines[name]; l != nil {
			r = l.open
		}
		there := r != nil && len(r.slots) == ranks
		b.mu.Unlock()
		if there {
			return
		}
	}
	t.Fatalf("%d ranks did not come to %q", ranks, name)
}

func TestRestartedRankReplacesItsValue(t *testing.T) {
	contract(t, Options{}, func(t *testing.T, s scene) {
		ctx := patient(t)
		old, cancel := context.WithCancel(ctx)
		var wait sync.WaitGroup
		var oldErr, err0 error
		var got0 [][]byte
		first := s.as(1)
		wait.Go(func() { _, oldErr = first.Gather(old, Gather{"g", 1, 2, []byte("old")}) })
		arrived(t, s.store, "g", 1)
		second := s.restart(1)
		zero := s.as(0)
		var got1 [][]byte
		var err1 error
		wait.Go(func() { got1, err1 = second.Gather(ctx, Gather{"g", 1, 2, []byte("new")}) })
		for {
			s.store.mu.Lock()
			r := s.store.rounds["g"]
			new := r != nil && r.slots[1] != nil && string(r.slots[1].value) == "new"
			s.store.mu.Unlock()
			if new || ctx.Err() != nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		cancel()
		wait.Go(func() { got0, err0 = zero.Gather(ctx, Gather{"g", 0, 2, nil}) })
		wait.Wait()
		must(t, errors.Join(err0, err1))
		if oldErr == nil || string(got0[1]) != "new" || string(got1[1]) != "new" {
			t.Fatalf("got %q, %q, %v", got0, got1, oldErr)
		}
	})
}

func TestRefusals(t *testing.T) {
	contract(t, Options{MaxKeys: 2, MaxValue: 10, MaxBytes: 15, MaxGathers: 16, MaxMembers: 4}, func(t *testing.T, s scene) {
		ctx, a := patient(t), s.as(0)
		wantError(t, a.Set(ctx, "", nil), ErrInvalid)
		wantError(t, a.Set(ctx, "k", make([]byte, 11)), ErrFull)
		must(t, a.Set(ctx, "k", make([]byte, 10)))
		must(t, a.Set(ctx, "k", make([]byte, 9)))
		wantError(t, a.Set(ctx, "l", nil), ErrFull) // the stop takes the second place
		_, err := a.Gather(ctx, Gather{"g", 0, 2, make([]byte, 7)})
		wantError(t, err, ErrFull)
		_, err = a.Gather(ctx, Gather{"g", 0, 5, nil})
		wantError(t, err, ErrFull)
		_, err = a.Gather(ctx, Gather{"g", 2, 2, nil})
		wantError(t, err, ErrInvalid)
		_, err = a.NextGeneration(ctx, Gather{"g", 0, 1, nil}, -1)
		wantError(t, err, ErrInvalid)
		_, err = a.NextGeneration(ctx, Gather{"g", 0, 1, nil}, 0)
		must(t, err)
		_, err = a.NextGeneration(ctx, Gather{"h", 0, 1, nil}, 0)
		wantError(t, err, ErrFull)
		_, err = a.Beat(ctx, Beat{Rank: 4})
		wantError(t, err, ErrInvalid)

		var wait sync.WaitGroup
		short, cancel := context.WithCancel(ctx)
		wait.Go(func() { a.Gather(short, Gather{"two", 0, 2, nil}) })
		arrived(t, s.store, "two", 1)
		_, err = s.as(1).Gather(ctx, Gather{"two", 1, 3, nil})
		wantError(t, err, ErrInvalid)
		_, err = s.as(1).Gather(ctx, Gather{"two", 0, 2, nil})
		wantError(t, err, ErrInvalid)
		cancel()
		wait.Wait()
	})
}

func TestMembersTellOfTheirSteps(t *testing.T) {
	contract(t, Options{}, func(t *testing.T, s scene) {
		ctx := patient(t)
		for rank, secs := range []float64{0, 0.25, math.NaN()} {
			_, err := s.as(rank).Beat(ctx, Beat{Rank: rank, StepSecs: 7})
			must(t, err)
			_, err = s.as(rank).Beat(ctx, Beat{Rank: rank, StepSecs: secs})
			must(t, err)
		}
		members, err := s.as(1).Members(ctx)
		must(t, err)
		if len(members) != 3 || members[0].StepSecs != 0 || members[1].StepSecs != 0.25 || !math.IsNaN(members[2].StepSecs) {
			t.Errorf("members %+v", members)
		}
	})
}

func TestFinishedGathersAreForgotten(t *testing.T) {
	contract(t, Options{MaxGathers: 4}, func(t *testing.T, s scene) {
		for i := range 20 {
			_, err := s.as(0).Gather(patient(t), Gather{fmt.Sprint("g", i), 0, 1, []byte("v")})
			must(t, err)
		}
		s.store.mu.Lock()
		defer s.store.mu.Unlock()
		if len(s.store.rounds) != 4 || len(s.store.over) != 4 || s.store.bytes != 4 {
			t.Errorf("%d gathers, %d names and %d bytes are kept, expected 4", len(s.store.rounds), len(s.store.over), s.store.bytes)
		}
	})
}

func TestSupersededProcessIsRefused(t *testing.T) {
	b := NewStore(Options{})
	one, two := b.As(cluster.Peer{Task: worker(0), Incarnation: 1}), b.As(cluster.Peer{Task: worker(0), Incarnation: 2})
	ctx := patient(t)
	must(t, one.Set(ctx, "k", nil))
	must(t, two.Set(ctx, "k", nil))
	wantError(t, one.Set(ctx, "k", nil), ErrSuperseded)
	must(t, two.Set(ctx, "k", nil))
}
