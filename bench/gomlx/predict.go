package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
)

// predictor computes probabilities for batches of one size.
type predictor struct {
	exec *model.Exec
	xs   []*tensors.Tensor
	at   int
}

// run predicts the next batch and returns its probabilities, batch by 10.
func (p *predictor) run() ([]float32, error) {
	x := p.xs[p.at]
	p.at = (p.at + 1) % len(p.xs)
	y, err := p.exec.Call1(x)
	if err != nil {
		return nil, err
	}
	v, err := tensors.CopyFlatData[float32](y)
	if err != nil {
		return nil, err
	}
	return v, y.FinalizeAll()
}

func newPredictor(b compute.Backend, dir, network string, batch int) (*predictor, error) {
	g, err := readFixtures(filepath.Join(dir, network))
	if err != nil {
		return nil, err
	}
	store, err := newStore(g)
	if err != nil {
		return nil, err
	}
	p := &predictor{}
	if p.xs, err = batches[float32](g, "x", batch); err != nil {
		return nil, err
	}
	p.exec, err = model.NewExec(b, store, func(scope *model.Scope, x *graph.Node) *graph.Node {
		return graph.Softmax(networks[network](scope, x))
	})
	return p, err
}

// predictWorker predicts with the networks in dir/mlp and dir/cnn. The values to
// check are the probabilities of the last example of the first batch.
func predictWorker(b compute.Backend, dir string, in io.Reader, out io.Writer) error {
	ps := map[string]*predictor{}
	values := map[string][]float64{}
	for network := range networks {
		for _, batch := range []int{1, 64} {
			p, err := newPredictor(b, dir, network, batch)
			if err != nil {
				return err
			}
			v, err := p.run()
			if err != nil {
				return err
			}
			name := fmt.Sprintf("%s/%d", network, batch)
			for _, x := range v[len(v)-10:] {
				values[name] = append(values[name], float64(x))
			}
			ps[name] = p
		}
	}
	return serve(in, out, reply{Values: values, Version: version}, func(name string) error {
		p, ok := ps[name]
		if !ok {
			return fmt.Errorf("unknown case %q", name)
		}
		_, err := p.run()
		return err
	})
}
