package failpoint

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

// EnvVar is the environment variable that enables points at process start.
const EnvVar = "GOESTIMATOR_FAILPOINTS"

// ErrInjected is wrapped by every error that an enabled point returns.
var ErrInjected = errors.New("injected failure")

// Point is one named place. Create it in a package-level variable.
type Point struct {
	name   string
	active atomic.Pointer[action]
}

var registry = struct {
	sync.Mutex
	points  map[string]*Point
	pending map[string]*action // from the environment, until the point registers
}{points: map[string]*Point{}, pending: fromEnv()}

// New registers a point. Names are "package/what-just-happened"; a second
// registration of a name is a programming error and panics.
func New(name string) *Point {
	registry.Lock()
	defer registry.Unlock()
	if registry.points[name] != nil {
		panic("failpoint " + name + " is registered twice")
	}
	p := &Point{name: name}
	if a := registry.pending[name]; a != nil {
		p.active.Store(a)
	}
	registry.points[name] = p
	return p
}

// Here marks the place of the failure. It returns nil unless the point is
// enabled with an error.
func (p *Point) Here() error {
	a := p.active.Load()
	if a == nil {
		return nil
	}
	return a.run(p.name)
}

// Names returns the registered points that start with prefix, sorted.
func Names(prefix string) []string {
	registry.Lock()
	defer registry.Unlock()
	var names []string
	for n := range registry.points {
		if strings.HasPrefix(n, prefix) {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	return names
}

// Enable enables a registered point and returns a function that disables it.
// The package comment has the syntax of actions.
func Enable(name, spec string) (disable func(), err error) {
	a, err := parseAction(spec)
	if err != nil {
		return nil, fmt.Errorf("failpoint %s: %w", name, err)
	}
	registry.Lock()
	defer registry.Unlock()
	p := registry.points[name]
	if p == nil {
		return nil, fmt.Errorf("failpoint %s is not registered", name)
	}
	p.active.Store(a)
	return func() { p.active.Store(nil) }, nil
}

// fromEnv parses the environment. A mistake there ends the process: a test must
// not pass because its failure was not injected.
func fromEnv() map[string]*action {
	m, err := parseAll(os.Getenv(EnvVar))
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", EnvVar, err)
		os.Exit(2)
	}
	return m
}

func parseAll(s string) (map[string]*action, error) {
	m := map[string]*action{}
	for _, term := range strings.Split(s, ";") {
		term = strings.TrimSpace(term)
		if term == "" {
			continue
		}
		name, spec, ok := strings.Cut(term, "=")
		if !ok {
			return nil, fmt.Errorf("%q: expected name=action", term)
		}
		a, err := parseAction(spec)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", term, err)
		}
		m[strings.TrimSpace(name)] = a
	}
	return m, nil
}
