package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/protobuf/proto"
)

// copiesField loads copies of a model, runs each once, and keeps them all.
func copiesField(ctx context.Context, s settings, dir string) (field, error) {
	if err := giveServed(ctx, dir); err != nil {
		return field{}, err
	}
	argv, err := self("serving_copies", dir)
	return field{contenders: []contender{
		{name: ours, argv: argv},
		s.peer("tf.saved_model.load", "serving_copies.py", dir, "load"),
		s.peer("tf.compat.v1.saved_model.load", "serving_copies.py", dir, "session"),
	}}, err
}

// copiesWorker is bench worker serving_copies DIR.
func copiesWorker(l *link, args []string) error {
	runtime.GOMAXPROCS(max(threads(), 1))
	feeds := map[string]*tensor.Tensor{}
	for _, name := range servedModels {
		var err error
		if feeds[name], err = oneRow(args[0], name); err != nil {
			return err
		}
		if _, err := loadAndRun(args[0], name, feeds[name]); err != nil { // what the first load allocates for all does not belong to a copy
			return err
		}
	}
	var kept []servable.Model
	defer func() {
		for _, m := range kept {
			m.Close()
		}
	}()
	return l.serve(reply{Version: runtime.Version()}, func(c command) (reply, error) {
		debug.FreeOSMemory()
		before := residentKB()
		begun := time.Now()
		for range c.steps {
			m, err := loadAndRun(args[0], c.name, feeds[c.name])
			if err != nil {
				return reply{}, err
			}
			kept = append(kept, m)
		}
		seconds := time.Since(begun).Seconds()
		debug.FreeOSMemory()
		return reply{Seconds: seconds, More: map[string]float64{"MB/copy": float64(residentKB()-before) / 1024 / float64(c.steps)}}, nil
	})
}

// loadAndRun loads a model and runs its default signature on one row.
func loadAndRun(dir, name string, x *tensor.Tensor) (servable.Model, error) {
	m, err := loadServed(context.Background(), dir, name, session.Options{})
	if err != nil {
		return nil, err
	}
	sig := m.Signatures()["serving_default"]
	feeds := map[string]*tensor.Tensor{}
	for _, in := range sig.GetInputs() {
		feeds[in.GetName()] = x
	}
	var fetches []string
	for _, out := range sig.GetOutputs() {
		fetches = append(fetches, out.GetName())
	}
	if _, err := m.Run(context.Background(), feeds, fetches); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// oneRow is the input in a model's first request.
func oneRow(dir, name string) (*tensor.Tensor, error) {
	if name != "wide_deep" {
		all, err := sentTensors(dir, name, 1)
		if err != nil {
			return nil, err
		}
		return all[0], nil
	}
	requests, err := readRequests(requestsFile(dir, name, 1))
	if err != nil {
		return nil, err
	}
	r := &apis.ClassificationRequest{}
	if err := proto.Unmarshal(requests[0], r); err != nil {
		return nil, err
	}
	b, err := proto.Marshal(r.GetInput().GetExampleList().GetExamples()[0])
	if err != nil {
		return nil, err
	}
	return tensor.FromStrings([][]byte{b}, 1)
}

// residentKB is the resident memory of this process; 0 if the system does not report it.
func residentKB() int64 {
	b, err := os.ReadFile(filepath.Join("/proc", "self", "statm"))
	if err != nil {
		return 0
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(b), &size, &resident); err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize()) / 1024
}
