package dataset

import (
	"context"
	"io"
)

// Zip is the Dataset that combines the elements of several datasets. It ends with the shortest one.
func Zip(in ...Dataset) Dataset { return zip(in) }

type zip []Dataset

func (z zip) Cardinality() int64 {
	n := Infinite
	for _, d := range z {
		switch m := d.Cardinality(); {
		case m == Unknown:
			return Unknown
		case n == Infinite || m != Infinite && m < n:
			n = m
		}
	}
	return n
}

func (z zip) Iterator(p *Pass) (Iterator, error) {
	all := make(zipping, 0, len(z))
	for _, d := range z {
		in, err := p.begin(d)
		if err != nil {
			all.Close()
			return nil, err
		}
		all = append(all, in)
	}
	if len(all) == 0 {
		return empty, nil
	}
	return all, nil
}

type zipping []Iterator

// Next takes an element from each input even if one of them fails, so that they stay aligned.
func (z zipping) Next(ctx context.Context) (Element, error) {
	var all Element
	var failed error
	for _, in := range z {
		e, err := in.Next(ctx)
		if err == io.EOF {
			return nil, err
		}
		if err != nil && failed == nil {
			failed = err
		}
		all = append(all, e...)
	}
	return all, failed
}

func (z zipping) Close() {
	for _, in := range z {
		in.Close()
	}
}
