package main

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/cluster"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/tensor"
)

// runtimeSession is a session at a server.
type runtimeSession struct{ *cluster.Session }

// openRuntime opens a session with the graph of all cases, whose variables have their first values.
func openRuntime(address string) (*runtimeSession, error) {
	g, err := buildRuntime()
	if err != nil {
		return nil, err
	}
	def, err := graphdef.Marshal(g)
	if err != nil {
		return nil, err
	}
	all, err := cluster.ReadGraph(def)
	if err != nil {
		return nil, err
	}
	in, err := cluster.Dial(context.Background(), "grpc://"+address, all)
	if err != nil {
		return nil, err
	}
	s := &runtimeSession{in}
	_, err = s.run(runtimeStep{targets: []string{"init"}})
	return s, err
}

var fortyOne = tensor.Scalar(float32(41))

// run runs a step, and returns the element in the middle of what it fetches.
func (s *runtimeSession) run(step runtimeStep) (float64, error) {
	var feeds cluster.Feeds
	if step.feed != "" {
		feeds = cluster.Feeds{step.feed: fortyOne}
	}
	out, err := s.Run(context.Background(), feeds, step.fetches, step.targets...)
	if err != nil || len(out) == 0 {
		return 0, err
	}
	return out[0].Float(out[0].Len() / 2), nil
}

// check runs a step of each case that changes something, and returns what is there then.
func (s *runtimeSession) check() (map[string][]float64, error) {
	all := map[string][]float64{}
	for _, c := range []struct{ name, step, fetch string }{
		{runtimeStep1, runtimeStep1, ""}, {runtimeStep2, runtimeStep2, ""}, {runtimePush, runtimePush, "big/read:0"}, {runtimeFetch, runtimeFetch, ""},
		{runtimePushMany, runtimePushMany, "small50/read:0"}, {runtimeAdagrad, runtimeAdagrad, "rows:0"}, {runtimeScatter, runtimeScatter, "rows:0"},
	} {
		v, err := s.run(runtimeSteps[c.step])
		if err == nil && c.fetch != "" {
			v, err = s.run(runtimeStep{fetches: []string{c.fetch}})
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		all[c.name] = []float64{v}
	}
	return all, nil
}
