// Package timeline records what the process does, event by event, while somebody captures it. Start begins a capture, one at a
// time; code that is worth showing calls Begin, or Add for what is over. Without a capture they cost an atomic load.
package timeline
