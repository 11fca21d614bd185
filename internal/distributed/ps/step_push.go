package ps

import (
	"errors"
	"io"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// tallyHeader announces a tally: 8 bytes a sum, then the records.
type tallyHeader struct {
	stamp         int64
	sums, records int
}

func (m *tallyHeader) wire(c *coder) {
	c.int64(&m.stamp)
	c.int(&m.sums)
	c.int(&m.records)
}

func headerOf(t *optimizers.Tally) *tallyHeader {
	if t == nil {
		return nil
	}
	return &tallyHeader{stamp: t.Stamp, sums: len(t.Sums), records: len(t.Records)}
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

// expectTally checks that a push brings a tally where it has to.
func (s *session) expectTally(h *pushHeader) error {
	t := h.tally
	switch {
	case (t != nil) != (s.function != nil):
		return status.Error(codes.InvalidArgument, "expected a tally on server 0 of a plan with a step function, and only there")
	case t != nil && (t.sums < 0 || t.records < 0 || t.sums > maxTally/8 || t.records > maxTally):
		return status.Errorf(codes.InvalidArgument, "a tally of %d sums and %d bytes of records", t.sums, t.records)
	}
	return nil
}

// tally reads what a header announces, nil for nothing.
func (b *body) tally(h *tallyHeader) (*optimizers.Tally, error) {
	if h == nil {
		return nil, nil
	}
	sums, err := b.some(8 * h.sums)
	if err != nil {
		return nil, err
	}
	records, err := b.some(h.records)
	return &optimizers.Tally{Stamp: h.stamp, Sums: floats[float64](sums), Records: records}, err
}

// some reads n bytes; memory is taken as they come.
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
