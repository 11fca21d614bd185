package canned

import (
	"fmt"
	"os"
	"slices"

	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
)

// startingPoints replaces the folders of checkpoints that embeddings start from by
// their newest checkpoints.
func startingPoints(in []feature.Input) ([]feature.Input, error) {
	out := slices.Clone(in)
	for i, input := range out {
		if input.Table == nil || input.Table.Checkpoint == "" {
			continue
		}
		prefix := input.Table.Checkpoint
		if s, err := os.Stat(prefix); err == nil && s.IsDir() {
			if prefix, err = checkpoint.LatestPrefix(prefix); err != nil {
				return nil, fmt.Errorf("column %q: checkpoint %s: %w", input.Column, input.Table.Checkpoint, err)
			}
		}
		t := *input.Table
		t.Checkpoint = prefix
		out[i].Table = &t
	}
	return out, nil
}
