package metrics

import (
	"encoding/binary"
	"fmt"
	"math"
)

// stateVersion is the first byte of every marshalled state.
const stateVersion = 1

// state is embedded in every kind: sums that merge element by element.
type state struct {
	kind string // the metric's name and parameters: equal kinds can be merged
	sums []float64
	init float64                    // of every sum, the identity of join
	join func(a, b float64) float64 // nil: addition
}

// newState returns the state of n sums that merge by addition.
func newState(kind string, n int) state { return state{kind: kind, sums: make([]float64, n)} }

// merger gives Merge the state of another accumulator of this package.
type merger interface{ merged() *state }

func (s *state) merged() *state { return s }

// Sums returns the state of an accumulator whose states merge by addition, to be read
// or modified in place. It returns false for other metrics (Min, Max) and types of other
// packages.
func Sums(acc Accumulator) ([]float64, bool) {
	m, ok := acc.(merger)
	if !ok || m.merged().join != nil {
		return nil, false
	}
	return m.merged().sums, true
}

// Merge implements Accumulator.
func (s *state) Merge(other Accumulator) error {
	m, ok := other.(merger)
	if !ok {
		return fmt.Errorf("%w: cannot merge a %T into %s: expected the same kind and parameters", ErrIncompatible, other, s.kind)
	}
	o := m.merged()
	if o.kind != s.kind {
		return fmt.Errorf("%w: cannot merge %s into %s: expected the same kind and parameters", ErrIncompatible, o.kind, s.kind)
	}
	for i, v := range o.sums {
		if s.join != nil {
			s.sums[i] = s.join(s.sums[i], v)
		} else {
			s.sums[i] += v
		}
	}
	return nil
}

// Reset implements Accumulator.
func (s *state) Reset() {
	for i := range s.sums {
		s.sums[i] = s.init
	}
}

// MarshalBinary writes a version byte, the kind (length, bytes) and the sums
// (count, little-endian float64s); lengths are unsigned varints.
func (s *state) MarshalBinary() ([]byte, error) {
	b := make([]byte, 0, 1+len(s.kind)+8*len(s.sums)+2*binary.MaxVarintLen32)
	b = append(b, stateVersion)
	b = binary.AppendUvarint(b, uint64(len(s.kind)))
	b = append(b, s.kind...)
	b = binary.AppendUvarint(b, uint64(len(s.sums)))
	for _, v := range s.sums {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b, nil
}

// UnmarshalBinary replaces the state by one that MarshalBinary wrote. If data is
// damaged or of another kind, it fails and leaves the state unchanged.
func (s *state) UnmarshalBinary(data []byte) error {
	if len(data) == 0 || data[0] != stateVersion {
		return fmt.Errorf("state of %s: expected version %d, got %x", s.kind, stateVersion, data[:min(1, len(data))])
	}
	kind, rest, err := cutCounted(data[1:], 1)
	if err != nil {
		return fmt.Errorf("state of %s: kind: %w", s.kind, err)
	}
	if string(kind) != s.kind {
		return fmt.Errorf("%w: expected the state of %s, got that of %q", ErrIncompatible, s.kind, kind)
	}
	raw, rest, err := cutCounted(rest, 8)
	if err != nil {
		return fmt.Errorf("state of %s: sums: %w", s.kind, err)
	}
	if len(raw) != 8*len(s.sums) || len(rest) != 0 {
		return fmt.Errorf("state of %s: expected %d sums, got %d and %d more bytes", s.kind, len(s.sums), len(raw)/8, len(rest))
	}
	for i := range s.sums {
		s.sums[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	return nil
}

// cutCounted splits data after a varint count and that many elements of size bytes.
func cutCounted(data []byte, size uint64) (head, rest []byte, err error) {
	n, used := binary.Uvarint(data)
	if used <= 0 {
		return nil, nil, fmt.Errorf("expected a count, got %d bytes without one", len(data))
	}
	data = data[used:]
	if n > uint64(len(data))/size {
		return nil, nil, fmt.Errorf("expected %d elements of %d bytes, got %d bytes", n, size, len(data))
	}
	return data[:n*size], data[n*size:], nil
}
