// Package live is a web page of runs while they train: their states and scalars,
// several runs in one chart. A browser gets what is new by server-sent events.
package live
