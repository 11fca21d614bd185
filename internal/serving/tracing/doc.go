// Package tracing records where the time of a request goes, as OpenTelemetry
// spans: the request, its wait in a queue, the run of the model. Spans go to an
// OTLP collector where one is named; otherwise they cost next to nothing.
package tracing
