// Package limit refuses at once what an overloaded model could only answer late.
//
// A server that takes every request answers none in time once more comes than it
// can do: the queue grows until every answer is too old. A Limiter knows how much
// work is in flight and how long a run takes, and by Little's law how long a new
// request would wait:
//
//	wait = (work in flight + its own - slots) / slots × time of a run
//
// where slots is the work that is done at the same time. It refuses with
// RESOURCE_EXHAUSTED what would wait longer than MaxDelay, or past its deadline.
// Where MaxDelay is zero that is one run, so that what is accepted takes at most
// twice the time of a lone request, however much is offered, and there is always
// a next request for a slot that becomes free.
package limit
