package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
	ex "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/protobuf/proto"
)

// servedModels are exported to <dir>/<name>/<version>. The first two take a raw
// tensor in Predict requests, the last takes tf.Examples in Classify requests.
var servedModels = []string{"mlp", "cnn", "wide_deep"}

// servedRequests is the number of different requests for a model.
const servedRequests = 64

// giveServed exports the models and writes requests for them.
func giveServed(ctx context.Context, dir string) error {
	for _, name := range servedModels {
		give := giveImages
		if name == "wide_deep" {
			give = giveAdult
		}
		if err := give(ctx, dir, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// giveImages exports a network for images, and requests with 1 and 32 rows.
func giveImages(ctx context.Context, dir, name string) error {
	w := workloads[name]
	from := filepath.Join(dir, "given", name)
	g, err := w.give(ctx, from)
	if err != nil {
		return err
	}
	x, err := g.get("x")
	if err != nil {
		return err
	}
	y, err := g.get("y")
	if err != nil {
		return err
	}
	e, err := w.estimator(estimator.WithModelDir(filepath.Join(from, "weights")))
	if err != nil {
		return err
	}
	columns, err := e.ServingColumns(ctx, w.input(x, y, w.batch))
	if err != nil {
		return err
	}
	if _, err := e.ExportSavedModel(ctx, filepath.Join(dir, "models", name), estimator.RawServingInput(columns...)); err != nil {
		return err
	}
	if _, err := e.ExportONNX(ctx, filepath.Join(dir, "onnx", name), estimator.RawServingInput(columns...)); err != nil {
		return err
	}
	for _, rows := range []int{1, servedBatch} {
		var list [][]byte
		for i := range servedRequests {
			at := i * rows % (x.Shape[0] - rows)
			t := rowsOf(x, at, at+rows)
			r, err := predictRequest(name, t)
			if err != nil {
				return err
			}
			list = append(list, r)
		}
		if err := writeRequests(requestsFile(dir, name, rows), list); err != nil {
			return err
		}
	}
	return nil
}

// predictRequest is a PredictRequest with a tensor, encoded as by Python clients.
func predictRequest(model string, t *tensor.Tensor) ([]byte, error) {
	p, err := graphdef.ToTensorProto(t, true)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(&apis.PredictRequest{ModelSpec: &apis.ModelSpec{Name: model}, Inputs: map[string]*tensor_go_proto.TensorProto{"x": p}})
}

// rowsOf is a part of a dense tensor, sharing its memory.
func rowsOf(t *tensor.Tensor, from, to int) *tensor.Tensor {
	size := len(t.Bytes) / t.Shape[0]
	return &tensor.Tensor{DType: t.DType, Shape: append([]int{to - from}, t.Shape[1:]...), Bytes: t.Bytes[from*size : to*size]}
}

// giveAdult exports the wide and deep model after a few steps, and rows of Adult.
func giveAdult(ctx context.Context, dir, name string) error {
	saving, err := runconfig.New(runconfig.SaveCheckpointsSteps(100))
	if err != nil {
		return err
	}
	e, err := workload{model: wideDeepModel}.estimator(estimator.WithModelDir(filepath.Join(dir, "given", name)), estimator.WithRunConfig(saving))
	if err != nil {
		return err
	}
	if _, err := e.Train(ctx, adultInput(), estimator.MaxSteps(20)); err != nil {
		return err
	}
	columns, err := e.ServingColumns(ctx, adultInput())
	if err != nil {
		return err
	}
	if _, err := e.ExportSavedModel(ctx, filepath.Join(dir, "models", name), estimator.ParsingServingInput(columns...)); err != nil {
		return err
	}
	rows, err := adultExamples(ctx)
	if err != nil {
		return err
	}
	for _, n := range []int{1, servedBatch} {
		var list [][]byte
		for i := range servedRequests {
			at := i * n % (len(rows) - n + 1)
			r, err := proto.Marshal(&apis.ClassificationRequest{ModelSpec: &apis.ModelSpec{Name: name},
				Input: &apis.Input{Kind: &apis.Input_ExampleList{ExampleList: &apis.ExampleList{Examples: rows[at : at+n]}}}})
			if err != nil {
				return err
			}
			list = append(list, r)
		}
		if err := writeRequests(requestsFile(dir, name, n), list); err != nil {
			return err
		}
	}
	return nil
}

// adultExamples is the first batch of Adult, as tf.Examples.
func adultExamples(ctx context.Context) ([]*ex.Example, error) {
	ds, err := adultInput().Input(ctx, inputs.Context{Mode: inputs.Predict})
	if err != nil {
		return nil, err
	}
	it, err := ds.Iterate(ctx)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	rec, err := it.Next(ctx)
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	rows := make([]*ex.Example, rec.NumRows())
	for i := range rows {
		features := map[string]*ex.Feature{}
		for k, c := range rec.Columns() {
			f := &ex.Feature{}
			switch c := c.(type) {
			case *array.Float32:
				f.Kind = &ex.Feature_FloatList{FloatList: &ex.FloatList{Value: []float32{c.Value(i)}}}
			case *array.Binary:
				f.Kind = &ex.Feature_BytesList{BytesList: &ex.BytesList{Value: [][]byte{bytes.Clone(c.Value(i))}}}
			case *array.String:
				f.Kind = &ex.Feature_BytesList{BytesList: &ex.BytesList{Value: [][]byte{[]byte(c.Value(i))}}}
			default: // the label
				continue
			}
			features[rec.ColumnName(k)] = f
		}
		rows[i] = &ex.Example{Features: &ex.Features{Feature: features}}
	}
	return rows, nil
}

func requestsFile(dir, name string, rows int) string {
	return filepath.Join(dir, fmt.Sprintf("%s-%d.requests", name, rows))
}

// writeRequests writes messages, each preceded by its length.
func writeRequests(path string, list [][]byte) error {
	var out []byte
	for _, b := range list {
		out = append(binary.LittleEndian.AppendUint32(out, uint32(len(b))), b...)
	}
	return os.WriteFile(path, out, 0o644)
}

// readRequests reads what writeRequests wrote.
func readRequests(path string) ([][]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for len(b) > 0 {
		if len(b) < 4 || uint64(len(b)-4) < uint64(binary.LittleEndian.Uint32(b)) {
			return nil, fmt.Errorf("%s: %w", path, io.ErrUnexpectedEOF)
		}
		n := binary.LittleEndian.Uint32(b)
		out, b = append(out, b[4:4+n]), b[4+n:]
	}
	return out, nil
}
