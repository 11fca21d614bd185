// Package client is a light client for model servers with TensorFlow Serving's gRPC protocol: this project's,
// or TensorFlow Serving itself. Inputs and outputs are plain Go slices.
//
//	c, err := client.Dial("localhost:8500", client.Options{})
//	p, err := c.Predict(ctx, client.Model{Name: "iris"}, client.Inputs{"x": [][]float32{{5.1, 3.5, 1.4, 0.2}}})
//	scores, err := client.Output[[][]float32](p, "scores")
//
// Generate streams text from a model such as one that Estimator.ExportGenerator exported.
//
// Errors of calls carry the server's gRPC status (google.golang.org/grpc/status.Code).
package client
