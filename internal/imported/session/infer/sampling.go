package infer

import (
	"errors"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// samplingRules are for ops on images with channels first.
var samplingRules = map[*ops.Def]rule{ops.RoiAlign: roiAlign, ops.GridSample: gridSample}

// roiAlign returns as many crops as there are regions.
func roiAlign(s *site) ([]Value, error) {
	x, err := s.rank(0, 4)
	if err != nil {
		return nil, err
	}
	rois, err := s.rank(1, 2)
	if err != nil {
		return nil, err
	}
	return one(rois[0], x[1], s.n.Int("high", 1), s.n.Int("wide", 1))
}

// gridSample: the result has the grid's sizes.
func gridSample(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	grid, err := s.shape(1)
	if err != nil {
		return nil, err
	}
	if len(x) < 3 || len(grid) != len(x) || grid[len(grid)-1] != len(x)-2 {
		return nil, errors.New("images and a grid that do not fit each other")
	}
	return one(slices.Concat(x[:2], grid[1:len(grid)-1])...)
}
