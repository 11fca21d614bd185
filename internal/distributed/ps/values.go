package ps

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/tensor"
)

// Initial returns a State.Value from the variables' initializers. Chunk by
// chunk, it has the values that they give the whole variable.
func Initial(variables []*models.Variable, seed int64) func(name string) Fill {
	byName := map[string]*models.Variable{}
	for _, v := range variables {
		byName[v.Name] = v
	}
	return func(name string) Fill {
		v := byName[name]
		if v == nil || v.Init == nil {
			return nil
		}
		return func(dst *tensor.Tensor, first int) error {
			return initializers.InitRows(v.Init, dst, initializers.Rows{Full: v.Shape, First: first}, models.Key(seed, name))
		}
	}
}
