package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/tensor"
)

// fixtures are the common start of all contenders of a subject: initial weights, in the
// order of their creation, and batches. They are stored in a folder: the tensors one after
// the other in fixtures.bin, a list of them in fixtures.json, and the weights again
// as a checkpoint.
type fixtures struct {
	Tensors []fixtureTensor `json:"tensors"`
	values  []*tensor.Tensor
}

type fixtureTensor struct {
	Name   string `json:"name"`
	DType  string `json:"dtype"` // NumPy's name
	Shape  []int  `json:"shape"`
	Offset int    `json:"offset"`
	Data   bool   `json:"data"` // a batch, not a weight
}

func (g *fixtures) add(name string, data bool, t *tensor.Tensor) {
	offset := 0
	for _, v := range g.values {
		offset += len(v.Bytes)
	}
	g.Tensors = append(g.Tensors, fixtureTensor{name, t.DType.String(), t.Shape, offset, data})
	g.values = append(g.values, t)
}

// get returns a tensor; a missing name is a bug in this program.
func (g *fixtures) get(name string) (*tensor.Tensor, error) {
	for i, t := range g.Tensors {
		if t.Name == name {
			return g.values[i], nil
		}
	}
	return nil, fmt.Errorf("no tensor %s among the fixtures", name)
}

func (g *fixtures) write(ctx context.Context, dir string) error {
	list, err := json.Marshal(g)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "fixtures.json"), list, 0o644); err != nil {
		return err
	}
	var b []byte
	weights := map[string]*tensor.Tensor{}
	for i, v := range g.values {
		b = append(b, v.Bytes...)
		if !g.Tensors[i].Data {
			weights[g.Tensors[i].Name] = v
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "fixtures.bin"), b, 0o644); err != nil {
		return err
	}
	s, err := checkpoint.NewSaver(filepath.Join(dir, "weights"), checkpoint.Options{})
	if err != nil {
		return err
	}
	_, err = s.Save(ctx, checkpoint.Snapshot{Tensors: weights})
	return err
}

var fixtureTypes = map[string]tensor.DType{"float32": tensor.Float32, "int64": tensor.Int64}

// readFixtures reads only the batches: weights come from the checkpoint.
func readFixtures(dir string) (*fixtures, error) {
	list, err := os.ReadFile(filepath.Join(dir, "fixtures.json"))
	if err != nil {
		return nil, err
	}
	g := &fixtures{}
	if err := json.Unmarshal(list, g); err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(dir, "fixtures.bin"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for _, t := range g.Tensors {
		if !t.Data {
			g.values = append(g.values, nil)
			continue
		}
		v := tensor.New(fixtureTypes[t.DType], t.Shape...)
		if _, err := f.ReadAt(v.Bytes, int64(t.Offset)); err != nil {
			return nil, err
		}
		g.values = append(g.values, v)
	}
	return g, nil
}

// newWeight draws an initial value that depends on the variable's name: He-uniform kernels,
// batch norm's statistics near 0 and 1.
func newWeight(r *rand.Rand, name string, shape []int) *tensor.Tensor {
	t := tensor.New(tensor.Float32, shape...)
	mean, scale := 0.0, 0.05
	switch name[strings.LastIndexByte(name, '/')+1:] {
	case "kernel":
		fan := tensor.NumElements(shape) / shape[len(shape)-1]
		scale = math.Sqrt(6 / float64(fan))
	case "gamma", "moving_variance":
		mean = 1
	}
	fillUniform(r, tensor.Values[float32](t), mean, scale)
	return t
}

func fillUniform(r *rand.Rand, dst []float32, mean, scale float64) {
	for i := range dst {
		dst[i] = float32(mean + scale*(2*r.Float64()-1))
	}
}

// fillInts draws numbers below n.
func fillInts(r *rand.Rand, dst []int64, n int64) {
	for i := range dst {
		dst[i] = r.Int64N(n)
	}
}
