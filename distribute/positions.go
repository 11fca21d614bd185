package distribute

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/internal/distribute/saved"
)

// positionsMark begins the position of several Inputs. Their number follows, and for each its length and its bytes; numbers
// are varints. A single Input has just its own position, as in an Estimator's checkpoint.
const positionsMark = "goestimator inputs\n"

// position returns the positions of all Inputs of this task; nil if all are at the start.
func (s *Strategy) position() ([]byte, error) {
	all := make([][]byte, len(s.inputs))
	for i, in := range s.inputs {
		var err error
		if all[i], err = in.state(); err != nil {
			return nil, err
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	if !slices.ContainsFunc(all, func(p []byte) bool { return len(p) > 0 }) {
		return nil, nil
	}
	out := binary.AppendUvarint([]byte(positionsMark), uint64(len(all)))
	for _, p := range all {
		out = append(binary.AppendUvarint(out, uint64(len(p))), p...)
	}
	return out, nil
}

// setPosition makes the next pass of each Input begin at its place in position, or at the start for an Input that is not
// in position.
func (s *Strategy) setPosition(position []byte) error {
	all, err := splitPosition(position)
	if err != nil {
		return err
	}
	for i, in := range s.inputs {
		in.position = nil
		if i < len(all) && len(all[i]) > 0 {
			in.position = all[i]
		}
	}
	return nil
}

// splitPosition returns the positions of all Inputs.
func splitPosition(position []byte) (all [][]byte, err error) {
	rest, several := bytes.CutPrefix(position, []byte(positionsMark))
	if !several {
		return [][]byte{position}, nil
	}
	n, rest, err := cutUvarint(rest)
	if err != nil {
		return nil, err
	}
	for range n { // each takes at least one byte of the rest
		var size uint64
		if size, rest, err = cutUvarint(rest); err != nil || size > uint64(len(rest)) {
			return nil, errPositions
		}
		all, rest = append(all, rest[:size]), rest[size:]
	}
	return all, nil
}

var errPositions = errors.New("the positions of the inputs are cut short: the checkpoint is damaged, use an older one")

func cutUvarint(b []byte) (v uint64, rest []byte, err error) {
	v, k := binary.Uvarint(b)
	if k <= 0 {
		return 0, nil, errPositions
	}
	return v, b[k:], nil
}

// positions adds the positions of the Inputs here and in all tasks in lock step.
func (s *Strategy) positions(ctx context.Context, states map[string][]byte) error {
	if len(s.inputs) == 0 {
		return nil
	}
	mine, err := s.position()
	all := map[int][]byte{s.rank(): mine}
	if g := s.gatherer(); g != nil && err == nil {
		var parts [][]byte
		parts, err = gathered(ctx, g, "Save with positions", mine)
		all = maps.Collect(slices.All(parts))
	}
	for rank, position := range all {
		if len(position) > 0 {
			states[saved.InputKey(rank)] = position
		}
	}
	return err
}
