package splitmix_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/splitmix"
)

// A shuffle that depends only on a seed and an epoch.
func Example() {
	shuffled := func(seed, epoch uint64) string {
		s := splitmix.Source(splitmix.Mix(seed, epoch))
		letters := []byte("abcdef")
		for i := len(letters) - 1; i > 0; i-- {
			j := s.Intn(i + 1)
			letters[i], letters[j] = letters[j], letters[i]
		}
		return string(letters)
	}
	fmt.Println(shuffled(7, 0), shuffled(7, 1), shuffled(7, 0))
	// Output:
	// ebafcd fbdeac ebafcd
}
