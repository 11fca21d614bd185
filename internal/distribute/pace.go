package distribute

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/keyvalue"
)

// Paced is a strategy that measures how long a step takes each worker.
type Paced interface {
	// Paces returns the workers' times by rank: this task's, and those that other
	// tasks have reported.
	Paces(ctx context.Context) ([]Pace, error)
}

// Pace is the time that a step takes one worker: reading the input, computing, and
// communicating with parameter servers, but not waiting for other workers.
type Pace struct {
	Worker cluster.Task
	Secs   float64 // moving mean over about 50 steps
}

// paceSteps is the number of steps of the moving mean.
const paceSteps = 50

// pace measures the steps of this worker. One goroutine adds; others may read.
type pace struct {
	steps int
	bits  atomic.Uint64
}

// add adds the time of a step.
func (p *pace) add(d time.Duration) {
	p.steps = min(p.steps+1, paceSteps)
	mean := p.secs()
	p.bits.Store(math.Float64bits(mean + (d.Seconds()-mean)/float64(p.steps)))
}

// secs returns the mean, 0 before the first step.
func (p *pace) secs() float64 { return math.Float64frombits(p.bits.Load()) }

// pacesOf returns the paces of the tasks whose times are known.
func pacesOf(tasks []cluster.Task, secs []float64) []Pace {
	var out []Pace
	for i, s := range secs {
		if s > 0 && !math.IsInf(s, 1) {
			out = append(out, Pace{tasks[i], s})
		}
	}
	return out
}

// pacesOfMembers returns the paces of the tasks that train; own is this task's.
func pacesOfMembers(members []keyvalue.Member, own Pace) []Pace {
	var tasks []cluster.Task
	var secs []float64
	for _, m := range members {
		switch {
		case m.Task == own.Worker:
			m.StepSecs = own.Secs
		case m.State != keyvalue.Active:
			continue
		}
		tasks, secs = append(tasks, m.Task), append(secs, m.StepSecs)
	}
	return pacesOf(tasks, secs)
}
