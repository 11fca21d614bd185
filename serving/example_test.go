package serving_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/serving"
	"github.com/goestimator/goestimator/serving/client"
)

// A server in a custom program, on free ports.
func Example() {
	base, err := os.MkdirTemp("", "model")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(base)
	if err := os.Mkdir(filepath.Join(base, "1"), 0o755); err != nil {
		fmt.Println(err)
		return
	}
	s, err := serving.New(serving.Options{
		Loader: func(context.Context, string) (serving.Model, error) { return modeltest.New(), nil },
		Models: serving.Models{Config: serving.ModelDirs(map[string]string{"half_plus_two": base})},
		Listen: serving.Listen{Host: "127.0.0.1"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-s.Available()

	c, err := client.Dial(s.Addresses().GRPC, client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := c.Predict(ctx, client.Model{Name: "half_plus_two"}, client.Inputs{"x": []float32{1, 2, 5}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(client.Output[[]float32](p, "y"))
	fmt.Println(c.Close())
	stop()
	fmt.Println(<-ended)
	// Output:
	// [2.5 3 4.5] <nil>
	// <nil>
	// <nil>
}
