package main

import (
	"context"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
	gtensor "gorgonia.org/tensor"
)

// gorgoniaMLP is the mlp in the style of Gorgonia's users: a tape machine and its Adam.
type gorgoniaMLP struct {
	x, onehot *tensor.Tensor
	batch     int
	at        int

	xs, ys G.Value
	loss   *G.Node
	vm     G.VM
	solver G.Solver
	params G.Nodes
}

// gorgoniaWorker trains the mlp in DIR with stock Gorgonia.
func gorgoniaWorker(l *link, args []string) error {
	runtime.GOMAXPROCS(max(threads(), 1)) // its BLAS has a goroutine per processor
	s, err := newGorgoniaMLP(args[0])
	if err != nil {
		return err
	}
	defer s.vm.Close()
	var losses []float64
	for range checkedSteps {
		if err := s.step(); err != nil {
			return err
		}
		losses = append(losses, float64(s.loss.Value().Data().(float32)))
	}
	return l.serve(reply{Values: map[string][]float64{"": losses}, Version: "0.9.18, gonum BLAS"}, func(c command) (reply, error) {
		before, begun := mallocs(), time.Now()
		for range c.steps {
			if err := s.step(); err != nil {
				return reply{}, err
			}
		}
		seconds := time.Since(begun).Seconds()
		return reply{Seconds: seconds, Allocs: float64(mallocs()-before) / float64(c.steps)}, nil
	})
}

func newGorgoniaMLP(dir string) (*gorgoniaMLP, error) {
	d, err := readFixtures(dir)
	if err != nil {
		return nil, err
	}
	s := &gorgoniaMLP{batch: workloads["mlp"].batch, solver: G.NewAdamSolver()}
	if s.x, err = d.get("x"); err != nil {
		return nil, err
	}
	y, err := d.get("y")
	if err != nil {
		return nil, err
	}
	s.onehot = tensor.New(tensor.Float32, y.Len(), 10)
	for i, label := range tensor.Values[int64](y) {
		tensor.Values[float32](s.onehot)[i*10+int(label)] = 1
	}
	return s, s.build(dir)
}

func (s *gorgoniaMLP) build(dir string) error {
	r, err := checkpoint.OpenLatest(context.Background(), filepath.Join(dir, "weights"))
	if err != nil {
		return err
	}
	defer r.Close()
	g := G.NewGraph()
	x := G.NewMatrix(g, gtensor.Float32, G.WithShape(s.batch, 784), G.WithName("x"))
	y := G.NewMatrix(g, gtensor.Float32, G.WithShape(s.batch, 10), G.WithName("y"))
	h := x
	for i, name := range []string{"dense", "dense_1", "dense_2"} {
		if h, err = s.layer(r, g, h, name); err != nil {
			return err
		}
		if i == 2 {
			break
		}
		if h, err = G.Rectify(h); err != nil {
			return err
		}
	}
	// The rows sum to -log p of their labels: the mean over rows is the mean over
	// elements times ten.
	p := G.Must(G.SoftMax(h))
	sum := G.Must(G.Sum(G.Must(G.HadamardProd(G.Must(G.Log(p)), y))))
	s.loss = G.Must(G.Div(G.Must(G.Neg(sum)), G.NewConstant(float32(s.batch))))
	if _, err := G.Grad(s.loss, s.params...); err != nil {
		return err
	}
	s.xs, s.ys = gtensor.New(gtensor.WithShape(s.batch, 784), gtensor.Of(gtensor.Float32)), gtensor.New(gtensor.WithShape(s.batch, 10), gtensor.Of(gtensor.Float32))
	if err := G.Let(x, s.xs); err != nil {
		return err
	}
	if err := G.Let(y, s.ys); err != nil {
		return err
	}
	s.vm = G.NewTapeMachine(g, G.BindDualValues(s.params...))
	return nil
}

// layer is x*kernel + bias with values from the checkpoint.
func (s *gorgoniaMLP) layer(r *checkpoint.Reader, g *G.ExprGraph, x *G.Node, name string) (*G.Node, error) {
	var ns []*G.Node
	for _, part := range []string{"kernel", "bias"} {
		t, err := r.Tensor(name + "/" + part)
		if err != nil {
			return nil, err
		}
		shape := t.Shape
		if len(shape) == 1 {
			shape = []int{1, shape[0]}
		}
		v := gtensor.New(gtensor.WithShape(shape...), gtensor.WithBacking(append([]float32{}, tensor.Values[float32](t)...)))
		ns = append(ns, G.NewMatrix(g, gtensor.Float32, G.WithShape(shape...), G.WithName(strings.Join([]string{name, part, strconv.Itoa(len(s.params))}, "_")), G.WithValue(v)))
	}
	s.params = append(s.params, ns...)
	y, err := G.Mul(x, ns[0])
	if err != nil {
		return nil, err
	}
	return G.BroadcastAdd(y, ns[1], nil, []byte{0})
}

func (s *gorgoniaMLP) step() error {
	i := s.at
	s.at = (i + s.batch) % s.x.Shape[0]
	copy(s.xs.Data().([]float32), tensor.Values[float32](s.x)[i*784:])
	copy(s.ys.Data().([]float32), tensor.Values[float32](s.onehot)[i*10:])
	if err := s.vm.RunAll(); err != nil {
		return err
	}
	if err := s.solver.Step(G.NodesToValueGrads(s.params)); err != nil {
		return err
	}
	s.vm.Reset()
	return nil
}
