package estimator

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/goestimator/goestimator/export"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/graph"
	"github.com/goestimator/goestimator/internal/graphdef"
	"github.com/goestimator/goestimator/models"
	"github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/protobuf/proto"
)

// WarmUpRequests makes requests to predict of the first n examples of an
// input_fn, one each, for a model that is exported with that serving input: see ExportWarmUp.
func (e *Estimator) WarmUpRequests(ctx context.Context, serving ServingInput, input InputFn, n int) (out []*apis_go_proto.PredictionLog, err error) {
	ds, err := input.Input(ctx, e.inputContext(models.Predict))
	if err != nil {
		return nil, fmt.Errorf("input_fn: %w", err)
	}
	it, err := ds.Iterate(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	w := warmUp{serving: serving, read: e.reads(ds.Schema())}
	if w.signature, err = e.predictSignature(serving); err != nil {
		return nil, err
	}
	for len(out) < n {
		rec, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		columns, err := inputs.Tensors(rec, ds.Schema())
		for row := 0; err == nil && row < int(rec.NumRows()) && len(out) < n; row++ {
			var r *apis_go_proto.PredictionLog
			if r, err = w.request(columns, row); err == nil {
				out = append(out, r)
			}
		}
		rec.Release()
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// reads tells which columns of the data an exported model is fed with.
func (e *Estimator) reads(s *inputs.Schema) map[string]bool {
	read := map[string]bool{}
	if plan := planOf(e.modelFn); plan != nil {
		if specs, err := plan.ExampleSpecs(); err == nil {
			for _, x := range specs {
				read[x.Key] = true
			}
		}
		return read
	}
	for _, c := range s.Columns() {
		read[c.Name] = c.Role == inputs.Feature
	}
	return read
}

// predictSignature is the name of a signature to predict.
func (e *Estimator) predictSignature(serving ServingInput) (string, error) {
	x := &exporting{est: e, serving: serving, options: exportOptions{steps: 1}}
	p, err := x.program(models.Predict)
	if err != nil {
		return "", err
	}
	all, err := p.signatures()
	for _, s := range all {
		if s.Kind == export.Predict {
			return s.Name, err
		}
	}
	return "", errors.Join(err, errors.New("the model has no signature to predict"))
}

// warmUp makes requests.
type warmUp struct {
	serving   ServingInput
	read      map[string]bool // columns of the data
	signature string
}

func (w *warmUp) request(columns []inputs.NamedTensor, row int) (*apis_go_proto.PredictionLog, error) {
	req := &apis_go_proto.PredictRequest{ModelSpec: &apis_go_proto.ModelSpec{SignatureName: w.signature}, Inputs: map[string]*tensor_go_proto.TensorProto{}}
	features := map[string]*example_protos_go_proto.Feature{}
	for _, c := range columns {
		if !w.read[c.Name] {
			continue
		}
		x := rowOf(c, row)
		features[c.Name] = exampleFeature(x)
		p, err := graphdef.ToTensorProto(x, true)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", c.Name, err)
		}
		req.Inputs[c.Name] = p
	}
	if w.serving.form == export.Parsing() {
		b, err := proto.Marshal(&example_protos_go_proto.Example{Features: &example_protos_go_proto.Features{Feature: features}})
		if err != nil {
			return nil, err
		}
		t, err := graph.StringTensor([][]byte{b}, 1)
		if err != nil {
			return nil, err
		}
		p, err := graphdef.ToTensorProto(t, false)
		if err != nil {
			return nil, err
		}
		req.Inputs = map[string]*tensor_go_proto.TensorProto{"examples": p}
	}
	log := &apis_go_proto.PredictionLog{LogType: &apis_go_proto.PredictionLog_PredictLog{PredictLog: &apis_go_proto.PredictLog{Request: req}}}
	return log, nil
}

// rowOf is an example of a column as a batch of one.
func rowOf(c inputs.NamedTensor, row int) *graph.Tensor {
	lo, hi := row, row+1
	shape := append([]int{1}, c.Tensor.Shape[1:]...)
	if c.Offsets != nil {
		lo, hi = int(c.Offsets[row]), int(c.Offsets[row+1])
		shape = []int{1, hi - lo}
	}
	each := 1
	for _, d := range c.Tensor.Shape[1:] {
		each *= d
	}
	x := &graph.Tensor{DType: c.Tensor.DType, Shape: shape}
	if x.DType == graph.String {
		x.Strings = c.Tensor.Strings[lo*each : hi*each]
		return x
	}
	size := each * x.DType.Size()
	x.Bytes = append([]byte(nil), c.Tensor.Bytes[lo*size:hi*size]...)
	return x
}

// exampleFeature is a tensor as a feature of a tf.train.Example.
func exampleFeature(x *graph.Tensor) *example_protos_go_proto.Feature {
	switch {
	case x.DType == graph.String:
		return &example_protos_go_proto.Feature{Kind: &example_protos_go_proto.Feature_BytesList{BytesList: &example_protos_go_proto.BytesList{Value: x.Strings}}}
	case x.DType.Float():
		l := &example_protos_go_proto.FloatList{Value: make([]float32, x.Len())}
		for i := range l.Value {
			l.Value[i] = float32(x.Float(i))
		}
		return &example_protos_go_proto.Feature{Kind: &example_protos_go_proto.Feature_FloatList{FloatList: l}}
	}
	l := &example_protos_go_proto.Int64List{Value: make([]int64, x.Len())}
	for i := range l.Value {
		l.Value[i] = int64(x.Float(i)) // exact up to 2^53, as a request needs
	}
	return &example_protos_go_proto.Feature{Kind: &example_protos_go_proto.Feature_Int64List{Int64List: l}}
}
