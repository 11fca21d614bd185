package limit

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Options of a Limiter.
type Options struct {
	// Slots is the work that the model does at the same time: its runs without batching, num_batch_threads × rows of a batch with it.
	Slots int
	// MaxDelay is the longest estimated wait; 0: four fifths of a run with Hold, one run without; more if a run is shorter than 5 ms.
	MaxDelay time.Duration
	// Rows counts a request as its number of rows, for models that batch; otherwise each request counts as one.
	Rows bool
	// Hold lets only Slots units into the model at once; the others wait in order. It is not for models that batch: these queue.
	Hold bool
}

// minDelay is a short wait however long a run takes: many clients may call a quick model at once without overloading it.
const minDelay = 5 * time.Millisecond

// delayInRuns is the longest wait with Hold, in runs, if Options does not set one. A whole run would leave no part of twice a lone
// request's time for the way between client and model; with much less, a free slot would find no request waiting.
const delayInRuns = 0.8

// A Limiter refuses requests that would wait too long. It is safe for concurrent use.
type Limiter struct {
	o       Options
	slots   chan struct{} // tokens, where Hold is set
	waiting atomic.Int64  // requests that wait because of Hold

	mu       sync.Mutex
	inFlight int
	started  []time.Time   // of what runs, with Hold; the oldest first
	run      time.Duration // moving mean of a request's time; with Hold without its wait; 0: none was seen
	alone    time.Duration // the same for requests that ran alone; with Hold for all
	learned  float64       // units in flight at which requests do not wait too long, as measured; 0: use Slots
	refused  int64
}

// New returns a Limiter. Fewer than one slot count as one.
func New(o Options) *Limiter {
	o.Slots = max(o.Slots, 1)
	l := &Limiter{o: o}
	if o.Hold {
		l.slots = make(chan struct{}, o.Slots)
	}
	return l
}

// Stats is the state of a Limiter.
type Stats struct {
	InFlight int           // units of work
	Limit    int           // units that may be in flight
	Refused  int64         // requests, so far
	Run      time.Duration // mean time of a lone request
}

// Stats returns the present state.
func (l *Limiter) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{InFlight: l.inFlight, Limit: int(l.limit()), Refused: l.refused, Run: l.alone}
}

// Admit accepts a request of that many units, or refuses it at once. With Hold it returns when the request may run, or with the
// error of ctx. The caller must call done after the run.
func (l *Limiter) Admit(ctx context.Context, units int) (done func(), err error) {
	units = max(units, 1)
	others, err := l.enter(ctx, units)
	if err != nil {
		return nil, err
	}
	if l.o.Hold {
		if err := l.wait(ctx); err != nil {
			l.mu.Lock()
			l.inFlight -= units
			l.mu.Unlock()
			return nil, err
		}
	}
	start := l.start()
	return func() {
		took := time.Since(start)
		l.leave(units, others, start, took)
		if l.o.Hold {
			<-l.slots
		}
	}, nil
}

// start notes that a request runs from now.
func (l *Limiter) start() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.o.Hold {
		l.started = append(l.started, now)
	}
	return now
}

// wait returns when a slot is free and taken.
func (l *Limiter) wait(ctx context.Context) error {
	l.waiting.Add(1)
	defer l.waiting.Add(-1)
	select {
	case l.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// maxDelay is the longest wait.
func (l *Limiter) maxDelay() time.Duration {
	switch {
	case l.o.MaxDelay > 0:
		return l.o.MaxDelay
	case l.o.Hold:
		return max(time.Duration(delayInRuns*float64(l.alone)), minDelay-l.alone)
	}
	return max(l.alone, minDelay)
}

// maxInFlight is the number of units that the slots finish within the longest wait and one run; unlimited until a run was timed.
func (l *Limiter) maxInFlight() float64 {
	if l.alone == 0 {
		return math.MaxInt32
	}
	return float64(l.o.Slots) * (1 + float64(l.maxDelay())/float64(l.alone))
}

// limit is how many units may be in flight.
func (l *Limiter) limit() float64 {
	if l.learned > 0 {
		return min(l.learned, l.maxInFlight())
	}
	return l.maxInFlight()
}

// enter accepts a request, and returns how many other units are in flight.
func (l *Limiter) enter(ctx context.Context, units int) (others int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	others = l.inFlight
	if others > 0 && l.tooMany(units) {
		l.refused++
		return 0, status.Errorf(codes.ResourceExhausted, "the server is overloaded: %d units of work are in flight, and one more would wait for longer "+
			"than %v; try again later", others, l.maxDelay().Round(100*time.Microsecond))
	}
	if d, ok := ctx.Deadline(); ok && others > 0 && time.Until(d) < l.expected() {
		l.refused++
		return 0, status.Errorf(codes.ResourceExhausted, "the server is overloaded: the request would take about %v, which is past its deadline; "+
			"try again later", l.expected().Round(100*time.Microsecond))
	}
	l.inFlight += units
	return others, nil
}

// tooMany reports whether that many more units would wait too long.
func (l *Limiter) tooMany(units int) bool {
	if l.o.Hold {
		return l.queueDelay() > l.maxDelay()
	}
	return float64(l.inFlight+units) > l.limit()
}

// queueDelay estimates how long a new request waits for a slot: until enough of the running and waiting requests before it are
// done. It knows how far the runs are, so that a request at the end of a run is accepted where one at its beginning is not.
func (l *Limiter) queueDelay() time.Duration {
	before := l.inFlight - l.o.Slots
	if before < 0 {
		return 0
	}
	left := l.run // of the run whose slot it gets; a run that has its slot but has not started counts in full
	if i := before % l.o.Slots; i < len(l.started) {
		left = max(l.run-time.Since(l.started[i]), 0)
	}
	return time.Duration(before/l.o.Slots)*l.run + left
}

// expected is how long a request would take, with its wait.
func (l *Limiter) expected() time.Duration {
	if !l.o.Hold {
		return l.run
	}
	return l.queueDelay() + l.run
}

// leave learns from a request that took that long.
func (l *Limiter) leave(units, others int, start time.Time, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight -= units
	if i := slices.Index(l.started, start); i >= 0 {
		l.started = slices.Delete(l.started, i, i+1)
	}
	updateMean(&l.run, took, 8)
	switch {
	case l.o.Hold:
		updateMean(&l.alone, took, 8)
	case others == 0:
		// Lone requests become rare as the limit grows, so the few that there are must count.
		updateMean(&l.alone, took, 3)
	}
	if l.o.Hold || l.alone == 0 {
		return
	}
	// A busy model's requests take longer in proportion to the units in flight. So this many units would take the allowed time:
	n := float64(others + units)
	fitting := n * float64(l.alone+l.maxDelay()) / float64(max(took, 1))
	// A request that is slightly late changes nothing: full batches that follow each other take exactly the allowed time.
	switch limit := l.limit(); {
	case fitting < 0.9*n && fitting < limit && others > 0:
		l.learned = max(limit+(fitting-limit)/4, 1)
	case fitting > 0.95*n && n > limit/2:
		l.learned = min(limit+max(fitting-limit, 1)/16, l.maxInFlight())
	}
}

// updateMean moves a mean towards a value, by one nth of the difference.
func updateMean(mean *time.Duration, value time.Duration, n time.Duration) {
	if *mean == 0 {
		*mean = value
		return
	}
	*mean += (value - *mean) / n
}
