package main

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/tensor"
)

// inferenceCases are NETWORK/BATCH.
var inferenceCases = []string{"mlp/1", "mlp/64", "cnn/1", "cnn/64", "resnet20/1", "resnet20/64"}

// transformerCases are the cases of a transformer block.
var transformerCases = []string{"transformer/1", "transformer/8"}

var attentionCases = []string{"attention/1", "attention/8"}

// predictor makes predictions for one case.
type predictor struct {
	batch int
	key   string
	next  func() (estimator.Prediction, error, bool)
	stop  func()
}

// newPredictor opens NETWORK/BATCH with the fixtures in dir/NETWORK.
func newPredictor(dir, name string, opts ...estimator.PredictOption) (*predictor, error) {
	network, size, _ := strings.Cut(name, "/")
	batch, err := strconv.Atoi(size)
	if err != nil {
		return nil, fmt.Errorf("case %q: expected NETWORK/BATCH", name)
	}
	w, err := lookUp(network)
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, network)
	g, err := readFixtures(dir)
	if err != nil {
		return nil, err
	}
	x, err := g.get("x")
	if err != nil {
		return nil, err
	}
	y, err := g.get("y")
	if err != nil {
		return nil, err
	}
	e, err := w.estimator(estimator.WithModelDir(filepath.Join(dir, "weights")))
	if err != nil {
		return nil, err
	}
	p := &predictor{batch: batch, key: w.predicted}
	p.next, p.stop = iter.Pull2(e.Predict(context.Background(), w.input(x, y, batch), append(opts, estimator.PredictKeys(p.key))...))
	return p, nil
}

// run predicts one batch and returns its last prediction.
func (p *predictor) run() (estimator.Prediction, error) {
	var last estimator.Prediction
	for range p.batch {
		v, err, ok := p.next()
		if err != nil {
			return last, err
		}
		if !ok {
			return last, fmt.Errorf("the input ended")
		}
		last = v
	}
	return last, nil
}

// predictWorker predicts cases with the fixtures in DIR: predict DIR CASE...
func predictWorker(l *link, args []string) error {
	ps := map[string]*predictor{}
	values := map[string][]float64{}
	for _, name := range args[1:] {
		p, err := newPredictor(args[0], name)
		if err != nil {
			return err
		}
		defer p.stop()
		last, err := p.run()
		if err != nil {
			return err
		}
		for _, v := range tensor.Values[float32](last.Get(p.key)) {
			values[name] = append(values[name], float64(v))
		}
		ps[name] = p
	}
	return l.serve(reply{Values: values, Version: runtime.Version()}, func(c command) (reply, error) {
		before, begun := mallocs(), time.Now()
		for range c.steps {
			if _, err := ps[c.name].run(); err != nil {
				return reply{}, err
			}
		}
		seconds := time.Since(begun).Seconds()
		return reply{Seconds: seconds, Allocs: float64(mallocs()-before) / float64(c.steps)}, nil
	})
}
