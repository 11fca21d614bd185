package estimator

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/tensor"
)

// The keys of a checkpoint besides variables, which are scalar strings.
const (
	inputStateKey = privatePrefix + "input_state/"
	hookStateKey  = privatePrefix + "hooks/"
	featuresKey   = privatePrefix + "features"
	seedKey       = privatePrefix + "seed" // decimal
)

// checkFeatures compares the features that the checkpoint was trained on with the input's.
func (s *session) checkFeatures(r *checkpoint.Reader) error {
	trained, ok, err := readString(r, featuresKey)
	if err != nil || !ok {
		return err
	}
	if now := s.featureSignature(); now != string(trained) {
		return &MismatchError{Prefix: r.Prefix(), Trained: string(trained), Given: now}
	}
	return nil
}

// featureSignature lists name, type and shape of each feature.
func (s *session) featureSignature() string {
	var parts []string
	for _, c := range s.schema.Columns() {
		if c.Role == inputs.Feature {
			shape := any(c.Shape)
			if c.Ragged {
				shape = "[...]"
			}
			parts = append(parts, fmt.Sprintf("%s %v%v", c.Name, c.DType, shape))
		}
	}
	return strings.Join(parts, ", ")
}

func readString(r *checkpoint.Reader, name string) ([]byte, bool, error) {
	if _, ok := r.Lookup(name); !ok {
		return nil, false, nil
	}
	v, err := r.Tensor(name)
	if err != nil {
		return nil, false, err
	}
	if v.DType != tensor.String || len(v.Strings) != 1 {
		return nil, false, fmt.Errorf("checkpoint %s: %s: expected one string, got %v%v", r.Prefix(), name, v.DType, v.Shape)
	}
	return v.Strings[0], true, nil
}

func stringScalar(b []byte) *tensor.Tensor {
	return &tensor.Tensor{DType: tensor.String, Strings: [][]byte{b}}
}
