package estimator

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/distribute/saved"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
)

// The keys of a checkpoint in addition to the strategy's. They are scalar strings.
const (
	hookStateKey = saved.PrivatePrefix + "hooks/"
	extraKey     = saved.PrivatePrefix + "extra/"
	featuresKey  = saved.PrivatePrefix + "features"
)

// checkFeatures compares the features that the checkpoint was trained on with the input's.
func (s *session) checkFeatures(r *checkpoint.Reader) error {
	trained, ok, err := saved.String(r, featuresKey)
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
