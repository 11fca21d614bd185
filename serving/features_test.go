package serving

import (
	"net/http"
	"strings"
	"testing"

	"path/filepath"

	"github.com/goestimator/goestimator/internal/serving/manager"
	"github.com/goestimator/goestimator/internal/testkit"
)

// TestFeatures: metadata and the page describe the features of a parsing signature, and 8 is a float if the feature is one, batched or not.
func TestFeatures(t *testing.T) {
	golden := testkit.Shared(t, "golden/tensorflow-serving/saved_model_half_plus_two_cpu")
	models := Models{Config: manager.Single(map[string]string{"m": filepath.Clean(golden)})}
	for _, o := range []Options{{}, {Batching: &Batching{BatchingParameters: DefaultBatching()}, Overload: &Overload{}}} {
		o.Loader, o.Models = SavedModels(SavedModelOptions{}), models
		s := run(t, o).wait(t)
		at := "http://" + s.Addresses().REST
		for _, eight := range []string{"8", "8.0", "[8]"} {
			got := do(t, http.MethodPost, at+"/v1/models/m:regress", `{"signature_name": "regress_x_to_y", "examples": [{"x": `+eight+`}]}`)
			if !strings.HasPrefix(got, "200") || !strings.Contains(got, "[6.0") {
				t.Errorf("%s: got %s", eight, got)
			}
		}
		metadata := get(t, at+"/v1/models/m/metadata")
		flat := strings.Join(strings.Fields(metadata), " ")
		if !strings.Contains(flat, `"features": {`) || !strings.Contains(flat, `"regress_x_to_y": [ { "name": "x", "dtype": "float", "shape": [1]`) {
			t.Errorf("metadata: got %s", metadata)
		}
		if page := get(t, at+"/page/signatures.json?model=m"); !strings.Contains(page, "feature x: float32 [1]") {
			t.Errorf("page: got %s", page)
		}
	}
}
