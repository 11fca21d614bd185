// Package live serves a web page of runs while they train: their states and scalars,
// with several runs in one chart. Browsers receive changes as server-sent events.
package live
