package tfexample_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/internal/format/tfexample"
)

// TestNames: every name is found at its index, and no other name is found.
func TestNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfDistinct(rapid.OneOf(rapid.StringN(0, 12, 20), rapid.StringMatching(`(long_)?prefix_[a-c]{0,3}`)), rapid.ID[string]).Draw(t, "names")
		names := tfexample.NewNames(list)
		for i, name := range list {
			if got := names.Find([]byte(name)); got != i {
				t.Fatalf("%q is at %d, expected %d", name, got, i)
			}
			if got := names.Find([]byte(name + "\x00absent")); got != -1 {
				t.Fatalf("an absent name is at %d", got)
			}
		}
	})
}

func ExampleNames() {
	names := tfexample.NewNames([]string{"age", "hours"})
	fmt.Println(names.Find([]byte("hours")), names.Find([]byte("sex")))
	// Output: 1 -1
}
