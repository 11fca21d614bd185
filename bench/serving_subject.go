package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/tensor"
)

// servedBatch is the number of rows in a large request.
const servedBatch = 32

// servingCases are MODEL/CLIENTS, with requests of one row.
var servingCases = []string{"mlp/1", "mlp/16", "mlp/64", "cnn/1", "cnn/16", "cnn/64", "wide_deep/1", "wide_deep/16", "wide_deep/64"}

// servingField compares goestimator serve, by default and with batching, with
// TensorFlow behind a Python server. TensorFlow's responses are the reference.
func servingField(ctx context.Context, s settings, dir string) (field, error) {
	if err := giveServed(ctx, dir); err != nil {
		return field{}, err
	}
	exe, err := os.Executable()
	if err != nil {
		return field{}, err
	}
	load := func(name string, server ...string) contender {
		return contender{name: name, argv: pinned(clientCore, append([]string{exe, "worker", "serving", dir}, server...)...)}
	}
	tf := load("TensorFlow, Python server", s.python, filepath.Join("bench", "peers", "serving.py"), dir)
	f := field{check: &tf, tolerance: 1e-5, contenders: []contender{
		load(ours, exe, "worker", "serve", dir),
		load("goestimator, batching", exe, "worker", "serve", dir, "--enable-batching", "--batching-parameters-file", "configs/serving_batching.config"),
		tf,
	}}
	return f, nil
}

// servingWorker starts a server and sends it requests: bench worker serving DIR SERVER.
func servingWorker(l *link, args []string) error {
	dir := args[0]
	srv, err := startServer(args[1:]...)
	if err != nil {
		return err
	}
	defer srv.stop()
	values, err := answers(srv.address, dir)
	if err != nil {
		return err
	}
	version := srv.version
	if version == "" {
		version = runtime.Version()
	}
	loads := map[string]*load{}
	defer func() {
		for _, x := range loads {
			x.close()
		}
	}()
	return l.serve(reply{Values: values, Version: version}, func(c command) (reply, error) {
		x := loads[c.name]
		if x == nil {
			if x, err = loadOf(srv.address, dir, c.name); err != nil {
				return reply{}, err
			}
			loads[c.name] = x
		}
		before, _ := srv.cpu()
		took, all, err := x.run(c.steps)
		if err != nil {
			return reply{}, err
		}
		after, ok := srv.cpu()
		more := map[string]float64{"p50 ms": quantile(took, 0.5).Seconds() * 1e3, "p99 ms": quantile(took, 0.99).Seconds() * 1e3}
		if ok {
			more["server CPU us"] = (after - before) / float64(c.steps) * 1e6
		}
		return reply{Seconds: all.Seconds(), More: more}, nil
	})
}

// loadOf is the load for MODEL/CLIENTS, or for MODEL/CLIENTSxROWS.
func loadOf(address, dir, name string) (*load, error) {
	model, how, _ := strings.Cut(name, "/")
	clients, size, large := strings.Cut(how, "x")
	if !large {
		size = "1"
	}
	n, err1 := strconv.Atoi(clients)
	rows, err2 := strconv.Atoi(size)
	if err1 != nil || err2 != nil {
		return nil, fmt.Errorf("case %q: expected MODEL/CLIENTS or MODEL/CLIENTSxROWS", name)
	}
	requests, err := readRequests(requestsFile(dir, model, rows))
	if err != nil {
		return nil, err
	}
	return newLoad(address, methodOf(model), n, requests)
}

func methodOf(model string) string {
	if model == "wide_deep" {
		return "/tensorflow.serving.PredictionService/Classify"
	}
	return "/tensorflow.serving.PredictionService/Predict"
}

// answers are a server's responses to the first requests of every case.
func answers(address, dir string) (map[string][]float64, error) {
	values := map[string][]float64{}
	for _, model := range servedModels {
		c, err := newCaller(address, methodOf(model))
		if err != nil {
			return nil, err
		}
		defer c.conn.Close()
		requests, err := readRequests(requestsFile(dir, model, 1))
		if err != nil {
			return nil, err
		}
		var all []float64
		for _, r := range requests[:8] {
			var answer []byte
			if err := c.call(r, &answer); err != nil {
				return nil, fmt.Errorf("%s: %w", model, err)
			}
			v, err := scoresOf(model, answer)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", model, err)
			}
			all = append(all, v...)
		}
		for _, name := range servingCases {
			if strings.HasPrefix(name, model+"/") {
				values[name] = all
			}
		}
	}
	return values, nil
}

// scoresOf parses the probabilities in a response.
func scoresOf(model string, answer []byte) ([]float64, error) {
	var out []float64
	if model == "wide_deep" {
		r := &apis.ClassificationResponse{}
		if err := proto.Unmarshal(answer, r); err != nil {
			return nil, err
		}
		for _, row := range r.GetResult().GetClassifications() {
			for _, class := range row.GetClasses() {
				out = append(out, float64(class.GetScore()))
			}
		}
		return out, nil
	}
	r := &apis.PredictResponse{}
	if err := proto.Unmarshal(answer, r); err != nil {
		return nil, err
	}
	t, err := graphdef.FromTensorProto(r.GetOutputs()["probabilities"])
	if err != nil {
		return nil, err
	}
	for _, v := range tensor.Values[float32](t) {
		out = append(out, float64(v))
	}
	return out, nil
}

// requestsPerSecond is the requests per second in a block.
func requestsPerSecond(_ string, steps int, r reply) float64 {
	return float64(steps) / r.Seconds
}
