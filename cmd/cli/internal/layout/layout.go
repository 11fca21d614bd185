package layout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/distributed/replica"
)

// Layout says which tasks run on which hosts.
type Layout struct {
	Name     string
	Summary  string // which tasks run where, for help
	MinHosts int    // with one parameter server

	CountsServers bool // the number of parameter servers can be chosen

	// roles returns the task types on each host.
	roles func(hosts, servers int) [][]string
}

// Layouts lists the layouts, the default first.
func Layouts() []Layout {
	return []Layout{
		{Name: "chief-workers", Summary: "the first host is the chief, the others are workers", MinHosts: 2, roles: chiefWorkers},
		{Name: "chief-ps-workers-evaluator", Summary: "the chief, then --ps parameter servers, workers, and the evaluator on the last host", MinHosts: 4, CountsServers: true, roles: oneRoleEach},
		{Name: "master-ps-everywhere", Summary: "a parameter server on every host, the master on the first, a worker on each other", MinHosts: 1, roles: psEverywhere},
	}
}

// Names lists the names of the layouts.
func Names() []string {
	var names []string
	for _, l := range Layouts() {
		names = append(names, l.Name)
	}
	return names
}

// Find returns the layout of a name.
func Find(name string) (Layout, error) {
	all := Layouts()
	i := slices.IndexFunc(all, func(l Layout) bool { return l.Name == name })
	if i < 0 {
		return Layout{}, fmt.Errorf("got %q, expected one of %s", name, strings.Join(Names(), ", "))
	}
	return all[i], nil
}

func chiefWorkers(hosts, _ int) [][]string {
	out := slices.Repeat([][]string{{replica.Worker}}, hosts)
	out[0] = []string{replica.Chief}
	return out
}

func oneRoleEach(hosts, servers int) [][]string {
	out := slices.Repeat([][]string{{replica.Worker}}, hosts)
	out[0] = []string{replica.Chief}
	for i := range servers {
		out[1+i] = []string{replica.PS}
	}
	out[hosts-1] = []string{replica.Evaluator}
	return out
}

func psEverywhere(hosts, _ int) [][]string {
	var out [][]string
	for range hosts {
		out = append(out, []string{replica.PS, replica.Worker})
	}
	out[0] = []string{replica.PS, replica.Master}
	return out
}
