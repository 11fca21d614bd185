package keyvalue

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

func TestWhenAnElasticRoundIsComplete(t *testing.T) {
	rule := Elastic{Min: 2, Size: 4, Wait: 10 * time.Second}
	for name, c := range map[string]struct {
		turnout Turnout
		want    bool
	}{
		"all at the start":           {Turnout{Came: []int{0, 1, 2, 3}}, true},
		"some at the start":          {Turnout{Came: []int{0, 1, 2}, Waited: 9 * time.Second}, false},
		"some, in time":              {Turnout{Came: []int{0, 2}, Waited: 10 * time.Second}, true},
		"too few, late":              {Turnout{Came: []int{0}, Waited: time.Hour}, false},
		"one of the former is there": {Turnout{Came: []int{0, 1}, Former: []int{0, 1, 2}, Waited: time.Hour}, false},
		"one of the former has gone": {Turnout{Came: []int{0, 1}, Former: []int{0, 1, 2}, Gone: []int{2}}, true},
		"too few of the former":      {Turnout{Came: []int{0}, Former: []int{0, 1}, Gone: []int{1}}, false},
		"a newcomer":                 {Turnout{Came: []int{0, 1, 3}, Former: []int{0, 1}}, true},
		"a newcomer, one still busy": {Turnout{Came: []int{0, 3}, Former: []int{0, 1}}, false},
	} {
		if got := rule.Complete(c.turnout); got != c.want {
			t.Errorf("%s: %v, expected %v", name, got, c.want)
		}
	}
}

// TestSettle: a round completes with the ranks that the leader names, and the next one includes ranks that were late.
func TestSettle(t *testing.T) {
	contract(t, Options{}, func(t *testing.T, s scene) {
		ctx := patient(t)
		var all sync.WaitGroup
		got := make([]Generation, 3)
		come := func(rank int, after int64) {
			who := s.as(rank)
			all.Go(func() {
				var err error
				if got[rank], err = who.NextGeneration(ctx, Gather{"ring", rank, 3, []byte{byte('a' + rank)}}, after); err != nil {
					t.Errorf("rank %d: %v", rank, err)
				}
			})
		}
		waitFor := func(n int) {
			for len(s.store.Forming("ring")) < n && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
		}
		come(2, 0)
		come(0, 0)
		waitFor(2)
		if f := s.store.Forming("ring"); f[0].Rank != 0 || f[1].Rank != 2 || string(f[1].Value) != "c" {
			t.Fatalf("forming: %v", f)
		}
		if s.store.Settle("ring", []int{0, 1}) || s.store.Settle("ring", []int{0}) || s.store.Settle("other", nil) {
			t.Fatal("settled with others than those that wait")
		}
		if !s.store.Settle("ring", []int{0, 2}) {
			t.Fatal("not settled")
		}
		all.Wait()
		for _, rank := range []int{0, 2} {
			if g := got[rank]; g.Number != 1 || len(g.Values) != 3 || string(g.Values[0]) != "a" || len(g.Values[1]) != 0 || string(g.Values[2]) != "c" {
				t.Errorf("rank %d is in %v", rank, g)
			}
		}
		come(1, 0) // it took no part
		waitFor(1)
		come(0, 1)
		come(2, 1)
		all.Wait()
		for rank, g := range got {
			if g.Number != 2 || len(g.Values[1]) != 1 {
				t.Errorf("rank %d is in %v", rank, g)
			}
		}
	})
}

// elasticSim is a job whose ranks come and go: rank 0 leads and stays.
type elasticSim struct {
	sim
	alive []bool             // by rank, as the leader sees it
	rings map[int64][]string // the values of each generation, as received by each of its ranks
	rank0 int64              // the latest generation of rank 0
}

// value is a rank's value: its previous generation and the members of that.
func value(in int64, former []int) []byte {
	text := strconv.FormatInt(in, 10)
	for _, rank := range former {
		text += " " + strconv.Itoa(rank)
	}
	return []byte(text)
}

func parse(text []byte) (in int64, former []int) {
	fields := strings.Fields(string(text))
	in, _ = strconv.ParseInt(fields[0], 10, 64)
	for _, f := range fields[1:] {
		rank, _ := strconv.Atoi(f)
		former = append(former, rank)
	}
	return in, former
}

// lead settles rounds, as the leader's process does.
func (s *elasticSim) lead(ctx context.Context) {
	rule := Elastic{Min: 1, Size: s.size, Wait: time.Second}
	for began := time.Now(); ctx.Err() == nil; pause(ctx, simPause, nil, nil) {
		t := Turnout{Waited: time.Since(began)}
		latest := int64(0)
		for _, c := range s.store.Forming("ring") {
			t.Came = append(t.Came, c.Rank)
			if in, former := parse(c.Value); in > latest {
				latest, t.Former = in, former
			}
		}
		s.mu.Lock()
		for _, rank := range t.Missing() {
			if !s.alive[rank] {
				t.Gone = append(t.Gone, rank)
			}
		}
		s.mu.Unlock()
		if slices.Contains(t.Came, 0) && rule.Complete(t) {
			s.store.Settle("ring", t.Came)
		}
	}
}

// live is one life of a rank.
func (s *elasticSim) live(ctx context.Context, rank int, incarnation uint64) {
	s.is(rank, true)
	defer s.is(rank, false)
	who := s.store.As(cluster.Peer{Task: worker(rank), Incarnation: incarnation})
	var former []int
	for in := int64(0); ctx.Err() == nil; {
		forming, cancel := context.WithTimeout(ctx, simPatience)
		g, err := who.NextGeneration(forming, Gather{"ring", rank, s.size, value(in, former)}, in)
		cancel()
		if err != nil {
			continue
		}
		in, former = g.Number, nil
		for r, v := range g.Values {
			if len(v) > 0 {
				former = append(former, r)
			}
		}
		s.note(rank, g, former)
		s.work(ctx, rank, in)
	}
}

func (s *elasticSim) is(rank int, alive bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alive[rank] = alive
}

func (s *elasticSim) note(rank int, g Generation, former []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rings[g.Number] = append(s.rings[g.Number], string(value(0, former)))
	if rank == 0 {
		s.rank0 = g.Number
	}
}

// work makes steps until the ring breaks, because one of its ranks dies or the leader finds a waiting rank.
func (s *elasticSim) work(ctx context.Context, rank int, in int64) {
	for {
		select {
		case <-ctx.Done():
			s.breakUp(in)
			return
		case <-s.brokenOf(in):
			return
		case <-time.After(simPause):
			if rank == 0 && len(s.store.Forming("ring")) > 0 {
				s.breakUp(in)
				return
			}
		}
	}
}

// TestElasticGenerationsConverge: whichever workers die and return, all ranks of a generation know the same members, and
// in the end all live ranks are in one.
func TestElasticGenerationsConverge(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		fates := make([]fate, rapid.IntRange(1, 5).Draw(r, "size"))
		for i := range fates[1:] {
			for range rapid.IntRange(0, 4).Draw(r, "crashes") {
				fates[i+1].crashes = append(fates[i+1].crashes, time.Duration(rapid.IntRange(0, 8000).Draw(r, "ms"))*time.Millisecond)
			}
			fates[i+1].down = time.Duration(rapid.IntRange(0, 5000).Draw(r, "down")) * time.Millisecond
		}
		s := &elasticSim{sim: sim{store: NewStore(Options{}), size: len(fates), broken: map[int64]chan struct{}{}},
			alive: make([]bool, len(fates)), rings: map[int64][]string{}}
		synctest.Test(t, func(*testing.T) { s.run(fates) })
		for number, values := range s.rings {
			for _, v := range values {
				if v != values[0] {
					r.Fatalf("generation %d has members %q and %q", number, v, values[0])
				}
			}
		}
		if last := s.rings[s.rank0]; len(last) != s.size {
			r.Fatalf("the last generation %d has the members %v, expected all %d", s.rank0, last, s.size)
		}
	})
}

// run runs all ranks, until some time after the last one returned.
func (s *elasticSim) run(fates []fate) {
	total := time.Minute
	for _, f := range fates {
		total += time.Duration(len(f.crashes)) * (f.down + 8*time.Second)
	}
	ctx, cancel := context.WithTimeout(context.Background(), total)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() { s.lead(ctx) })
	for rank, f := range fates {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				life, kill := context.WithCancel(ctx)
				if i < len(f.crashes) {
					time.AfterFunc(f.crashes[i], kill)
				}
				s.live(life, rank, uint64(1+i))
				kill()
				time.Sleep(f.down)
			}
		})
	}
	all.Wait()
}
