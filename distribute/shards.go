package distribute

import (
	strategies "github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/models"
)

// Shards says where each variable lies, optimizer state and metrics' sums included, sorted by name: the
// shards that parameter servers hold, or one shard on this task, which has the whole
// variable. Replicas of this task may have copies of it. Names of shards are TensorFlow's.
func (s *Strategy) Shards() ([]models.VariableShards, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	return strategies.Shards(s.inner, s.config, s.trainOps()...), nil
}
