package serving

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/serving/manager"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/serving/client"
)

// TestVersionWithoutVariables: a version without its variables does not replace the previous one.
func TestVersionWithoutVariables(t *testing.T) {
	golden := testkit.Shared(t, "golden/tensorflow-serving/saved_model_half_plus_two_cpu/00000123")
	base := filepath.Join(t.TempDir(), "m")
	if err := os.CopyFS(filepath.Join(base, "1"), os.DirFS(golden)); err != nil {
		t.Fatal(err)
	}
	s := run(t, Options{
		Loader: SavedModels(SavedModelOptions{}), Models: Models{Config: manager.Single(map[string]string{"m": base})}, Listen: Listen{REST: -1},
	}).wait(t)

	if err := os.CopyFS(filepath.Join(base, "2"), os.DirFS(golden)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(base, "2", "variables")); err != nil {
		t.Fatal(err)
	}
	versions := s.models.Status("m")
	for limit := time.Now().Add(waitLimit); versions[0].State != servable.End && time.Now().Before(limit); versions = s.models.Status("m") {
		if err := s.Reload(testContext(t), s.models.Config()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	if len(versions) != 2 || versions[1].State != servable.Available || !strings.Contains(versions[0].Err.Error(), "a, a2, b, c, c2") {
		t.Fatalf("got %+v", versions)
	}
	p, err := dial(t, s.Addresses().GRPC).Predict(context.Background(), client.Model{Name: "m"}, client.Inputs{"x": []float32{2}})
	if err != nil || p.Version != 1 {
		t.Fatalf("got %+v, %v", p, err)
	}
}
