package distribute

import (
	strategies "github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/models"
)

// Shards returns where each variable is placed, sorted by name, including optimizer state and metrics' sums: in shards
// on parameter servers, or whole, as one shard, on this task, whose replicas may have copies. Names of shards are
// TensorFlow's.
func (s *Strategy) Shards() ([]models.VariableShards, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	return strategies.Shards(s.inner, s.config, s.trainOps()...), nil
}
