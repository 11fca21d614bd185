package interop_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// alsoCalled maps output names of signatures to the other names that an estimator's predictions use.
var alsoCalled = map[string][]string{"scores": {"probabilities"}, "outputs": {"logistic", "predictions"}}

// TestOwnExports loads exports of estimators and compares with their predictions, as
// TestExportsAreServed does with TensorFlow.
func TestOwnExports(t *testing.T) {
	all, recurrent := chosen(cannedCases()), chosen(rnnCases())
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		all, recurrent = all[:min(len(all), 2)], recurrent[:min(len(recurrent), 1)]
	}
	for _, c := range slices.Concat(all, recurrent, chosen(stepCases())) {
		t.Run(c.Name, func(t *testing.T) {
			for _, s := range exportCanned(t, filepath.Join(t.TempDir(), c.Name), c) {
				t.Run(filepath.Base(filepath.Dir(s.Model)), func(t *testing.T) { compareExport(t, s) })
			}
		})
	}
}

func compareExport(t *testing.T, s servedCase) {
	t.Helper()
	m := served(t, s.Model)
	given, want := load(t, s.Feeds), load(t, s.Want)
	for key, sig := range m.Signatures() {
		feeds := map[string]*tensor.Tensor{}
		for alias, info := range sig.GetInputs() {
			feeds[info.GetName()] = fitted(given[alias], info)
		}
		for alias, info := range sig.GetOutputs() {
			got, err := m.Run(context.Background(), feeds, []string{info.GetName()})
			if err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			names := append([]string{alias}, alsoCalled[alias]...)
			switch {
			case alias == "classes" && strings.HasSuffix(sig.GetMethodName(), "classify"):
				names = []string{"all_classes", "classes"}
			case alias == "output":
				names = []string{key, "cluster_index"}
			}
			i := slices.IndexFunc(names, func(n string) bool { return want[n] != nil })
			if i < 0 {
				t.Fatalf("%s: no prediction for %s", key, alias)
			}
			alike(t, key+"/"+alias, got[0], want[names[i]])
		}
	}
}

// fitted adds the dimension for its single value to a raw feature that does not have
// it.
func fitted(x *tensor.Tensor, info *pb.TensorInfo) *tensor.Tensor {
	if x == nil || len(info.GetTensorShape().GetDim()) != 2 || len(x.Shape) != 1 {
		return x
	}
	return &tensor.Tensor{DType: x.DType, Shape: []int{x.Shape[0], 1}, Bytes: x.Bytes, Strings: x.Strings}
}
