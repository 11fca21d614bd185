package servable

import "time"

// Usage is the resources that an available version uses.
type Usage struct {
	Memory int64     // bytes: variables, constants, and memory that programs keep between requests; without tables
	Queue  int       // waiting requests; with batching, waiting rows
	Since  time.Time // when it became available
	Share  float64   // of the requests that name no version; 0 to 1
	Shadow float64   // of other versions' requests, which are copied to this one; 0 to 1
}

// A Meter measures the available versions of a model, by number; an unknown model has none.
type Meter interface {
	Usage(name string) map[int64]Usage
}

// UsageOf returns the usage that m, and the models that it wraps, report: by Memory, in bytes, and by Queued.
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

// About describes the program that serves.
type About struct {
	Build   string // what it was built from, a line; "": unknown
	Started time.Time
}
