package engine

import "time"

// NodeTime is the time that one node took over all runs.
type NodeTime struct {
	Op, Node string
	Count    int
	Total    time.Duration
}

type stepTime struct {
	count int
	total time.Duration
}

func (t *stepTime) measure() func() {
	start := time.Now()
	return func() {
		t.count++
		t.total += time.Since(start)
	}
}

// Profile returns the times of all nodes in the order of their running; they are zero without Options.Profile.
func (p *Program) Profile() []NodeTime {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []NodeTime
	for _, steps := range p.staged {
		for _, s := range steps {
			all = append(all, NodeTime{s.op.node.Op, s.op.node.Name, s.profile.count, s.profile.total})
		}
	}
	return all
}
