package warmup_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/serving/warmup"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
)

// Records are stored with the model and replayed when it is loaded.
func Example() {
	x := &tensor_go_proto.TensorProto{Dtype: types_go_proto.DataType_DT_FLOAT, FloatVal: []float32{1}}
	file, err := warmup.Encode(&apis.PredictionLog{LogType: &apis.PredictionLog_PredictLog{PredictLog: &apis.PredictLog{
		Request: &apis.PredictRequest{Inputs: map[string]*tensor_go_proto.TensorProto{"x": x}}}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "model")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, filepath.FromSlash(warmup.File))
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
		fmt.Println(err)
		return
	}
	if err := os.WriteFile(path, file, 0o644); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(warmup.Run(context.Background(), modeltest.New(), servable.ID{Name: "m", Version: 1}, dir, warmup.Options{Iterations: 2}))
	// Output: <nil>
}
