package distribute

import (
	"context"
	"errors"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/rule"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
	"github.com/goestimator/goestimator/internal/runtime/device"
)

// lame is a network that fails.
type lame struct {
	peers.Network
	version, join error
	newID         error
	enter         func() error // called before Join
	sum           func() error // called before each sum except the test sum
	after         func() error // called after each mean, which is two sums
}

func (l lame) Version(c driver.Context) (string, error) {
	if l.version != nil {
		return "", l.version
	}
	return l.Network.Version(c)
}

func (l lame) NewID() ([]byte, error) {
	if l.newID != nil {
		return nil, l.newID
	}
	return l.Network.NewID()
}

func (l lame) Join(ctx context.Context, c []driver.Context, at peers.Place) (peers.Group, error) {
	if l.enter != nil {
		if err := l.enter(); err != nil {
			return nil, err
		}
	}
	g, err := l.Network.Join(ctx, c, at)
	if err = errors.Join(err, l.join); err != nil {
		return nil, err
	}
	return &lameGroup{Group: g, lame: l}, nil
}

type lameGroup struct {
	peers.Group
	lame lame
	sums int
}

func (g *lameGroup) Reduce(ctx context.Context, parts []peers.Part) error {
	g.sums++
	if g.sums > 2 && g.lame.sum != nil { // the test has sums of two types
		if err := g.lame.sum(); err != nil {
			return err
		}
	}
	if err := g.Group.Reduce(ctx, parts); err != nil || g.lame.after == nil || g.sums%2 > 0 {
		return err
	}
	return g.lame.after()
}

// Abort returns an error, as a library may if its other processes are gone.
func (g *lameGroup) Abort() error { return errors.Join(g.Group.Abort(), errors.New("it limps")) }

// TestWorkerLostInJoining: the others do not wait for the lost worker in the group of GPUs, and make the next group when it is back.
func TestWorkerLostInJoining(t *testing.T) {
	defer func(d time.Duration) { joinTime = d }(joinTime)
	joinTime = time.Hour
	c := newCrew(t, 3, by(rule.SGD{}))
	memory := c.network(0)
	killed, kill := context.WithCancel(t.Context())
	c.network = func(rank int) peers.Network {
		l := lame{Network: memory}
		if rank == 1 {
			l.enter = func() error {
				if killed.Err() != nil {
					return nil
				}
				kill()
				return errors.Join(killed.Err(), c.hands[1].job.Close())
			}
		}
		return l
	}
	for rank := range c.n {
		if err := c.start(rank); err != nil {
			t.Fatal(err)
		}
	}
	c.must("synchronize", func(h *hand) error {
		if h.rank != 1 {
			return h.synchronize()
		}
		_, err := h.worker.Synchronize(killed, func() (Notes, error) { return Notes{}, nil })
		if err == nil {
			return errors.New("the worker that was killed goes on")
		}
		h.close(t)
		if err := c.start(1); err != nil {
			return err
		}
		return c.hands[1].synchronize()
	})
	c.steps(0, 2)
	for _, h := range c.hands {
		if !h.resident() {
			t.Errorf("worker %d: gradients went to the host: %s", h.rank, h.log)
		}
	}
	c.end()
}

// TestWorkerLostInASum: the others notice the loss, and continue on their GPUs when the worker is back.
func TestWorkerLostInASum(t *testing.T) {
	for _, x := range []struct{ workers, lost, from int }{{2, 1, 3}, {3, 2, 3}, {3, 0, 0}} { // a new chief has no checkpoint here
		t.Run(fmt.Sprintf("%d of %d", x.lost, x.workers), func(t *testing.T) {
			c := newCrew(t, x.workers, by(rule.Momentum{Momentum: 0.9}))
			memory, gone := c.network(0), errors.New("killed")
			var dies atomic.Bool
			c.network = func(rank int) peers.Network {
				l := lame{Network: memory}
				if rank == x.lost {
					l.sum = func() error {
						if dies.CompareAndSwap(true, false) {
							return errors.Join(gone, c.hands[rank].job.Close())
						}
						return nil
					}
				}
				return l
			}
			c.assemble()
			c.steps(0, 3)
			dies.Store(true)
			for rank, err := range c.each("the step in which one dies", func(h *hand) error { return h.step(c, 3) }) {
				if !errors.Is(err, ErrSessionLost) {
					t.Errorf("worker %d: expected %v, got %v", rank, ErrSessionLost, err)
				}
			}
			c.hands[x.lost].close(t)
			if err := c.start(x.lost); err != nil {
				t.Fatal(err)
			}
			c.must("synchronize again", (*hand).synchronize)
			c.equal()
			c.steps(x.from, 7)
			for _, h := range c.hands {
				if !h.resident() {
					t.Errorf("worker %d: gradients went to the host: %s", h.rank, h.log)
				}
			}
			c.end()
		})
	}
}

// TestLastSumFails: workers that have finished the last sum wait for one that has not.
func TestLastSumFails(t *testing.T) {
	c := newCrew(t, 3, by(rule.Momentum{Momentum: 0.9}))
	memory, torn := c.network(0), errors.New("the cable is torn")
	var fails atomic.Bool
	c.network = func(rank int) peers.Network {
		l := lame{Network: memory}
		if rank == 0 {
			l.after = func() error {
				if fails.CompareAndSwap(true, false) {
					return torn
				}
				return nil
			}
		}
		return l
	}
	last := func(h *hand) error {
		in := Step{Batches: []Batch{c.batch(h.rank, 2)}}
		if h.rank == 1 {
			in = Step{Stop: Finished}
		}
		out, err := h.stepper.Step(context.Background(), in)
		if want := (Outcome{GlobalStep: 3, Stop: Finished, Applied: true}); err == nil && out != want {
			err = fmt.Errorf("expected %+v, got %+v", want, out)
		}
		return err
	}
	c.assemble()
	c.steps(0, 2)
	fails.Store(true)
	for rank, err := range c.each("a last step that fails", last) {
		if !errors.Is(err, ErrSessionLost) {
			t.Errorf("worker %d: expected %v, got %v", rank, ErrSessionLost, err)
		}
	}
	c.must("synchronize again", (*hand).synchronize)
	c.must("the last step", last)
	c.equal()
	c.end()
}

// TestSumThatFailsOnOne: the others notice the failure in this step or, if they have made it, in the next. Then all continue from the chief's state.
func TestSumThatFailsOnOne(t *testing.T) {
	for _, failing := range []int{0, 1} {
		t.Run(fmt.Sprintf("worker %d", failing), func(t *testing.T) {
			c := newCrew(t, 3, by(rule.Adam{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7}))
			memory, torn := c.network(0), errors.New("the cable is torn")
			var fails atomic.Bool
			c.network = func(rank int) peers.Network {
				l := lame{Network: memory}
				if rank == failing {
					l.after = func() error {
						if fails.CompareAndSwap(true, false) {
							return torn
						}
						return nil
					}
				}
				return l
			}
			c.assemble()
			c.steps(0, 2)
			fails.Store(true)
			for rank, err := range c.each("two steps", func(h *hand) error {
				if err := h.step(c, 2); err != nil {
					return err
				}
				if h.rank == failing {
					return nil
				}
				return h.step(c, 3)
			}) {
				if !errors.Is(err, ErrSessionLost) || errors.Is(err, torn) != (rank == failing) {
					t.Errorf("worker %d: expected %v, got %v", rank, ErrSessionLost, err)
				}
			}
			c.must("synchronize again", (*hand).synchronize)
			c.equal()
			from, err := c.hands[0].worker.globalStep()
			if err != nil {
				t.Fatal(err)
			}
			c.steps(int(from), 6)
			c.end()
		})
	}
}

// TestGPULostInASum: a process whose GPU is lost ends; the others wait for it to come back.
func TestGPULostInASum(t *testing.T) {
	c := newCrew(t, 2, by(rule.SGD{}))
	memory := c.network(0)
	c.gpus.Lost = true
	c.network = func(rank int) peers.Network {
		l := lame{Network: memory}
		if rank == 1 {
			l.sum = func() error {
				return &driver.Error{Call: "cuLaunchKernel", Code: driver.CodeIllegalAddress, Name: "CUDA_ERROR_ILLEGAL_ADDRESS"}
			}
		}
		return l
	}
	c.assemble()
	errs := c.each("the step in which a GPU is lost", func(h *hand) error { return h.step(c, 0) })
	if !errors.Is(errs[0], ErrSessionLost) || errors.Is(errs[0], device.ErrLost) {
		t.Errorf("worker 0: expected %v, got %v", ErrSessionLost, errs[0])
	}
	if !errors.Is(errs[1], device.ErrLost) || errors.Is(errs[1], ErrSessionLost) {
		t.Errorf("worker 1: expected %v, got %v", device.ErrLost, errs[1])
	}
	c.end()
}

// TestSumsThatFail: if sums between GPUs fail repeatedly, the workers continue without them.
func TestSumsThatFail(t *testing.T) {
	c := newCrew(t, 2, by(rule.SGD{}))
	memory, torn := c.network(0), errors.New("the cable is torn")
	c.network = func(rank int) peers.Network {
		l := lame{Network: memory}
		if rank == 1 {
			l.sum = func() error { return torn }
		}
		return l
	}
	c.assemble()
	for range mostFailures {
		for rank, err := range c.each("a step that fails", func(h *hand) error { return h.step(c, 0) }) {
			if !errors.Is(err, ErrSessionLost) {
				t.Errorf("worker %d: expected %v, got %v", rank, ErrSessionLost, err)
			}
		}
		c.must("synchronize again", (*hand).synchronize)
	}
	c.steps(0, 3)
	for _, h := range c.hands {
		if log := h.log.String(); h.resident() || strings.Count(log, "through the host") != 1 || !strings.Contains(log, "failed 2 times in a row") || !strings.Contains(log, "the cable is torn") {
			t.Errorf("worker %d: on its GPU: %v; %s", h.rank, h.resident(), log)
		}
	}
	c.end()
}

// TestGroupsThatFail: if making a group fails repeatedly, the workers do not wait for it in every ring.
func TestGroupsThatFail(t *testing.T) {
	defer func(d time.Duration) { joinTime = d }(joinTime)
	joinTime = 100 * time.Millisecond
	c := newCrew(t, 2, by(rule.SGD{}))
	memory := c.network(0)
	c.network = func(rank int) peers.Network {
		return lame{Network: memory, join: []error{nil, errors.New("a wall")}[rank]}
	}
	c.assemble()
	for i := range mostFailures {
		for _, h := range c.hands {
			if log := h.log.String(); !strings.Contains(log, "/job:worker/task:0: a wall") || strings.Contains(log, "in a row") {
				t.Errorf("worker %d, ring %d: %s", h.rank, i, log)
			}
		}
		c.must("synchronize again", (*hand).synchronize)
	}
	c.steps(0, 2)
	for _, h := range c.hands {
		if log := h.log.String(); h.resident() || !strings.Contains(log, "/job:chief/task:0: it failed 2 times in a row: /job:worker/task:0: a wall") {
			t.Errorf("worker %d: on its GPU: %v; %s", h.rank, h.resident(), log)
		}
	}
	c.end()
}
