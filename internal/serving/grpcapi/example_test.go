package grpcapi_test

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/goestimator/goestimator/internal/serving/grpcapi"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/serving/client"
	"google.golang.org/grpc"
)

// A server with a model in memory, and a call.
func Example() {
	models := modeltest.Source()
	s := grpc.NewServer(grpcapi.Options(grpcapi.Limits{})...)
	grpcapi.Register(s, &inference.Service{Models: models}, &grpcapi.Models{Catalog: models})
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { _ = s.Serve(lis) }()
	defer s.Stop()

	c, err := client.Dial(lis.Addr().String(), client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	p, err := c.Predict(ctx, client.Model{Name: "m"}, client.Inputs{"x": []float32{1, 2, 5}})
	if err != nil {
		fmt.Println(err)
		return
	}
	y, err := client.Output[[]float32](p, "y")
	fmt.Println(y, p.Version, err)
	// Output: [2.5 3 4.5] 2 <nil>
}
