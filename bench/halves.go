package main

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/runtime/convert"
	"github.com/goestimator/goestimator/tensor"
)

// halfCases are MODEL_TYPE/BATCH: SavedModels that bench/peers/halves.py makes with Keras' mixed precision policies, and an ONNX model.
var halfCases = []string{
	"mlp_float32/1", "mlp_bfloat16/1", "mlp_float16/1", "mlp_float32/32", "mlp_bfloat16/32", "mlp_float16/32",
	"cnn_float32/1", "cnn_bfloat16/1", "cnn_float16/1", "cnn_float32/32", "cnn_bfloat16/32", "cnn_float16/32",
	"attention_float32/1", "attention_bfloat16/1", "encoder_float32/1", "encoder_float16/1",
}

// halfShapes are the shapes of one example.
var halfShapes = map[string][]int{"mlp": {1024}, "cnn": {32, 32, 3}, "encoder": {128, 512}, "attention": {128, 512}}

// halvesField compares models in 16 bits with the same models in float32, and with TensorFlow or, for the encoder, ONNX Runtime.
func halvesField(ctx context.Context, s settings, dir string) (field, error) {
	script := filepath.Join("bench", "peers", "halves.py")
	if out, err := exec.CommandContext(ctx, s.python, script, dir, "make").CombinedOutput(); err != nil {
		return field{}, fmt.Errorf("make models: %w: %s", err, out)
	}
	argv, err := self("halves", dir)
	peer := s.peer("TensorFlow, ONNX Runtime", "halves.py", append([]string{dir, "run"}, halfCases...)...)
	return field{check: &peer, tolerance: 5e-2, contenders: []contender{{name: ours, argv: argv}, peer}}, err
}

// halfModel is a model and a request.
type halfModel struct {
	model   *session.Session
	feeds   map[string]*tensor.Tensor
	fetches []string
}

// newHalfModel opens MODEL_TYPE/BATCH.
func newHalfModel(dir, name string) (*halfModel, error) {
	folder, size, _ := strings.Cut(name, "/")
	kind, _, _ := strings.Cut(folder, "_")
	batch, err := strconv.Atoi(size)
	if err != nil {
		return nil, fmt.Errorf("case %q: expected MODEL_TYPE/BATCH", name)
	}
	s, err := session.Open(context.Background(), filepath.Join(dir, folder, "1"), session.Options{})
	if err != nil {
		return nil, err
	}
	x := tensor.New(tensor.Float32, append([]int{batch}, halfShapes[kind]...)...)
	for i := range tensor.Values[float32](x) {
		tensor.Values[float32](x)[i] = float32(i%251)/251 - 0.5
	}
	m := &halfModel{model: s, feeds: map[string]*tensor.Tensor{}}
	sig := s.Signatures()["serving_default"]
	for _, in := range sig.GetInputs() {
		if tensor.DType(in.GetDtype()) == tensor.Float16 {
			narrow := tensor.New(tensor.Float16, x.Shape...)
			convert.Between(tensor.Float32, tensor.Float16)(narrow.Bytes, x.Bytes)
			x = narrow
		}
		m.feeds[in.GetName()] = x
	}
	for _, out := range sig.GetOutputs() {
		m.fetches = append(m.fetches, out.GetName())
	}
	return m, nil
}

func (m *halfModel) run() (*tensor.Tensor, error) {
	out, err := m.model.Run(context.Background(), m.feeds, m.fetches)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// halvesWorker runs the models in this process: bench worker halves DIR.
func halvesWorker(l *link, args []string) error {
	runtime.GOMAXPROCS(threads())
	models, values := map[string]*halfModel{}, map[string][]float64{}
	defer func() {
		for m := range maps.Values(models) {
			_ = m.model.Close()
		}
	}()
	for _, name := range halfCases {
		m, err := newHalfModel(args[0], name)
		if err != nil {
			return err
		}
		models[name] = m
		y, err := m.run()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for i := range min(y.Len(), 64) {
			values[name] = append(values[name], y.Float(i))
		}
	}
	return l.serve(reply{Values: values, Version: runtime.Version()}, func(c command) (reply, error) {
		m := models[c.name]
		if m == nil {
			return reply{}, fmt.Errorf("case %q: expected one of %v", c.name, slices.Sorted(maps.Keys(models)))
		}
		before, begun := mallocs(), time.Now()
		for range c.steps {
			if _, err := m.run(); err != nil {
				return reply{}, err
			}
		}
		return reply{Seconds: time.Since(begun).Seconds(), Allocs: float64(mallocs()-before) / float64(c.steps)}, nil
	})
}
