package engine

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// CountOps lists the ops of the steps that Program.HostSteps returns, with their counts: "Cumsum x1, Where x2".
func CountOps(steps []string) string {
	counts := map[string]int{}
	for _, o := range steps {
		_, op, _ := strings.Cut(o, " (")
		op, _, _ = strings.Cut(op, ")")
		counts[op]++
	}
	var out []string
	for _, op := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, op+" x"+strconv.Itoa(counts[op]))
	}
	return strings.Join(out, ", ")
}

// HostSteps returns the steps of each run that are done on the host because the accelerator has no kernel for them, with
// node, op and reason. It is empty on other devices.
func (p *Program) HostSteps() []string { return slices.Clone(p.hostSteps) }

// DeviceSteps returns how many steps of each run the device does.
func (p *Program) DeviceSteps() int { return len(p.byFrequency[perRun]) - len(p.hostSteps) }
