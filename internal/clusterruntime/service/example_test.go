package service_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
)

func Example() {
	worker := service.Local{service.Bind("RegisterGraph", func(context.Context, *rpcs.RegisterGraphRequest) (*rpcs.RegisterGraphResponse, error) {
		return &rpcs.RegisterGraphResponse{GraphHandle: "1"}, nil
	})}
	out, err := service.Ask[rpcs.RegisterGraphResponse](context.Background(), worker, "RegisterGraph", &rpcs.RegisterGraphRequest{})
	fmt.Println(out.GetGraphHandle(), err)
	// Output: 1 <nil>
}
