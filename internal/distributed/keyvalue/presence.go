package keyvalue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

// EventKind is the kind of an event of a Presence.
type EventKind int

// The events. After each except StopRequested, the heartbeat has ended.
const (
	StopRequested EventKind = iota // all tasks were asked to stop
	LeaderLost                     // the leader did not answer for PresenceConfig.LostAfter
	LeaderReset                    // the leader came back without its state
	Replaced                       // a newer process has taken this task
	Refused                        // the leader refuses the heartbeat
)

// String names the event.
func (k EventKind) String() string {
	if k < StopRequested || k > Refused {
		return fmt.Sprintf("event %d", int(k))
	}
	return [...]string{"stop requested", "leader lost", "leader reset", "replaced", "refused"}[k]
}

// Event is news for a task that it did not ask for.
type Event struct {
	Kind   EventKind
	Reason string // of StopRequested
	Err    error  // of the others
}

// PresenceConfig configures a Presence; zero durations mean the defaults.
type PresenceConfig struct {
	Pulse     Pulse         // a Client, or the Store on the leader
	Rank      int           // of this task
	Interval  time.Duration // between heartbeats (2 s)
	LostAfter time.Duration // silence after which the leader is lost (20 s)
	// StepSecs, if set, returns the step times that heartbeats report: see Member.
	StepSecs func() float64
}

// Presence is the heartbeat of a task, sent in the background.
type Presence struct {
	c      PresenceConfig
	events chan Event
	end    context.CancelFunc
	beat   sync.WaitGroup
}

// Join registers this task with the leader, for which it waits until ctx ends, and starts the
// heartbeat. Leave or Close ends it.
func Join(ctx context.Context, c PresenceConfig) (*Presence, error) {
	if c.Interval <= 0 {
		c.Interval = 2 * time.Second
	}
	if c.LostAfter <= 0 {
		c.LostAfter = 20 * time.Second
	}
	first, cancel := bounded(ctx)
	defer cancel()
	if _, err := c.Pulse.Beat(first, Beat{Rank: c.Rank}); err != nil {
		return nil, fmt.Errorf("join the leader as rank %d: %w", c.Rank, err)
	}
	life, end := context.WithCancel(context.Background())
	p := &Presence{c: c, events: make(chan Event, 2), end: end} // at most a stop and an end
	p.beat.Go(func() { p.run(life) })
	return p, nil
}

// Events delivers the leader's messages, each kind once; it is closed when the heartbeat has ended.
func (p *Presence) Events() <-chan Event { return p.events }

// run sends heartbeats until life ends or the leader is lost.
func (p *Presence) run(life context.Context) {
	defer close(p.events)
	beat := Beat{Rank: p.c.Rank, Hold: p.c.Interval}
	heard := time.Now()
	for life.Err() == nil {
		start := time.Now()
		if p.c.StepSecs != nil {
			beat.StepSecs = p.c.StepSecs()
		}
		ctx, cancel := context.WithTimeout(life, p.c.Interval+p.c.LostAfter)
		stop, err := p.c.Pulse.Beat(ctx, beat)
		cancel()
		switch {
		case life.Err() != nil:
			return
		case err == nil:
			heard = time.Now()
		default:
			if kind, ended := eventOf(err); ended {
				p.events <- Event{Kind: kind, Err: err}
				return
			}
			if time.Since(heard) >= p.c.LostAfter {
				p.events <- Event{Kind: LeaderLost, Err: err}
				return
			}
		}
		if stop != "" && !beat.KnowsStop {
			beat.KnowsStop = true
			p.events <- Event{Kind: StopRequested, Reason: stop}
		}
		if rest := p.c.Interval - time.Since(start); rest > 0 && pause(life, rest, nil, nil) != nil {
			return
		}
	}
}

// eventOf returns the event for the error of a heartbeat, and whether it is final.
func eventOf(err error) (kind EventKind, final bool) {
	switch {
	case errors.Is(err, ErrLeaderReset):
		return LeaderReset, true
	case errors.Is(err, ErrSuperseded):
		return Replaced, true
	case errors.Is(err, cluster.ErrRefused), errors.Is(err, ErrInvalid):
		return Refused, true
	}
	return 0, false
}

// Close ends the heartbeat; the leader will consider the task lost.
func (p *Presence) Close() {
	p.end()
	p.beat.Wait()
}

// Leave ends the heartbeat and tells the leader that the task has finished.
func (p *Presence) Leave(ctx context.Context) error {
	p.Close()
	ctx, cancel := context.WithTimeout(ctx, p.c.LostAfter)
	defer cancel()
	if _, err := p.c.Pulse.Beat(ctx, Beat{Rank: p.c.Rank, Done: true}); err != nil {
		return fmt.Errorf("leave the leader as rank %d: %w", p.c.Rank, err)
	}
	return nil
}

// RequestStop asks all tasks with a Presence to stop, for a non-empty reason.
func RequestStop(ctx context.Context, b KeyValue, reason string) error {
	if reason == "" {
		return fmt.Errorf("%w: a stop without a reason", ErrInvalid)
	}
	return b.Set(ctx, stopKey, []byte(reason))
}
