package infer

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// otherRules are for parsing and tables.
var otherRules = map[*ops.Def]rule{ops.ParseExample: parseExample, ops.ParseExampleV2: parseExampleV2}

// parseExample: dense outputs have the batch before their shapes; sparse outputs depend on data.
func parseExample(s *site) ([]Value, error) {
	n := s.n.Int("Nsparse", 0)
	return dense(s, 3*n)
}

func parseExampleV2(s *site) ([]Value, error) {
	n := s.n.Int("num_sparse", 0)
	return dense(s, 3*n)
}

func dense(s *site, from int) ([]Value, error) {
	lead, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	out := make([]Value, len(s.n.Outputs))
	shapes, _ := s.n.Attrs["dense_shapes"].([]graph.Shape)
	for i, sh := range shapes {
		if !sh.Known() || from+i >= len(out) {
			continue
		}
		out[from+i] = Shaped(slices.Concat(lead, sh.At(0))...)
	}
	return out, nil
}
