package monitoring_test

import (
	"fmt"
	"time"

	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/monitoring"
	"github.com/goestimator/goestimator/internal/serving/servable"
)

// A registry observes an inference service.
func Example() {
	r := monitoring.New(nil)
	service := &inference.Service{Models: &servable.Memory{}, Observers: []inference.Observer{r}}
	_ = service // requests to it are counted
	r.Done(inference.Call{API: "Predict", Entrypoint: "GRPC", Model: "m", ID: servable.ID{Name: "m", Version: 1}, Latency: time.Millisecond})
	fmt.Println(r.Snapshot().Sum("/tensorflow/serving/request_count"))
	// Output: 1 true
}
