package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
)

// quantizedCases are MODEL-FORM/BATCH: networks in float32, and the output of ONNX Runtime's quantizer for them.
var quantizedCases = []string{"mlp-float/1", "mlp-dynamic/1", "mlp-qoperator/1", "mlp-qdq/1", "mlp-float/32", "mlp-dynamic/32", "mlp-qoperator/32", "mlp-qdq/32",
	"resnet50-float/1", "resnet50-qoperator/1", "resnet50-qdq/1", "bert-float/1", "bert-dynamic/1"}

// quantizedField makes the models in dir, and compares with ONNX Runtime.
func quantizedField(ctx context.Context, s settings, dir string) (field, error) {
	ort := s.peer("onnxruntime", "quantized.py", append([]string{dir, "run"}, quantizedCases...)...)
	make := exec.CommandContext(ctx, ort.argv[0], ort.argv[1], dir, "make")
	if out, err := make.CombinedOutput(); err != nil {
		return field{}, fmt.Errorf("quantize models: %w: %s", err, lastLines(string(out), 3))
	}
	argv, err := self("quantized", append([]string{dir}, quantizedCases...)...)
	// One step of ResNet-50's last quantization is 0.66.
	return field{check: &ort, tolerance: 0.7, contenders: []contender{{name: ours, argv: argv}, ort}}, err
}

// quantizedWorker runs ONNX models in this process: bench worker quantized DIR CASE...
func quantizedWorker(l *link, args []string) error {
	runtime.GOMAXPROCS(max(threads(), 1))
	models, values := map[string]*quantizedModel{}, map[string][]float64{}
	for _, name := range args[1:] {
		m, err := openQuantized(args[0], name)
		if err != nil {
			return err
		}
		defer m.model.Close()
		y, err := m.run()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, v := range tensor.Values[float32](y)[:min(y.Len(), 1000)] {
			values[name] = append(values[name], float64(v))
		}
		models[name] = m
	}
	debug.FreeOSMemory()
	resident := map[string]float64{"MB resident": float64(residentKB()) / 1024}
	return l.serve(reply{Values: values, Version: runtime.Version(), More: resident}, func(c command) (reply, error) {
		begun := time.Now()
		for range c.steps {
			if _, err := models[c.name].run(); err != nil {
				return reply{}, err
			}
		}
		return reply{Seconds: time.Since(begun).Seconds()}, nil
	})
}

// quantizedModel is a model with one input and one output, and its feeds.
type quantizedModel struct {
	model   servable.Model
	feeds   map[string]*tensor.Tensor
	fetches []string
}

func openQuantized(dir, name string) (*quantizedModel, error) {
	folder, size, _ := strings.Cut(name, "/")
	batch, err := strconv.Atoi(size)
	if err != nil {
		return nil, fmt.Errorf("case %q: expected MODEL-FORM/BATCH", name)
	}
	m := &quantizedModel{feeds: map[string]*tensor.Tensor{}}
	if m.model, err = session.Open(context.Background(), filepath.Join(dir, folder, "1"), session.Options{}); err != nil {
		return nil, err
	}
	model, _, _ := strings.Cut(folder, "-")
	rows, err := os.ReadFile(filepath.Join(dir, model+".bin"))
	if err != nil {
		return nil, err
	}
	sig := m.model.Signatures()["serving_default"]
	for _, in := range sig.GetInputs() {
		shape := []int{batch}
		for _, d := range in.GetTensorShape().GetDim()[1:] {
			shape = append(shape, int(d.GetSize()))
		}
		x := tensor.New(tensor.Float32, shape...)
		if copy(x.Bytes, rows) < len(x.Bytes) {
			return nil, fmt.Errorf("%s.bin has fewer than %d rows", model, batch)
		}
		m.feeds[in.GetName()] = x
	}
	for _, out := range sig.GetOutputs() {
		m.fetches = append(m.fetches, out.GetName())
	}
	return m, nil
}

func (m *quantizedModel) run() (*tensor.Tensor, error) {
	out, err := m.model.Run(context.Background(), m.feeds, m.fetches)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}
