// Package tracing records where the time of a request is spent, as OpenTelemetry spans: the request, its wait in a
// queue, the run of the model. Spans are sent to an OTLP collector if one is configured; otherwise they cost next to
// nothing.
package tracing
