// Package limit refuses at once what an overloaded model could only answer late.
//
// A server that takes every request answers none in time once more comes than it
// can do: the queue grows until every answer is too old. A Limiter bounds the work
// in flight. With slots for work that is done at the same time, what is in flight
// beyond them waits, by Little's law, for
//
//	(in flight - slots) / slots × time of a run
//
// so a longest wait, MaxDelay, is a limit of slots × (1 + MaxDelay / run). What
// comes beyond it is refused with RESOURCE_EXHAUSTED, and so is what would end past
// its deadline. Where MaxDelay is zero it is one run: the limit is two units for
// each slot, accepted requests take at most twice the time of a lone one, and there
// is always a next request for a slot that becomes free. Of runs that are shorter than
// 5 ms more may wait, for that long: bursts that nobody feels are not refused.
//
// With Hold the Limiter knows when each run began, and so how long each request that
// comes would wait: for the rest of the run whose slot it gets, and for what waits
// before it. Zero is then four fifths of a run, which leaves a fifth of one for what is
// between client and model; what comes early in a run is refused, what comes later in
// it is taken, and at twice the capacity there still is a next one nearly always.
//
// For a model that batches, slots may promise more than there is: a batch of 1000
// rows may take a hundred times as long as one of 10. So the Limiter learns from
// each answer. A busy model's answers take the longer the more is in flight, in
// proportion: n units that took t say that n × (run + MaxDelay) / t units would take
// just as long as they may. The limit moves to that: a quarter of the way down where
// answers came late, a sixteenth up where they did not and the limit was in use.
package limit
