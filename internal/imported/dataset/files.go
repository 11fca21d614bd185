package dataset

import (
	"context"
	"fmt"
	"io"

	"github.com/goestimator/goestimator/tensor"
)

// FromFiles is the Dataset of the records of n files, one file after another. begin opens file i.
func FromFiles(n int, begin func(i int, limit int) (Records, error)) Dataset {
	return &files{n, begin}
}

type files struct {
	n     int
	begin func(i int, limit int) (Records, error)
}

func (f *files) Cardinality() int64 { return Unknown }

func (f *files) Iterator(p *Pass) (Iterator, error) { return &reading{files: f, p: p}, nil }

type reading struct {
	*files
	p  *Pass
	i  int
	in Records
}

// Next continues with the next file after an error, even if a file cannot be opened; TensorFlow would retry that file forever.
func (r *reading) Next(ctx context.Context) (Element, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.in == nil && r.i == r.n {
			return nil, io.EOF
		}
		var err error
		if r.in == nil {
			r.i++
			if r.in, err = r.begin(r.i-1, r.p.Limit); err != nil {
				return nil, err
			}
		}
		b, err := r.in.Next()
		if err == nil {
			return r.record(b)
		}
		r.Close()
		if err != io.EOF {
			return nil, fmt.Errorf("file %d: %w", r.i-1, err)
		}
	}
}

// record is the element of a record.
func (r *reading) record(b []byte) (Element, error) {
	t := &tensor.Tensor{DType: tensor.String, Strings: [][]byte{b}}
	if r.p.Pay != nil {
		if err := r.p.Pay(t); err != nil {
			return nil, err
		}
	}
	return Element{{T: t}}, nil
}

func (r *reading) Close() {
	if r.in != nil {
		_ = r.in.Close()
		r.in = nil
	}
}
