package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/serving"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// fixedTime is the duration of a run of the subject's model, which does one run at a time.
const fixedTime = 5 * time.Millisecond

// overloadCases are the load relative to the server's capacity; "alone" is one
// client that waits for each response.
var overloadCases = []string{"alone", "2x"}

// overloadField serves a model whose runs take a fixed time.
func overloadField(_ context.Context, _ settings, dir string) (field, error) {
	exe, err := os.Executable()
	return field{contenders: []contender{{name: ours,
		argv: pinned(clientCore, exe, "worker", "serving_overload", exe, "worker", "serve_fixed", dir)}}}, err
}

// fixed is a model that sleeps and returns its input.
func fixed() servable.Model {
	info := func(name string) map[string]*pb.TensorInfo {
		return map[string]*pb.TensorInfo{name: {Encoding: &pb.TensorInfo_Name{Name: name + ":0"}, Dtype: types_go_proto.DataType_DT_FLOAT}}
	}
	var busy sync.Mutex
	return &servable.Func{
		Sigs: map[string]*pb.SignatureDef{"serving_default": {Inputs: info("x"), Outputs: info("y"), MethodName: "tensorflow/serving/predict"}},
		Compute: func(_ context.Context, feeds map[string]*tensor.Tensor, _ []string) ([]*tensor.Tensor, error) {
			busy.Lock()
			defer busy.Unlock()
			time.Sleep(fixedTime)
			return []*tensor.Tensor{feeds["x:0"].Clone()}, nil
		},
	}
}

// newFixed makes a server for that model that refuses requests that would wait longer than a run.
func newFixed(dir string) (*serving.Server, error) {
	base := filepath.Join(dir, "models", "mlp")
	if err := os.MkdirAll(filepath.Join(base, "1"), 0o755); err != nil {
		return nil, err
	}
	return serving.New(serving.Options{
		Loader:   func(context.Context, string) (serving.Model, error) { return fixed(), nil },
		Models:   serving.Models{Config: serving.ModelDirs(map[string]string{"mlp": base})},
		Listen:   serving.Listen{Host: "127.0.0.1", REST: -1},
		Overload: &serving.Overload{Slots: 1},
		Log:      slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
}

// serveFixedWorker runs that server: bench worker serve_fixed DIR.
func serveFixedWorker(_ *link, args []string) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	s, err := newFixed(args[0])
	if err != nil {
		return err
	}
	go func() {
		select {
		case <-s.Available():
			_ = json.NewEncoder(os.Stdout).Encode(s.Addresses())
		case <-ctx.Done():
		}
	}()
	return s.Run(ctx)
}

// overloadWorker sends requests at fixed times, whether or not earlier ones have ended: bench worker serving_overload SERVER.
func overloadWorker(l *link, args []string) error {
	srv, err := startServer(args...)
	if err != nil {
		return err
	}
	defer srv.stop()
	request, err := predictRequest("mlp", tensor.New(tensor.Float32, 1, 16))
	if err != nil {
		return err
	}
	closed, err := newLoad(srv.address, methodOf("mlp"), 1, [][]byte{request})
	if err != nil {
		return err
	}
	defer closed.close()
	if _, _, err := closed.run(20); err != nil { // the server learns the duration of a run
		return err
	}
	return l.serve(reply{Version: runtime.Version()}, func(c command) (reply, error) {
		if c.name == "alone" {
			took, all, err := closed.run(c.steps)
			return reply{Seconds: all.Seconds(), More: map[string]float64{"p50": ms(took, 0.5), "p99": ms(took, 0.99)}}, err
		}
		begun := time.Now()
		o, err := offer(closed.clients[0], request, c.steps, fixedTime/2)
		if err != nil {
			return reply{}, err
		}
		return reply{Seconds: time.Since(begun).Seconds(), More: map[string]float64{
			"p50": ms(o.accepted, 0.5), "p99": ms(o.accepted, 0.99),
			"refused share": float64(len(o.refused)) / float64(c.steps), "refusal p50": ms(o.refused, 0.5), "refusal p99": ms(o.refused, 0.99),
		}}, nil
	})
}

// openLoad has the latencies of open-loop load, sorted.
type openLoad struct{ accepted, refused []time.Duration }

// offer sends n requests, one every interval. A latency counts from the time a request was due.
func offer(c *caller, request []byte, n int, every time.Duration) (openLoad, error) {
	var mu sync.Mutex
	var o openLoad
	var failed error
	var work sync.WaitGroup
	begun := time.Now()
	for i := range n {
		due := begun.Add(time.Duration(i) * every)
		time.Sleep(time.Until(due))
		work.Go(func() {
			err := c.call(request, nil)
			took := time.Since(due)
			mu.Lock()
			defer mu.Unlock()
			switch status.Code(err) {
			case codes.OK:
				o.accepted = append(o.accepted, took)
			case codes.ResourceExhausted:
				o.refused = append(o.refused, took)
			default:
				failed = errors.Join(failed, fmt.Errorf("request %d: %w", i, err))
			}
		})
	}
	work.Wait()
	slices.Sort(o.accepted)
	slices.Sort(o.refused)
	return o, failed
}

func ms(sorted []time.Duration, q float64) float64 { return quantile(sorted, q).Seconds() * 1e3 }

// acceptedP99 is the 99th percentile of accepted requests in a block, in milliseconds.
func acceptedP99(_ string, _ int, r reply) float64 { return r.More["p99"] }
