// Package limit refuses at once what an overloaded model could only answer late.
//
// A server that accepts every request answers none in time once requests come faster
// than it can run them: the queue grows until every answer is too late. A Limiter
// bounds the work in flight. With slots for the work that runs at the same time, the
// work beyond them waits, by Little's law, for
//
//	(in flight - slots) / slots × time of a run
//
// so a longest wait of MaxDelay means a limit of slots × (1 + MaxDelay / run). Requests
// beyond it are refused with RESOURCE_EXHAUSTED, as are requests that would miss their
// deadline. A MaxDelay of zero means one run: the limit is two units per slot, accepted
// requests take at most twice the time of a lone one, and a slot that becomes free
// always finds a next request. Requests for runs shorter than 5 ms may wait for 5 ms:
// bursts that nobody notices are not refused.
//
// With Hold the Limiter knows when each run began, and so how long a new request would
// wait: for the rest of the run whose slot it gets, and for the requests before it.
// Zero then means four fifths of a run, which leaves a fifth for the way between client
// and model. Requests early in a run are refused, later ones are accepted, and at twice
// the capacity there is still nearly always a next request.
//
// For a model that batches, slots may promise too much: a batch of 1000 rows may take a
// hundred times as long as one of 10. So the Limiter learns from each answer. The time
// of a busy model's answers grows in proportion to the units in flight: if n units took
// t, then n × (run + MaxDelay) / t units would take exactly the allowed time. The limit
// moves towards that: a quarter of the way down when answers came late, a sixteenth up
// when they did not and the limit was in use.
package limit
