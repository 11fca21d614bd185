package looptest_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/clusterruntime/looptest"
	"pgregory.net/rapid"
)

func Example() {
	p := rapid.Custom(func(t *rapid.T) looptest.Program { return looptest.Draw(t, 3) }).Example(7)
	g := looptest.New()
	out := p.Build(g)
	fmt.Println(out.Node.Op, len(g.Nodes()), p.Result())
	// Output: Merge 24 -2
}
