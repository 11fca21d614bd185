package client_test

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

func Example() {
	// A server with a model in memory; elsewhere this is another process.
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
	defer func() { _ = c.Close() }()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()

	p, err := c.Predict(ctx, client.Model{Name: "m", Signature: "two"}, client.Inputs{"a": []float32{1, 2}, "b": []float32{3, 4}}, "sum")
	if err != nil {
		fmt.Println(err)
		return
	}
	sum, err := client.Output[[]float32](p, "sum")
	fmt.Println(sum, p.Version, err)

	rows, err := c.Classify(ctx, client.Model{Name: "m", Signature: "classify"}, client.Example{"age": 7})
	fmt.Println(rows, err)
	// Output:
	// [4 6] 2 <nil>
	// [[{long 16} {short 0.5}]] <nil>
}
