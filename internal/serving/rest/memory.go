package rest

import (
	"errors"

	"github.com/goestimator/goestimator/internal/platform/admission"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
)

// keep is the largest memory of each kind that is kept for other requests.
const keep = 8 << 20

// scratch is the memory of one request.
type scratch struct {
	doc     document
	text    []byte
	out     []byte
	account *budget.Account  // pays for all of it
	place   *admission.Place // of the connection, which is in use once the body is there
}

// open begins the account of a request. Where it does not pay for what earlier requests needed it begins with nothing.
func (s *scratch) open(server *budget.Server) {
	a := server.Open()
	if a.Reserve(cap(s.text)+cap(s.out)+nodeSize*cap(s.doc.nodes)+4*cap(s.doc.stack)) != nil {
		*s = scratch{}
		a = server.Open()
	}
	s.account, s.doc.account = a, a
}

// forget lets go of a large text that nothing refers to any more.
func (s *scratch) forget() {
	if cap(s.text) > keep {
		s.account.Release(cap(s.text))
		s.text, s.doc.b = nil, nil
	}
	if nodeSize*cap(s.doc.nodes) > keep {
		s.account.Release(nodeSize * cap(s.doc.nodes))
		s.doc.nodes = nil
	}
}

// free ends the account, and keeps what is small for other requests.
func (s *scratch) free() {
	s.forget()
	if cap(s.out) > keep {
		s.out = nil
	}
	if 4*cap(s.doc.stack) > keep {
		s.doc.stack = nil
	}
	s.account.Close()
	s.place.End()
	s.place, s.account, s.doc.account, s.doc.b = nil, nil, nil, nil
	scratches.Put(s)
}

// grown returns a larger b, with room for n more bytes, for which the account pays.
func grown(a *budget.Account, b []byte, n int) ([]byte, error) {
	size := max(len(b)+n, nextSize(cap(b)))
	if err := a.Reserve(size); err != nil {
		return b, err
	}
	bigger := append(make([]byte, 0, size), b...)
	a.Release(cap(b))
	return bigger, nil
}

// nextSize is how large a buffer becomes that is full: large ones grow by half, so that the old one and the new one are
// not three times what they hold.
func nextSize(size int) int {
	if size < keep {
		return max(2*size, 4096)
	}
	return size + size/2
}

// spent reports whether an error is that of an account: its code and text are what the client must see.
func spent(err error) bool {
	var e *budget.Error
	return errors.As(err, &e)
}

// elementSize is what an element of a tensor takes, in bytes; a string besides what it holds.
func elementSize(d tensor.DType) int {
	if d == tensor.String {
		return stringHeader
	}
	return d.Size()
}

// stringHeader is the size of a []byte.
const stringHeader = 24
