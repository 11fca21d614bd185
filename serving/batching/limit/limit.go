package limit

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Options of a Limiter.
type Options struct {
	// Slots is the work that the model does at the same time: runs without batching, num_batch_threads × rows of a batch with.
	Slots int
	// MaxDelay is the longest estimated wait; 0: as long as one run takes.
	MaxDelay time.Duration
	// Rows counts a request's rows as its work, for models that batch; otherwise a request is one.
	Rows bool
	// Hold lets only Slots units into the model at once, the others wait in order; not for models that batch, which queue.
	Hold bool
}

// A Limiter refuses requests that would wait too long. It is safe for concurrent use.
type Limiter struct {
	o     Options
	slots chan struct{} // tokens, where Hold is set

	mu       sync.Mutex
	inFlight int
	run      time.Duration // moving mean of a run, without its wait; 0: none was seen
	refused  int64
}

// New returns a Limiter; fewer than one slot are one.
func New(o Options) *Limiter {
	o.Slots = max(o.Slots, 1)
	l := &Limiter{o: o}
	if o.Hold {
		l.slots = make(chan struct{}, o.Slots)
	}
	return l
}

// Stats is what a Limiter knows.
type Stats struct {
	InFlight int           // units of work
	Refused  int64         // requests, so far
	Run      time.Duration // mean time of a run
	Wait     time.Duration // estimated, of a request of one unit that came now
}

// Stats returns the present state.
func (l *Limiter) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{InFlight: l.inFlight, Refused: l.refused, Run: l.run, Wait: time.Duration(l.rounds(1) * float64(l.run))}
}

// Admit takes in a request of so many units, or refuses it at once. With Hold it returns when the request may run, or with
// the error of ctx. done must be called when it ran.
func (l *Limiter) Admit(ctx context.Context, units int) (done func(), err error) {
	units = max(units, 1)
	rounds, err := l.enter(ctx, units)
	if err != nil {
		return nil, err
	}
	if l.o.Hold {
		select {
		case l.slots <- struct{}{}:
			rounds = 0
		case <-ctx.Done():
			l.leave(units, 0)
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
	start := time.Now()
	return func() {
		if l.o.Hold {
			<-l.slots
		}
		l.leave(units, time.Duration(float64(time.Since(start))/(1+rounds)))
	}, nil
}

// rounds estimates how many runs a request of so many units would wait for.
func (l *Limiter) rounds(units int) float64 {
	if over := l.inFlight + units - l.o.Slots; l.inFlight > 0 && over > 0 {
		return float64(over) / float64(l.o.Slots)
	}
	return 0
}

func (l *Limiter) enter(ctx context.Context, units int) (rounds float64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rounds = l.rounds(units)
	wait := time.Duration(rounds * float64(l.run))
	late := rounds > 1
	if l.o.MaxDelay > 0 {
		late = wait > l.o.MaxDelay
	}
	if late {
		l.refused++
		return 0, status.Errorf(codes.ResourceExhausted, "the server is overloaded: %d units of work are in flight for %d slots, a new request "+
			"would wait for about %v; try again later", l.inFlight, l.o.Slots, wait.Round(100*time.Microsecond))
	}
	if d, ok := ctx.Deadline(); ok && rounds > 0 && time.Until(d) < wait+l.run {
		l.refused++
		return 0, status.Errorf(codes.ResourceExhausted, "the server is overloaded: the request would take about %v, which is past its deadline; "+
			"try again later", (wait + l.run).Round(100*time.Microsecond))
	}
	l.inFlight += units
	return rounds, nil
}

func (l *Limiter) leave(units int, run time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight -= units
	switch {
	case run <= 0:
	case l.run == 0:
		l.run = run
	default:
		l.run += (run - l.run) / 16
	}
}
