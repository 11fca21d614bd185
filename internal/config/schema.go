package config

import (
	"maps"
	"reflect"
	"strings"
	"sync"

	"github.com/goestimator/goestimator/internal/platform/spelling"
	"github.com/goestimator/goestimator/models/optimizers"
)

// kind is the sort of value that a key takes.
type kind int

const (
	kindString kind = iota
	kindInt
	kindFloat
	kindBool
	kindAny
	kindFree // a map of keys that users choose
	kindObject
	kindList
)

// words names a kind in messages and documents.
var words = map[kind]string{
	kindString: "text", kindInt: "an integer", kindFloat: "a number", kindBool: "true or false",
	kindAny: "a value", kindFree: "a map", kindObject: "a map", kindList: "a list",
}

// node is one key of the schema.
type node struct {
	path     string // dotted; elements of a list end in []
	name     string
	alias    string // another name of it in its section; empty: none
	kind     kind
	children []*node // of an object, in the order of the Go type
	elem     *node   // of a list
	scalar   string  // the child that a bare number stands for, else empty
}

// schema is the tree of all keys, made from the Go type once.
var schema = sync.OnceValue(func() *node {
	return newNode("", "", reflect.TypeFor[Config](), nil)
})

// newNode returns the key of a type within those of above, by their types: an entry of a list may be such a one again.
func newNode(path, name string, t reflect.Type, above map[reflect.Type]*node) *node {
	n := &node{path: path, name: name}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		n.kind = kindString
	case reflect.Int, reflect.Int64:
		n.kind = kindInt
	case reflect.Float64:
		n.kind = kindFloat
	case reflect.Bool:
		n.kind = kindBool
	case reflect.Map:
		n.kind = kindFree
	case reflect.Slice:
		n.kind = kindList
		if n.elem = above[t.Elem()]; n.elem == nil {
			n.elem = newNode(path+"[]", name, t.Elem(), above)
		}
	case reflect.Struct:
		n.kind = kindObject
		above = maps.Clone(above)
		if above == nil {
			above = map[reflect.Type]*node{}
		}
		above[t] = n
		n.addFields(t, above)
	default:
		n.kind = kindAny
	}
	return n
}

func (n *node) addFields(t reflect.Type, above map[reflect.Type]*node) {
	if t == reflect.TypeFor[optimizers.LearningRateSpec]() {
		n.scalar = "initial"
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		path := name
		if n.path != "" {
			path = n.path + "." + name
		}
		c := newNode(path, name, f.Type, above)
		c.alias = f.Tag.Get("alias")
		n.children = append(n.children, c)
	}
}

func (n *node) child(name string) *node {
	for _, c := range n.children {
		if c.name == name || c.alias != "" && c.alias == name {
			return c
		}
	}
	return nil
}

// aliasPath is the key that a path has by its alias, empty where there is none.
func aliasPath(path string) string {
	n := schema().find(path)
	if n == nil || n.alias == "" {
		return ""
	}
	return strings.TrimSuffix(n.path, n.name) + n.alias
}

// find returns the key that a dotted path names; a path into a free map gives
// a node of any kind.
func (n *node) find(path string) *node {
	for name := range strings.SplitSeq(path, ".") {
		if n.kind == kindFree {
			return &node{path: path, name: name, kind: kindAny}
		}
		if n = n.child(name); n == nil {
			return nil
		}
	}
	return n
}

// walk visits every key outside lists, parents first.
func (n *node) walk(visit func(*node)) {
	for _, c := range n.children {
		visit(c)
		c.walk(visit)
	}
}

// Keys returns the dotted names of all keys outside lists, in the order of the
// config's Go type. The name of a map whose keys users choose ends in a dot.
func Keys() []string {
	var out []string
	schema().walk(func(n *node) {
		switch {
		case n.kind == kindFree:
			out = append(out, n.path+".")
		case n.kind != kindObject || n.scalar != "":
			out = append(out, n.path)
		}
	})
	return out
}

// nearest returns the known key most like path: a sibling where one is close,
// else any key whose last name is close, else nothing.
func (n *node) nearest(path string) string {
	name := path[strings.LastIndexByte(path, '.')+1:]
	best, bestCost := "", 1+max(2, len(name)/3)
	n.walk(func(c *node) {
		cost := spelling.Distance(path, c.path)
		if c.name == name {
			cost = min(cost, 2)
		}
		if cost < bestCost {
			best, bestCost = c.path, cost
		}
	})
	return best
}
