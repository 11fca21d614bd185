package columns

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// table returns the variable of a column below scope. Columns that share it make it
// only once.
func table(c models.Context, v *feature.Variable, scope string) *G.Node {
	b := c.Core()
	name := v.In(scope)
	for _, made := range b.Variables() {
		if v.Global && made.Name == name && b.ScopeName() == "" {
			return made.Node
		}
	}
	opts := []models.VarOption{models.WithInit(initializer(v))}
	if !v.Trainable {
		opts = append(opts, models.NonTrainable())
	}
	return b.Variable(name, v.Shape, opts...)
}

// initializer is what a variable starts from.
func initializer(v *feature.Variable) models.Initializer {
	switch {
	case v.Checkpoint != "":
		return stored{v.Checkpoint, v.Tensor}
	case v.Stddev > 0:
		return initializers.TruncatedNormal{Stddev: v.Stddev}
	}
	return initializers.Zeros()
}

// stored is the value of a tensor of a checkpoint.
type stored struct{ prefix, tensor string }

// Init reads the tensor, which must have t's type and shape.
func (s stored) Init(t *tensor.Tensor, _ uint64) error {
	r, err := bundle.Open(atomicfile.OS{}, s.prefix)
	if err != nil {
		return fmt.Errorf("checkpoint %s: %w", s.prefix, err)
	}
	defer r.Close()
	x, err := r.Tensor(s.tensor)
	if err != nil {
		return fmt.Errorf("checkpoint %s: %w", s.prefix, err)
	}
	if x.DType != t.DType || !slices.Equal(x.Shape, t.Shape) {
		return fmt.Errorf("checkpoint %s: tensor %s: expected %v%v, got %v%v", s.prefix, s.tensor, t.DType, t.Shape, x.DType, x.Shape)
	}
	copy(t.Bytes, x.Bytes)
	return nil
}
