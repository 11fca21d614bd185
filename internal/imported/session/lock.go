package session

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Shares of a session's lock. A run that reads variables which signatures update takes one share; a run that updates them takes all.
const (
	noShare   = 0
	readers   = 1
	allShares = 1 << 40
)

// lock is granted to runs in the order in which they ask for it. A run waits no longer than its context lasts, since a run that updates
// variables may take arbitrarily long.
type lock struct{ shares *semaphore.Weighted }

func newLock() lock { return lock{semaphore.NewWeighted(allShares)} }

// acquire waits for shares, or fails with the context's error.
func (l lock) acquire(ctx context.Context, shares int64) error {
	if shares == noShare {
		return nil
	}
	return l.shares.Acquire(ctx, shares)
}

func (l lock) release(shares int64) {
	if shares != noShare {
		l.shares.Release(shares)
	}
}

// share returns how many shares of the session's lock the plan needs.
func (p *plan) share() int64 {
	switch {
	case p.eagerly:
		return allShares
	case len(p.s.vars.updated) > 0:
		return readers
	}
	return noShare
}
