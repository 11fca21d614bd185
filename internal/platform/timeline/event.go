package timeline

import "time"

// Line is the line on which events are shown; events that overlap go to further lines with the same name.
type Line string

// The lines of the process.
const (
	Requests Line = "requests" // from their beginning to the answer
	Queue    Line = "queue"    // requests that wait for a batch
	Batches  Line = "batches"  // of requests that share a run
	Runs     Line = "runs"     // of models and programs, and within them nodes
)

// Event is something that took time.
type Event struct {
	Line     Line
	Name     string
	Op       string // of a node with name Name: "MatMul", "MatMul+BiasAdd"; "": not a node
	Start    time.Time
	Duration time.Duration
	Stats    []Stat
	// Task is the same for events that are parts of one thing, such as a run and its nodes; 0: none. Begin sets it.
	Task uint64
}

// Stat is a value of an event: a text, or a number if Text is "".
type Stat struct {
	Name   string
	Text   string
	Number int64
}

// Capture is what a Recorder recorded.
type Capture struct {
	Start, End time.Time
	Events     []Event // in the order in which they ended
	Dropped    int     // events for which there was no room
}
