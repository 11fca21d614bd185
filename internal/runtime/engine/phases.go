package engine

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// phase is a range of the steps of a run and the fetches that are complete after it.
type phase struct {
	from, to int
	fetches  []int
	groups   []parallelGroup // of its steps: set by layout
}

// splitPhases cuts a run after every step that makes a fetch if Options.OnFetch is set; else the run is one phase.
func (p *plan) splitPhases() {
	steps := p.byFrequency[perRun]
	if p.options.OnFetch == nil {
		all := phase{to: len(steps)}
		for i := range p.fetched {
			all.fetches = append(all.fetches, i)
		}
		p.phases = []phase{all}
		return
	}
	made := map[int][]int{} // fetches by the number of steps they need
	for i, f := range p.fetched {
		o := storageOf(f).op
		n := 1 + slices.IndexFunc(steps, func(s *step) bool { return s.op == o })
		made[n] = append(made[n], i)
	}
	from := 0
	for n := range len(steps) + 1 {
		if made[n] == nil && n < len(steps) {
			continue
		}
		p.phases = append(p.phases, phase{from: from, to: n, fetches: made[n]})
		from = n
	}
}

// storageOf skips ops that only reshape their input and returns the output that owns the storage.
func storageOf(f port) port {
	for f.op.def.alias {
		f = f.op.in[0]
	}
	return f
}

// ownFetches copies fetches whose storage other ops would read, or another fetch, a feed, a constant or a variable would
// share.
func ownFetches(ops []*op, fetched []port) []*op {
	uses := map[port]int{} // number of ops that read a storage, plus its fetches
	for _, o := range ops {
		for _, in := range o.in {
			if !o.def.alias {
				uses[storageOf(in)]++
			}
		}
	}
	for _, f := range fetched {
		uses[storageOf(f)]++
	}
	for i, f := range fetched {
		s := storageOf(f)
		if s.op.feed >= 0 || s.op.def.compile == nil || s.op.node.Op == "ReadVariableOp" || uses[s] > 1 {
			c := &op{node: &graph.Node{Name: f.op.node.Name + "/fetch", Op: "DeepCopy", Outputs: []graph.Type{f.op.node.Outputs[f.idx]}},
				index: f.op.index, in: []port{f}, def: registry()["DeepCopy"], feed: -1}
			ops = append(ops, c)
			fetched[i], s = port{c, 0}, port{c, 0}
		}
		s.op.own = true
	}
	return ops
}
