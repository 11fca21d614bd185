package eager_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
)

// A table maps words to ids; unknown words get the default.
func Example() {
	ctx, env := context.Background(), &eager.Env{Resources: eager.NewResources()}
	run := func(op string, attrs graph.Attrs, in ...eager.Value) []eager.Value {
		out, err := eager.Run(ctx, &graph.Node{Name: "n", Op: op, Attrs: attrs}, in, env)
		if err != nil {
			fmt.Println(err)
		}
		return out
	}
	words := func(s ...string) eager.Value {
		b := make([][]byte, len(s))
		for i := range s {
			b[i] = []byte(s[i])
		}
		t, _ := tensor.FromStrings(b, len(b))
		return eager.Value{T: t}
	}
	ids, _ := tensor.FromSlice([]int64{0, 1}, 2)

	table := run("HashTableV2", graph.Attrs{"key_dtype": tensor.String, "value_dtype": tensor.Int64, "shared_name": []byte("colors")})[0]
	run("LookupTableImportV2", nil, table, words("red", "blue"), eager.Value{T: ids})
	found := run("LookupTableFindV2", nil, table, words("blue", "green"), eager.Value{T: tensor.Scalar(int64(-1))})
	fmt.Println(tensor.Values[int64](found[0].T))
	// Output: [1 -1]
}
