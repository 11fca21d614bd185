package config

import (
	"slices"
	"strings"

	"github.com/goestimator/goestimator/runconfig/violation"
)

// problems collects what is wrong in the sources of a config, then what is wrong in
// the values that they lead to.
type problems struct {
	violation.List
	meant map[string]string // the key that each unknown one is taken for
}

// follows reports whether a rule fails only because of a violation that a source of values has: of the same key, of one
// above or below it, or of one that it was taken for.
func (p *problems) follows(v, source violation.Violation) bool {
	meant := p.meant[source.Field]
	return source.Field != "" && (violation.Within(v.Field, source.Field) || violation.Within(source.Field, v.Field)) || meant != "" && violation.Within(meant, v.Field)
}

// distinct removes what follows from one of the first n violations, and repetitions of one
// place in a file, which several sections may share.
func (p *problems) distinct(n int) {
	type key struct{ field, value, bound, where string }
	seen := map[key]bool{}
	var out []violation.Violation
	for i, v := range p.Found {
		if i >= n && slices.ContainsFunc(p.Found[:n], func(source violation.Violation) bool { return p.follows(v, source) }) {
			continue
		}
		field := v.Field
		for _, section := range []string{"train.", "eval.", "predict."} {
			field = strings.TrimPrefix(field, section)
		}
		k := key{field, violation.Quote(v.Value), v.Bound, v.Where}
		if v.Where == "" || !seen[k] {
			out = append(out, v)
		}
		seen[k] = true
	}
	p.Found = out
}
