// Package timeline records the events of the process during a capture. Start begins a capture, one at a time; code that is
// worth showing calls Begin, or Add for a finished event. Without a capture they cost an atomic load.
package timeline
