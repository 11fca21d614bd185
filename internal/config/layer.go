package config

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/runconfig/violation"
)

// layer is one source of values, checked against the schema: leaf path to value.
type layer struct {
	values map[string]any
	where  func(path string) string
	lines  map[string]int // of a file: the line of each key and of each element of a list
	vs     *problems

	numbers map[string]string // whole numbers in lists, as they are written
}

func newLayer(vs *problems, where func(path string) string) *layer {
	return &layer{values: map[string]any{}, numbers: map[string]string{}, where: where, vs: vs}
}

func (l *layer) bad(path string, value any, bound string) {
	l.vs.Found = append(l.vs.Found, violation.Violation{Field: path, Value: value, Bound: bound, Where: l.where(path)})
}

// unknown reports a key that the schema does not have.
func (l *layer) unknown(path string, value any) {
	if l.retire(path, value) {
		return
	}
	bound := "which is not a known key"
	if meant := schema().nearest(path); meant != "" {
		bound += "; did you mean " + meant + "?"
		l.vs.meant[path] = meant
	}
	l.bad(path, value, bound)
}

// put checks a value of a key and stores its leaves.
func (l *layer) put(n *node, path string, value any) {
	if value == nil { // null: not given here
		return
	}
	switch n.kind {
	case kindObject:
		l.putObject(n, path, value)
	case kindFree:
		m, ok := stringMap(value)
		if !ok {
			l.bad(path, value, "expected a map with text keys")
			return
		}
		l.putFree(path, m)
	default:
		if v, ok := l.check(n, path, value); ok {
			l.values[path] = v
		}
	}
}

func (l *layer) putObject(n *node, path string, value any) {
	if n.scalar != "" {
		if x, ok := toFloat(value); ok {
			l.values[path+".schedule"] = "constant"
			l.values[path+"."+n.scalar] = x
			return
		}
	}
	m, ok := stringMap(value)
	if !ok {
		bound := "expected a map"
		if n.scalar != "" {
			bound = "expected a number or a map"
		}
		l.bad(path, value, bound)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		full := join(path, key)
		switch c := n.child(key); {
		case c != nil && key == c.alias && m[c.name] != nil:
			l.bad(full, m[key], "expected one of "+c.name+" and "+c.alias+", two names of one key")
		case c != nil:
			l.put(c, join(path, c.name), m[key])
		case schema().find(full) != nil: // a key that holds dots
			l.put(schema().find(full), full, m[key])
		default:
			l.unknown(full, m[key])
		}
	}
}

// putFree stores the leaves of a map whose keys users choose.
func (l *layer) putFree(path string, m map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if inner, ok := stringMap(m[key]); ok {
			l.putFree(join(path, key), inner)
		} else if m[key] != nil {
			l.values[join(path, key)] = plain(m[key])
		}
	}
}

// check converts a leaf or a list to the type of its key.
func (l *layer) check(n *node, path string, value any) (any, bool) {
	var out any
	ok := false
	switch n.kind {
	case kindString:
		out, ok = value.(string)
	case kindBool:
		out, ok = value.(bool)
	case kindInt:
		out, ok = toInt(value)
	case kindFloat:
		out, ok = toFloat(value)
	case kindList:
		return l.checkList(n, path, value)
	case kindObject:
		return l.checkElement(n, path, value)
	default:
		return plain(value), true
	}
	if !ok {
		bound := "expected " + words[n.kind]
		if n.kind == kindString {
			bound += "; put it in quotes"
		}
		l.bad(path, value, bound)
	}
	return out, ok
}

// checkList takes a list, or one scalar for a list of scalars.
func (l *layer) checkList(n *node, path string, value any) (any, bool) {
	items, ok := value.([]any)
	if !ok {
		if _, isMap := stringMap(value); isMap || n.elem.kind == kindObject {
			l.bad(path, value, "expected a list")
			return nil, false
		}
		items = []any{value}
	}
	if n.elem.kind == kindString {
		return l.checkWords(path, items)
	}
	out := make([]any, 0, len(items))
	good := true
	for i, item := range items {
		v, ok := l.check(n.elem, path+"["+strconv.Itoa(i)+"]", item)
		good = good && ok
		out = append(out, v)
	}
	return out, good
}

// checkWords takes a list of text. A whole number is the text that it is written as, so that a vocabulary may have some.
func (l *layer) checkWords(path string, items []any) (any, bool) {
	out := make([]any, len(items))
	var bad []any
	first := ""
	for i, item := range items {
		at := path + "[" + strconv.Itoa(i) + "]"
		switch v := item.(type) {
		case string:
			out[i] = v
		case int, uint64:
			out[i] = cmp.Or(l.numbers[at], fmt.Sprint(v))
		default:
			if bad = append(bad, item); first == "" {
				first = at
			}
		}
	}
	switch len(bad) {
	case 0:
		return out, true
	case 1:
		l.bad(first, bad[0], "expected text; put it in quotes")
	default:
		l.bad(path, bad, "expected text; put each of these in quotes")
	}
	return nil, false
}

// checkElement takes one map of a list of maps.
func (l *layer) checkElement(n *node, path string, value any) (any, bool) {
	m, ok := stringMap(value)
	if !ok {
		l.bad(path, value, "expected a map")
		return nil, false
	}
	out := make(map[string]any, len(m))
	good := true
	for _, key := range slices.Sorted(maps.Keys(m)) {
		c := n.child(key)
		if c == nil {
			l.bad(join(path, key), m[key], "which is not a known key; known are "+strings.Join(childNames(n), ", "))
			good = false
			continue
		}
		if m[key] == nil {
			continue
		}
		v, ok := l.check(c, join(path, key), m[key])
		good = good && ok
		out[key] = v
	}
	return out, good
}

func childNames(n *node) []string {
	names := make([]string, 0, len(n.children))
	for _, c := range n.children {
		names = append(names, c.name)
	}
	return names
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// stringMap returns a map with lower-case text keys, or false.
func stringMap(value any) (map[string]any, bool) {
	out := map[string]any{}
	switch m := value.(type) {
	case map[string]any:
		for k, v := range m {
			out[strings.ToLower(k)] = v
		}
	case map[any]any:
		for k, v := range m {
			out[strings.ToLower(fmt.Sprint(k))] = v
		}
	default:
		return nil, false
	}
	return out, true
}

// plain brings a free value to one form for one meaning: lower-case text keys,
// and whole numbers as integers (YAML writes the number 1.0 as 1).
func plain(value any) any {
	if m, ok := stringMap(value); ok {
		for k, v := range m {
			m[k] = plain(v)
		}
		return m
	}
	if items, ok := value.([]any); ok {
		out := make([]any, len(items))
		for i, v := range items {
			out[i] = plain(v)
		}
		return out
	}
	if i, ok := toInt(value); ok {
		return int(i)
	}
	return value
}

// toInt takes integers, and floating-point numbers that are whole and exact.
func toInt(value any) (int64, bool) {
	switch v := value.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case float64:
		const exact = 1 << 53
		if v == math.Trunc(v) && math.Abs(v) <= exact {
			return int64(v), true
		}
	}
	return 0, false
}

func toFloat(value any) (float64, bool) {
	switch v := value.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
