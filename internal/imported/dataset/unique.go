package dataset

import (
	"context"
	"encoding/binary"
	"fmt"
)

// Unique is the Dataset of the elements, tensors of integers or strings, that differ from all earlier ones of the pass.
func Unique(in Dataset) Dataset { return unique{in} }

type unique struct{ in Dataset }

func (u unique) Cardinality() int64 { return Unknown }

func (u unique) Iterator(p *Pass) (Iterator, error) {
	in, err := p.begin(u.in)
	if err != nil {
		return nil, err
	}
	return &uniques{p: p, in: in, seen: map[string]struct{}{}}, nil
}

// uniques is a pass. The keys that it has seen take room until it ends.
type uniques struct {
	p    *Pass
	in   Iterator
	seen map[string]struct{}
	held int
}

// entry is the memory of a key besides its bytes.
const entry = 48

func (u *uniques) Next(ctx context.Context) (Element, error) {
	for {
		e, err := u.in.Next(ctx)
		if err != nil {
			return nil, err
		}
		if len(e) != 1 || e[0].T == nil {
			return nil, fmt.Errorf("unique elements: expected one tensor, got %d components", len(e))
		}
		var key []byte
		for _, d := range e[0].T.Shape {
			key = binary.AppendVarint(key, int64(d))
		}
		key = append(append(key, 0xff), e[0].T.Bytes...)
		for _, s := range e[0].T.Strings {
			key = append(binary.AppendUvarint(key, uint64(len(s))), s...)
		}
		if _, seen := u.seen[string(key)]; seen {
			continue
		}
		if err := u.p.Room.take(len(key) + entry); err != nil {
			return nil, err
		}
		u.held += len(key) + entry
		u.seen[string(key)] = struct{}{}
		return e, nil
	}
}

func (u *uniques) Close() {
	u.p.Room.give(u.held)
	u.held, u.seen = 0, nil
	u.in.Close()
}
