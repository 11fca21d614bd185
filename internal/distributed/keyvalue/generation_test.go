package keyvalue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

func TestSurvivorsAndTheRestartedMeet(t *testing.T) {
	contract(t, Options{}, func(t *testing.T, s scene) {
		ctx := patient(t)
		meet := func(after ...int64) {
			t.Helper()
			got, errs := make([]Generation, len(after)), make([]error, len(after))
			var all sync.WaitGroup
			for rank, a := range after {
				who := s.as(rank)
				all.Go(func() { got[rank], errs[rank] = who.NextGeneration(ctx, Gather{"ring", rank, 3, nil}, a) })
			}
			all.Wait()
			must(t, errors.Join(errs...))
			want := slices.Max(after) + 1
			for rank, g := range got {
				if g.Number != want || len(g.Values) != 3 {
					t.Fatalf("rank %d is in %v, expected %d", rank, g, want)
				}
			}
		}
		meet(0, 0, 0)
		again, err := s.as(2).NextGeneration(ctx, Gather{"ring", 2, 3, nil}, 0) // its answer was lost
		must(t, err)
		if again.Number != 1 {
			t.Fatalf("asked again: %d, expected 1", again.Number)
		}
		s.restart(1)
		meet(1, 0, 1)
		meet(2, 2, 2)
	})
}

func TestGenerationNamesTheMissing(t *testing.T) {
	contract(t, Options{}, func(t *testing.T, s scene) {
		expectMissing(t, []int{1}, func(ctx context.Context) error {
			_, err := s.as(0).NextGeneration(ctx, Gather{"ring", 0, 2, nil}, 4)
			return err
		})
	})
}

// fate is the history of one rank in the simulated job.
type fate struct {
	crashes []time.Duration // its process dies at these times
	down    time.Duration   // how much later the next one starts
}

// sim is a job of workers that form groups with a Store and work in them until they have done goal steps
// in one group.
type sim struct {
	store    *Store
	size     int
	mu       sync.Mutex
	broken   map[int64]chan struct{} // closed when a group is broken, by generation
	finished map[int]int64           // by rank: the generation that it finished in
	missing  []error
}

const (
	simPatience = 20 * time.Second // for a rank to form a group
	simWork     = 3 * time.Second  // lifetime that a group needs
	simPause    = 100 * time.Millisecond
	// simDrift keeps deadlines of two ranks apart. In the simulation's exact time, two equal deadlines
	// would be equal again after each failure, and chance would decide which comes first.
	simDrift = 7 * time.Millisecond
)

func (s *sim) brokenOf(generation int64) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken[generation] == nil {
		s.broken[generation] = make(chan struct{})
	}
	return s.broken[generation]
}

func (s *sim) breakUp(generation int64) {
	c := s.brokenOf(generation)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-c:
	default:
		close(c)
	}
}

// process is one life of a rank: it ends with the work, or with ctx, which breaks its group.
func (s *sim) process(ctx context.Context, rank int, incarnation uint64) {
	who := s.store.As(cluster.Peer{Task: worker(rank), Incarnation: incarnation})
	for in := int64(0); ctx.Err() == nil; {
		forming, cancel := context.WithTimeout(ctx, simPatience)
		g, err := who.NextGeneration(forming, Gather{"ring", rank, s.size, nil}, in)
		if err == nil {
			in = g.Number
			_, err = who.Gather(forming, Gather{fmt.Sprint("form/", in), rank, s.size, nil})
		}
		cancel()
		if err != nil {
			s.breakUp(in)
			s.mu.Lock()
			s.missing = append(s.missing, err)
			s.mu.Unlock()
			pause(ctx, simPause+time.Duration(rank)*simDrift, nil, nil)
			continue
		}
		select {
		case <-ctx.Done():
		case <-s.brokenOf(in):
		case <-time.After(simWork):
			s.mu.Lock()
			s.finished[rank] = in
			s.mu.Unlock()
			return
		}
		s.breakUp(in)
	}
}

// rank runs all processes of one rank.
func (s *sim) rank(ctx context.Context, rank int, f fate) {
	for i := range len(f.crashes) + 1 {
		life, kill := context.WithCancel(ctx)
		if i < len(f.crashes) {
			time.AfterFunc(f.crashes[i], kill)
		}
		s.process(life, rank, uint64(1+i))
		dead := life.Err() != nil
		kill()
		if !dead {
			return
		}
		time.Sleep(f.down)
	}
}

// TestGenerationsConverge: whenever workers crash and return, all end in one generation, within a time
// that depends only on the last crash.
func TestGenerationsConverge(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		fates := make([]fate, rapid.IntRange(1, 5).Draw(r, "size"))
		total := time.Duration(0)
		for i := range fates {
			f := &fates[i]
			for range rapid.IntRange(0, 4).Draw(r, "crashes") {
				f.crashes = append(f.crashes, time.Duration(rapid.IntRange(0, 8000).Draw(r, "ms"))*time.Millisecond)
			}
			f.down = time.Duration(rapid.IntRange(0, 5000).Draw(r, "down")) * time.Millisecond
			total += time.Duration(len(f.crashes)) * (f.down + 8*time.Second)
		}
		s := &sim{store: NewStore(Options{}), size: len(fates), broken: map[int64]chan struct{}{}, finished: map[int]int64{}}
		synctest.Test(t, func(*testing.T) { s.run(fates, total+simPatience+2*simWork) })
		s.check(r)
	})
}

// run runs all ranks, for at most limit.
func (s *sim) run(fates []fate, limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var all sync.WaitGroup
	for i, f := range fates {
		all.Go(func() { s.rank(ctx, i, f) })
	}
	all.Wait()
}

// check reports whether all ranks finished in the same generation, and learned which ranks were missing
// meanwhile.
func (s *sim) check(t *rapid.T) {
	if len(s.finished) != s.size {
		t.Fatalf("ranks %v finished of %d; errors %v", s.finished, s.size, s.missing)
	}
	for rank, g := range s.finished {
		if g != s.finished[0] {
			t.Fatalf("rank %d finished in generation %d, rank 0 in %d", rank, g, s.finished[0])
		}
	}
	for _, err := range s.missing {
		var m *MissingError
		if !errors.As(err, &m) && !errors.Is(err, ErrStale) && !errors.Is(err, context.Canceled) {
			t.Fatalf("a rank got %v, expected to be told whom it missed", err)
		}
	}
}

// TestLeaseOfOneWhoWentAwayUnheard: a remote rank that does not ask again in time is no longer present.
func TestLeaseOfOneWhoWentAwayUnheard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewStore(Options{Lease: time.Second})
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		gone := view{b, cluster.Peer{Task: worker(0), Incarnation: 1}}
		_, err := gone.generation(ctx, Gather{"ring", 0, 2, nil}, 0, time.Second)
		var m *MissingError
		if !errors.As(err, &m) || m.Err != errPending {
			t.Fatalf("got %v, expected that it pends", err)
		}
		time.Sleep(2 * time.Second)
		_, err = b.As(cluster.Peer{Task: worker(1), Incarnation: 1}).NextGeneration(ctx, Gather{"ring", 1, 2, nil}, 0)
		if !errors.As(err, &m) || !slices.Equal(m.Ranks, []int{0}) {
			t.Fatalf("got %v, expected that rank 0 is missing", err)
		}
	})
}

// TestMissing: a caller learns which ranks have not yet joined the round.
func TestMissing(t *testing.T) {
	contract(t, Options{}, func(t *testing.T, s scene) {
		ctx := patient(t)
		missing := func() []int {
			t.Helper()
			out, err := s.as(1).Missing(ctx, "ring")
			must(t, err)
			return out
		}
		if got := missing(); got != nil {
			t.Fatalf("%v are missing before anybody waits", got)
		}
		var all sync.WaitGroup
		come := func(rank int) {
			who := s.as(rank)
			all.Go(func() {
				if _, err := who.NextGeneration(ctx, Gather{"ring", rank, 3, nil}, 0); err != nil {
					t.Errorf("rank %d: %v", rank, err)
				}
			})
		}
		for rank, want := range [][]int{{1, 2}, {2}} {
			come(rank)
			for got := missing(); !slices.Equal(got, want); got = missing() {
				if ctx.Err() != nil {
					t.Fatalf("%v are missing, expected %v", got, want)
				}
			}
		}
		come(2)
		all.Wait()
		if got := missing(); got != nil {
			t.Fatalf("%v are missing after all came", got)
		}
	})
}
