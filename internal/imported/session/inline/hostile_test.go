package inline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/imported/session/inline"
	"github.com/goestimator/goestimator/internal/testkit"
)

// TestLowerIsBounded: small graphs that would become large, or whose names would take long to find, are refused.
func TestLowerIsBounded(t *testing.T) {
	testkit.NotConcurrent(t)
	const many = 1000
	var circle, twins, results, arguments, calls strings.Builder
	for i := range many {
		fmt.Fprintf(&circle, `node { name: "c%d" op: "same" input: "c%d" }`, i, (i+1)%many)
		twins.WriteString(`node { name: "w" op: "same" input: "x" }`)
	}
	for i := range 3000 {
		fmt.Fprintf(&results, `output_arg { name: "r%d" type: DT_FLOAT } `, i)
		fmt.Fprintf(&arguments, `ret { key: "r%d" value: "a" } `, i)
		fmt.Fprintf(&calls, `node { name: "c%d" op: "wide" input: "x" }`, i)
	}
	const x = `node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } } `
	const same = `library { function { signature { name: "same" input_arg { name: "a" type: DT_FLOAT } output_arg { name: "r" type: DT_FLOAT } } ret { key: "r" value: "a" } } }`
	wide := `library { function { signature { name: "wide" input_arg { name: "a" type: DT_FLOAT } ` + results.String() + `} ` + arguments.String() + `} }`
	for name, c := range map[string]struct{ graph, text string }{
		"a circle of calls": {circle.String() + same, "contains a cycle"},
		"equal names":       {x + twins.String() + same, `two nodes "w"`},
		"many results":      {x + calls.String() + wide, "much larger than its file"},
		"in a function":     {x + `node { name: "c" op: "f" } library { function { signature { name: "f" output_arg { name: "r" type: DT_FLOAT } } node_def { name: "k" op: "Const" } node_def { name: "k" op: "Const" } ret { key: "r" value: "k:output:0" } } }`, `two nodes "k"`},
	} {
		if _, err := inline.Lower(parse(t, c.graph)); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v, expected %q", name, err, c.text)
		}
	}
}
