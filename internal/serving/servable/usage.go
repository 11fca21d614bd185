package servable

import "time"

// Usage is what an available version takes.
type Usage struct {
	Memory int64     // bytes: variables, constants, and what programs hold between requests; without tables
	Queue  int       // requests that wait for their turn; with batching rows
	Since  time.Time // when it became available
	Share  float64   // of the requests that name no version, which it gets; 0 to 1
	Shadow float64   // the part of other versions' requests that it gets copies of; 0 to 1
}

// A Meter says what the available versions of a model take, by number; of a model that is not there nothing.
type Meter interface {
	Usage(name string) map[int64]Usage
}

// UsageOf returns what m, and the models that it stands before, say of themselves: by Memory, in bytes, and by Queued.
func UsageOf(m Model) (u Usage) {
	for m := range layers(m) {
		if x, ok := m.(interface{ Memory() int64 }); ok {
			u.Memory += x.Memory()
		}
		if x, ok := m.(interface{ Queued() int }); ok {
			u.Queue += x.Queued()
		}
	}
	return u
}

// About is the program that serves.
type About struct {
	Build   string // what it was built from, a line; "": nobody says
	Started time.Time
}
