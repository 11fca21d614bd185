package serving

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/serving/client"
)

// TestPerModelBatching: with parameters per model, only versions that have some are batched, as in TensorFlow Serving.
func TestPerModelBatching(t *testing.T) {
	root := folders(t, "batched/1", "alone/1")
	if err := os.WriteFile(filepath.Join(root, "batched/1/batching_params.pbtxt"), []byte("max_batch_size { value: 2 }"), 0o644); err != nil {
		t.Fatal(err)
	}
	b := Batching{BatchingParameters: DefaultBatching(), PerModel: true}
	b.MaxBatchSize = 1
	s := run(t, Options{Models: single(root, "batched", "alone"), Batching: &b}).wait(t)
	c := dial(t, s.Addresses().GRPC)
	for name, rows := range map[string]int{"batched": 2, "alone": 3} { // the server's parameters allow one
		if _, err := c.Predict(testContext(t), client.Model{Name: name}, client.Inputs{"x": make([]float32, rows)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n, _ := s.registry.Snapshot().Sum("goestimator_batching_requests_total"); n != 1 {
		t.Errorf("%v requests in batches, expected 1", n)
	}
	if _, err := c.Predict(testContext(t), client.Model{Name: "batched"}, client.Inputs{"x": make([]float32, 3)}); err == nil {
		t.Error("a request above max_batch_size was answered")
	}
}
