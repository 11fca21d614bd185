package config

import (
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/spelling"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/runconfig/violation"
	"go.yaml.in/yaml/v3"
)

// envLayer takes GOESTIMATOR_* variables. An empty one counts as not set. A
// name below a section that is no key of it is an error; other names are not ours.
func envLayer(vs *problems, environ []string) *layer {
	keys := envKeys()
	l := newLayer(vs, func(path string) string { return "environment variable " + runconfig.EnvName(path) })
	environ = slices.Clone(environ)
	slices.Sort(environ)
	for _, pair := range environ {
		name, text, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, runconfig.EnvPrefix) || text == "" {
			continue
		}
		if n := keys[name]; n != nil {
			l.putText(n, n.path, text)
			continue
		}
		if n, rest := freeMapOf(keys, name); n != nil {
			key := n.path + "." + strings.ToLower(rest)
			l.putText(schema().find(key), key, text)
			continue
		}
		if key := retiredOf(name); key != "" {
			l.unknown(key, text)
		} else if sectionOf(name) != "" {
			l.unknownEnv(name, text, keys)
		}
	}
	return l
}

// envKeys maps variable names to keys.
func envKeys() map[string]*node {
	keys := map[string]*node{}
	schema().walk(func(n *node) {
		if n.kind != kindObject || n.scalar != "" {
			keys[runconfig.EnvName(n.path)] = n
		}
	})
	return keys
}

// freeMapOf splits a name such as GOESTIMATOR_MODEL_PARAMS_CLASSES.
func freeMapOf(keys map[string]*node, name string) (*node, string) {
	for env, n := range keys {
		if rest, ok := strings.CutPrefix(name, env+"_"); ok && n.kind == kindFree && rest != "" {
			return n, rest
		}
	}
	return nil, ""
}

// retiredOf is the retired key of a variable, empty where there is none.
func retiredOf(name string) string {
	for key := range retired {
		if runconfig.EnvName(key) == name {
			return key
		}
	}
	return ""
}

func sectionOf(name string) string {
	for _, c := range schema().children {
		if c.kind == kindObject && strings.HasPrefix(name, runconfig.EnvName(c.path)+"_") {
			return c.path
		}
	}
	return ""
}

func (l *layer) unknownEnv(name, text string, keys map[string]*node) {
	best, bestCost := "", len(name)
	for env := range keys {
		if cost := spelling.Distance(name, env); cost < bestCost || cost == bestCost && env < best {
			best, bestCost = env, cost
		}
	}
	l.vs.Found = append(l.vs.Found, violation.Violation{
		Field: name, Value: text, Where: "environment",
		Bound: "which is not a known key; did you mean " + best + "?",
	})
}

// putText stores a value that was given as text: as it stands where the key
// wants text, else read as YAML (JSON is a part of it).
func (l *layer) putText(n *node, path, text string) {
	if n.kind == kindString {
		l.put(n, path, text)
		return
	}
	if n.kind == kindList && n.elem.kind == kindString && !strings.HasPrefix(strings.TrimSpace(text), "[") {
		l.put(n, path, []any{text})
		return
	}
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		l.bad(path, text, "expected "+words[n.kind]+" in YAML: "+err.Error())
		return
	}
	if value == nil {
		l.bad(path, text, "expected "+words[n.kind])
		return
	}
	for at, number := range scanLines([]byte(text)).numbers {
		if !strings.HasPrefix(at, "[") {
			at = "." + at
		}
		l.numbers[path+at] = number
	}
	l.put(n, path, value)
}

// setLayer takes --set key=value arguments.
func setLayer(vs *problems, sets []string) *layer {
	l := newLayer(vs, func(path string) string { return "--set " + path })
	for _, arg := range sets {
		key, text, ok := strings.Cut(arg, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		if !ok || key == "" {
			vs.Add("--set", arg, "expected key=value")
			continue
		}
		if n := schema().find(key); n != nil {
			l.putText(n, n.path, text)
		} else {
			l.unknown(key, text)
		}
	}
	return l
}
