package tracing_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/serving/tracing"
)

// Without a collector, spans are dropped.
func Example() {
	ctx := context.Background()
	shutdown, err := tracing.Setup(ctx, tracing.Options{Service: "demo"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, end := tracing.Start(ctx, "run")
	end(nil)
	fmt.Println(shutdown(ctx))
	// Output: <nil>
}
