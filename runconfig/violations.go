package runconfig

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Violation is one thing that is wrong in a configuration.
type Violation struct {
	// Field is the key or option, for example train.max_steps or cluster.chief.
	Field string
	// Value is what was found there.
	Value any
	// Bound is what was expected, in words.
	Bound string
	// Where names the source (file:line, --set, an environment variable); empty where unknown.
	Where string

	meant string // the key that an unknown one is taken for
}

func (v Violation) String() string {
	s := v.Field + ": got " + quote(v.Value) + ", " + v.Bound
	if v.Where != "" {
		s += " (" + v.Where + ")"
	}
	return s
}

// quote prints a value on one line, text in quotes, cut where very long.
func quote(v any) string {
	const most = 120
	var s string
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		s = fmt.Sprintf("%q", v)
	case json.RawMessage:
		s = strings.Join(strings.Fields(string(v)), " ")
	default:
		s = strings.Join(strings.Fields(fmt.Sprint(v)), " ")
	}
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// ViolationsError reports everything that is wrong in a configuration.
type ViolationsError struct {
	// Violations holds at least one entry.
	Violations []Violation
}

// Error lists the violations: a single one on one line, several one per line.
func (e *ViolationsError) Error() string {
	if len(e.Violations) == 1 {
		return "invalid configuration: " + e.Violations[0].String()
	}
	lines := make([]string, 0, len(e.Violations)+1)
	lines = append(lines, fmt.Sprintf("invalid configuration: %d violations", len(e.Violations)))
	for _, v := range e.Violations {
		lines = append(lines, "  "+v.String())
	}
	return strings.Join(lines, "\n")
}

// violations collects what is wrong.
type violations struct{ list []Violation }

func (vs *violations) add(field string, value any, bound string) {
	vs.list = append(vs.list, Violation{Field: field, Value: value, Bound: bound})
}

// require adds a violation unless ok.
func (vs *violations) require(ok bool, field string, value any, bound string) {
	if !ok {
		vs.add(field, value, bound)
	}
}

// below reports whether there is a violation of a key or below it.
func (vs *violations) below(key string) bool {
	return slices.ContainsFunc(vs.list, func(v Violation) bool { return within(v.Field, key) })
}

func (vs *violations) err() error {
	if len(vs.list) == 0 {
		return nil
	}
	return &ViolationsError{Violations: vs.list}
}

// oneOf requires a text to be in a list.
func (vs *violations) oneOf(field, value string, list ...string) {
	for _, s := range list {
		if value == s {
			return
		}
	}
	if list[0] == "" {
		list = list[1:]
	}
	vs.add(field, value, "expected one of "+strings.Join(list, ", "))
}

// follows reports whether a rule fails only because of a violation that a source of values has: of the same key, of one
// above or below it, or of one that it was taken for.
func (v Violation) follows(source Violation) bool {
	return source.Field != "" && (within(v.Field, source.Field) || within(source.Field, v.Field)) || source.meant != "" && within(source.meant, v.Field)
}

// within reports whether a key is another one, or below it.
func within(key, above string) bool {
	rest, ok := strings.CutPrefix(key, above)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// distinct returns the violations without those that follow from one of the first n, and without those of the same
// place in a file, which several sections may share.
func distinct(list []Violation, n int) []Violation {
	type key struct{ field, value, bound, where string }
	seen := map[key]bool{}
	var out []Violation
	for i, v := range list {
		if i >= n && slices.ContainsFunc(list[:n], v.follows) {
			continue
		}
		field := v.Field
		for _, section := range []string{"train.", "eval.", "predict."} {
			field = strings.TrimPrefix(field, section)
		}
		k := key{field, quote(v.Value), v.Bound, v.Where}
		if v.Where == "" || !seen[k] {
			out = append(out, v)
		}
		seen[k] = true
	}
	return out
}
