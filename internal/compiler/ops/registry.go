package ops

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/spelling"
)

// registry is filled while the package is initialized, and not changed after that.
var registry = map[string]*Def{}

func register(d *Def) {
	if registry[d.Name] != nil {
		panic("ops: two definitions of " + d.Name)
	}
	registry[d.Name] = d
}

// Find returns the definition of an op, nil where there is none.
func Find(name string) *Def { return registry[name] }

// Lookup returns the definition of an op; the error names the op nearest in spelling.
func Lookup(name string) (*Def, error) {
	if d := registry[name]; d != nil {
		return d, nil
	}
	if near := spelling.Nearest(name, slices.Sorted(maps.Keys(registry))); near != "" {
		return nil, fmt.Errorf("unknown op %q: is %s meant?", name, near)
	}
	return nil, fmt.Errorf("unknown op %q", name)
}

// Defs returns all definitions by name.
func Defs() []*Def {
	return slices.SortedFunc(maps.Values(registry), func(a, b *Def) int { return strings.Compare(a.Name, b.Name) })
}

// defineLine adds an op that no backend computes: a signature and attributes, separated by semicolons.
func defineLine(line string) {
	parts := strings.Split(line, "; ")
	define(parts[0], parts[1:]...)
}
