package ops

import (
	"maps"
	"slices"
	"strings"
)

// registry is filled while the package is initialized, and not changed after that.
var registry = map[string]*Def{}

func register(d *Def) {
	if registry[d.Name] != nil {
		panic("ops: two definitions of " + d.Name)
	}
	registry[d.Name] = d
}

// Find returns the definition of an op, nil if there is none.
func Find(name string) *Def { return registry[name] }

// Defs returns all definitions by name.
func Defs() []*Def {
	return slices.SortedFunc(maps.Values(registry), func(a, b *Def) int { return strings.Compare(a.Name, b.Name) })
}

// defineLine adds an op that no backend computes: a signature and attributes, separated by semicolons.
func defineLine(line string) {
	parts := strings.Split(line, "; ")
	define(parts[0], parts[1:]...)
}
