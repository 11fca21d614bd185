package estimator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/export"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/protobuf/proto"
)

// WarmUpRequests returns a predict request for each of the first n examples of an
// input_fn, for ExportWarmUp of a model that is exported with that serving input.
func (e *Estimator) WarmUpRequests(ctx context.Context, serving ServingInput, input InputFn, n int) (out []*apis_go_proto.PredictionLog, err error) {
	open := e.openInput
	if planOf(e.modelFn) != nil {
		open = e.callInput // the exported model has the feature columns in it
	}
	ds, err := open(ctx, input, models.Predict)
	if err != nil {
		return nil, err
	}
	it, err := ds.Iterate(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	w := warmUp{serving: serving, read: map[string]bool{}}
	if err := w.describe(e); err != nil {
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

// warmUp makes requests.
type warmUp struct {
	serving   ServingInput
	read      map[string]bool // columns of the data
	signature string
}

// describe sets the inputs of the exported model, and the name of the signature to request.
func (w *warmUp) describe(e *Estimator) error {
	x := &exporting{est: e, serving: w.serving, options: exportOptions{steps: 1}}
	p, err := x.program(models.Predict)
	if err != nil {
		return err
	}
	g, err := x.describe(p)
	if err != nil {
		return err
	}
	for _, f := range g.Feeds {
		w.read[f.Column.Name] = true
	}
	if g.Columns != nil {
		specs, err := g.Columns.ExampleSpecs()
		if err != nil {
			return err
		}
		for _, s := range specs {
			w.read[s.Key] = true
		}
	}
	i := slices.IndexFunc(g.Signatures, func(s export.Signature) bool { return s.Kind == export.Predict })
	if i < 0 {
		return errors.New("the model has no signature to predict")
	}
	w.signature = g.Signatures[i].Name
	return nil
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
		t, err := tensor.FromStrings([][]byte{b}, 1)
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

// rowOf returns one example of a column as a batch of one.
func rowOf(c inputs.NamedTensor, row int) *tensor.Tensor {
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
	x := &tensor.Tensor{DType: c.Tensor.DType, Shape: shape}
	if x.DType == tensor.String {
		x.Strings = c.Tensor.Strings[lo*each : hi*each]
		return x
	}
	size := each * x.DType.Size()
	x.Bytes = append([]byte(nil), c.Tensor.Bytes[lo*size:hi*size]...)
	return x
}

// exampleFeature returns a tensor as a feature of a tf.train.Example.
func exampleFeature(x *tensor.Tensor) *example_protos_go_proto.Feature {
	switch {
	case x.DType == tensor.String:
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
		l.Value[i] = x.Int(i)
	}
	return &example_protos_go_proto.Feature{Kind: &example_protos_go_proto.Feature_Int64List{Int64List: l}}
}
