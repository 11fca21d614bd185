package features_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/platform/features"
)

// The parts that depend on build tags.
func ExampleList() {
	for _, f := range features.List() {
		fmt.Println(f.Name, f.Tag)
	}
	// Output:
	// s3 nobuckets
	// gcs gcs
	// azure azure
	// sqlite sqlite
	// serve noserve
	// gpu nogpu
	// trace notrace
}
