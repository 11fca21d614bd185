package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/protobuf/proto"

	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
)

// batchCases are the models that can be written as ONNX.
var batchCases = []string{"mlp", "cnn"}

// batchField compares a session on batches of 32, without a server, with ONNX Runtime,
// and with a server on one core that gets small or large requests.
func batchField(ctx context.Context, s settings, dir string) (field, error) {
	if err := giveServed(ctx, dir); err != nil {
		return field{}, err
	}
	exe, err := os.Executable()
	if err != nil {
		return field{}, err
	}
	load := func(name, how string, server ...string) contender {
		argv := append([]string{exe, "worker", "serving_batch_load", how, dir, exe, "worker", "serve", dir}, server...)
		return contender{name: name, argv: pinned(clientCore, argv...), threads: 1}
	}
	ort := s.peer("onnxruntime", "serving_onnx.py", dir)
	batching := []string{"--enable-batching", "--batching-parameters-file", "configs/serving_batching.config"}
	return field{check: &ort, tolerance: 1e-5, contenders: []contender{
		{name: ours, argv: []string{exe, "worker", "serving_batch", dir}}, ort,
		load("goestimator, server, 64 clients of 1, batching", "64", batching...),
		load("goestimator, server, 4 clients of 32", fmt.Sprintf("4x%d", servedBatch)),
	}}, nil
}

// loadServed loads an exported model.
func loadServed(ctx context.Context, dir, name string, o session.Options) (*session.Session, error) {
	versions, err := filepath.Glob(filepath.Join(dir, "models", name, "*"))
	if err != nil || len(versions) != 1 {
		return nil, fmt.Errorf("%s: expected one version, got %d (%v)", name, len(versions), err)
	}
	return session.Open(ctx, versions[0], o)
}

// sentTensors are the tensors in the Predict requests for a model.
func sentTensors(dir, name string, rows int) ([]*tensor.Tensor, error) {
	requests, err := readRequests(requestsFile(dir, name, rows))
	if err != nil {
		return nil, err
	}
	var out []*tensor.Tensor
	for _, b := range requests {
		r := &apis.PredictRequest{}
		if err := proto.Unmarshal(b, r); err != nil {
			return nil, err
		}
		t, err := graphdef.FromTensorProto(r.GetInputs()["x"])
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// inProcess runs a model on batches in turn, without a server.
type inProcess struct {
	model   servable.Model
	input   string
	fetches []string
	batches []*tensor.Tensor
	at      int
}

func newInProcess(dir, name string) (*inProcess, error) {
	m, err := loadServed(context.Background(), dir, name, session.Options{})
	if err != nil {
		return nil, err
	}
	sig := m.Signatures()["serving_default"]
	p := &inProcess{model: m, input: sig.GetInputs()["x"].GetName(), fetches: []string{sig.GetOutputs()["probabilities"].GetName()}}
	p.batches, err = sentTensors(dir, name, servedBatch)
	return p, err
}

func (p *inProcess) run() (*tensor.Tensor, error) {
	x := p.batches[p.at%len(p.batches)]
	p.at++
	out, err := p.model.Run(context.Background(), map[string]*tensor.Tensor{p.input: x}, p.fetches)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// batchWorker runs sessions in this process: bench worker serving_batch DIR.
func batchWorker(l *link, args []string) error {
	runtime.GOMAXPROCS(threads())
	models, values := map[string]*inProcess{}, map[string][]float64{}
	for _, name := range batchCases {
		p, err := newInProcess(args[0], name)
		if err != nil {
			return err
		}
		defer p.model.Close()
		first, err := p.run()
		if err != nil {
			return err
		}
		for _, v := range tensor.Values[float32](first) {
			values[name] = append(values[name], float64(v))
		}
		models[name] = p
	}
	return l.serve(reply{Values: values, Version: runtime.Version()}, func(c command) (reply, error) {
		before, begun := mallocs(), time.Now()
		for range c.steps {
			if _, err := models[c.name].run(); err != nil {
				return reply{}, err
			}
		}
		return reply{Seconds: time.Since(begun).Seconds(), Allocs: float64(mallocs()-before) / float64(c.steps)}, nil
	})
}

// batchLoadWorker sends a server requests that add up to batches of 32; a step is a batch:
// bench worker serving_batch_load CLIENTS[xROWS] DIR SERVER.
func batchLoadWorker(l *link, args []string) error {
	how, dir := args[0], args[1]
	srv, err := startServer(args[2:]...)
	if err != nil {
		return err
	}
	defer srv.stop()
	each := servedBatch // requests in each step
	if strings.Contains(how, "x") {
		each = 1
	}
	values, loads := map[string][]float64{}, map[string]*load{}
	for _, name := range batchCases {
		if loads[name], err = loadOf(srv.address, dir, name+"/"+how); err != nil {
			return err
		}
		defer loads[name].close()
		var scores []float64
		for _, r := range loads[name].requests[:each] {
			var answer []byte
			if err := loads[name].clients[0].call(r, &answer); err != nil {
				return err
			}
			v, err := scoresOf(name, answer)
			if err != nil {
				return err
			}
			scores = append(scores, v...)
		}
		values[name] = scores
	}
	return l.serve(reply{Values: values}, func(c command) (reply, error) {
		_, all, err := loads[c.name].run(c.steps * each)
		return reply{Seconds: all.Seconds()}, err
	})
}

// batchedPerSecond is the examples per second in a block.
func batchedPerSecond(_ string, steps int, r reply) float64 {
	return float64(servedBatch*steps) / r.Seconds
}
