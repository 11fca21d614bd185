package rawrows_test

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/internal/testkit/rawrows"
)

func Example() {
	record := rapid.Custom(rawrows.Draw).Example(1)
	for _, f := range record.Schema().Fields() {
		fmt.Println(f.Name, f.Type)
	}
	// Output:
	// words list<item: binary, nullable>
	// weights list<item: float32, nullable>
	// word utf8
	// ids int32
	// x fixed_size_list<item: float64, nullable>[2]
}
