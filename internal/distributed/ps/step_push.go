package ps

import (
	"errors"
	"io"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

func headerOf(t *optimizers.Tally) *wire.Tally {
	if t == nil {
		return nil
	}
	return &wire.Tally{Stamp: t.Stamp, Sums: int64(len(t.Sums)), Records: int64(len(t.Records))}
}

// maxTally bounds the bytes of a tally.
const maxTally = 1 << 32

// addTally adds the bytes of a tally to the share of server 0.
func (o *outgoing) addTally() error {
	if (o.Tally != nil) != (o.p.Rules.Step != nil) {
		return errors.New("push: expected a tally where the plan has a step function, and only there")
	}
	if o.Tally == nil {
		return nil
	}
	part := &o.parts[0]
	if len(o.Tally.Sums) > 0 {
		sums, err := tensor.FromSlice(o.Tally.Sums, len(o.Tally.Sums)) // a view
		if err != nil {
			return err
		}
		part.segments = append(part.segments, segment{bytes: sums.Bytes})
	}
	if len(o.Tally.Records) > 0 {
		part.segments = append(part.segments, segment{bytes: o.Tally.Records})
	}
	return nil
}

// expectTally checks that a push has a tally if one is required.
func (s *session) expectTally(h *wire.PushHeader) error {
	t := h.Tally
	switch {
	case (t != nil) != (s.function != nil):
		return status.Error(codes.InvalidArgument, "expected a tally on server 0 of a plan with a step function, and only there")
	case t != nil && (t.Sums < 0 || t.Records < 0 || t.Sums > maxTally/8 || t.Records > maxTally):
		return status.Errorf(codes.InvalidArgument, "a tally of %d sums and %d bytes of records", t.Sums, t.Records)
	}
	return nil
}

// tally reads the tally that a header announces, nil for none.
func (b *body) tally(h *wire.Tally) (*optimizers.Tally, error) {
	if h == nil {
		return nil, nil
	}
	sums, err := b.some(8 * int(h.Sums))
	if err != nil {
		return nil, err
	}
	records, err := b.some(int(h.Records))
	return &optimizers.Tally{Stamp: h.Stamp, Sums: floats[float64](sums), Records: records}, err
}

// some reads n bytes; memory is allocated as they arrive.
func (b *body) some(n int) ([]byte, error) {
	var out []byte
	for len(out) < n {
		k := min(n-len(out), frameBytes)
		out = slices.Grow(out, k)[:len(out)+k]
		if _, err := io.ReadFull(b, out[len(out)-k:]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
