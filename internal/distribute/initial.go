package distribute

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/tensor"
)

// Initial returns the initial value of a variable, for a model with that seed.
func Initial(name string, init models.Initializer, seed int64, t graph.Type) Fill {
	key := models.Key(seed, name)
	return func(dst *tensor.Tensor, first int) error {
		whole := t.Shape.At(0)
		var err error
		if slices.Equal(dst.Shape, whole) {
			err = init.Init(dst, key)
		} else {
			err = initializers.InitRows(init, dst, initializers.Rows{Full: whole, First: first}, key)
		}
		if err != nil {
			return fmt.Errorf("initial value of %s: %w", name, err)
		}
		return nil
	}
}
