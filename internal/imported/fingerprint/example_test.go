package fingerprint_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/imported/fingerprint"
)

// A categorical column with hash buckets takes the fingerprint modulo their number.
func Example() {
	fmt.Println(fingerprint.Hash64([]byte("red"))%100, fingerprint.Hash64(nil)%100)
	// Output: 10 63
}
