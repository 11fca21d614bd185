package main

import (
	"context"
	"fmt"
	"time"

	"github.com/goestimator/goestimator/cluster"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/tensor"
)

// runtimeSession is a session on a server.
type runtimeSession struct{ *cluster.Session }

// openRuntime opens a session with the graph of all cases, and initializes its variables.
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
	s := &runtimeSession{}
	err = within("open a session at "+address, func(ctx context.Context) (err error) {
		s.Session, err = cluster.Dial(ctx, "grpc://"+address, all)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, within("give the variables their values", func(ctx context.Context) error {
		_, err := s.run(ctx, runtimeStep{targets: []string{"init"}})
		return err
	})
}

// runtimePatience is the time that servers have for each request of a client.
const runtimePatience = 3 * time.Minute

// within fails if servers do not finish in time. The context has no deadline, since a deadline would be sent to the servers.
func within(what string, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	late := time.AfterFunc(runtimePatience, cancel)
	err := do(ctx)
	switch {
	case err == nil:
		late.Stop()
		return nil
	case !late.Stop():
		return fmt.Errorf("%s: the servers took longer than %v: %w", what, runtimePatience, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

var fortyOne = tensor.Scalar(float32(41))

// run runs a step, and returns the middle element of what it fetches.
func (s *runtimeSession) run(ctx context.Context, step runtimeStep) (float64, error) {
	var feeds cluster.Feeds
	if step.feed != "" {
		feeds = cluster.Feeds{step.feed: fortyOne}
	}
	out, err := s.Run(ctx, feeds, step.fetches, step.targets...)
	if err != nil || len(out) == 0 {
		return 0, err
	}
	return out[0].Float(out[0].Len() / 2), nil
}

// check runs a step of each case that changes a value, and returns the new value.
func (s *runtimeSession) check() (map[string][]float64, error) {
	all := map[string][]float64{}
	for _, c := range []struct{ name, step, fetch string }{
		{runtimeStep1, runtimeStep1, ""}, {runtimeStep2, runtimeStep2, ""}, {runtimePush, runtimePush, "big/read:0"}, {runtimeFetch, runtimeFetch, ""},
		{runtimePushMany, runtimePushMany, "small50/read:0"}, {runtimeAdagrad, runtimeAdagrad, "rows:0"}, {runtimeScatter, runtimeScatter, "rows:0"},
	} {
		err := within(c.name, func(ctx context.Context) error {
			v, err := s.run(ctx, runtimeSteps[c.step])
			if err == nil && c.fetch != "" {
				v, err = s.run(ctx, runtimeStep{fetches: []string{c.fetch}})
			}
			all[c.name] = []float64{v}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
