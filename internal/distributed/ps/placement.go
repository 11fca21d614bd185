package ps

import (
	"cmp"
	"fmt"
	"slices"
)

// Placement is the rule by which parts are placed on servers.
type Placement string

const (
	// BySize places each part, the largest first, on the server with the fewest bytes, slots
	// included; the first of equal ones. For parts in that order it is TensorFlow's
	// GreedyLoadBalancingStrategy with byte_size_load_fn.
	BySize Placement = "by_size"
	// RoundRobin places parts, in the order of the plan's variables, on the servers in turn, as
	// ParameterServerStrategyV2 does, and replica_device_setter without a strategy.
	RoundRobin Placement = "round_robin"
)

func (p Placement) check() error {
	if p != BySize && p != RoundRobin {
		return fmt.Errorf("placement %q: expected %s or %s", p, BySize, RoundRobin)
	}
	return nil
}

// place cuts the variables and places each part on a server. Variables that a step function changes
// are on server 0, which counts the steps.
func (p *Plan) place() {
	p.units, p.first = nil, nil
	for i := range p.Variables {
		v := &p.Variables[i]
		p.first = append(p.first, len(p.units))
		for part := range v.Parts {
			lo, hi := div(v.rows(), v.Parts, part)
			p.units = append(p.units, Unit{Variable: i, Part: part, Lo: lo, Hi: hi})
		}
	}
	var free []int // units that may be anywhere
	load := make([]int64, p.Servers)
	for i, u := range p.units {
		if p.Variables[u.Variable].Step {
			load[0] += p.bytes(u)
		} else {
			free = append(free, i)
		}
	}
	if p.Placement == RoundRobin {
		for n, i := range free {
			p.units[i].Server = n % p.Servers
		}
		return
	}
	slices.SortStableFunc(free, func(a, b int) int { return cmp.Compare(p.bytes(p.units[b]), p.bytes(p.units[a])) })
	for _, i := range free {
		s := slices.Index(load, slices.Min(load))
		p.units[i].Server = s
		load[s] += p.bytes(p.units[i])
	}
}
