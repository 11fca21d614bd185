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
	place   *admission.Place // of the connection, which is in use once the body has arrived
}

// open begins the account of a request. If it cannot pay for the memory kept from earlier requests, that memory is dropped.
func (s *scratch) open(server *budget.Server) {
	a := server.Open()
	if a.Reserve(cap(s.text)+cap(s.out)+nodeSize*cap(s.doc.nodes)+4*cap(s.doc.stack)) != nil {
		*s = scratch{}
		a = server.Open()
	}
	s.account, s.doc.account = a, a
}

// forget drops a large text that nothing refers to any more.
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

// free ends the account, and keeps small memory for other requests.
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

// grown returns a larger copy of b, with room for n more bytes, and charges it to the account.
func grown(a *budget.Account, b []byte, n int) ([]byte, error) {
	size := max(len(b)+n, nextSize(cap(b)))
	if err := a.Reserve(size); err != nil {
		return b, err
	}
	bigger := append(make([]byte, 0, size), b...)
	a.Release(cap(b))
	return bigger, nil
}

// nextSize is the next size of a full buffer. Large buffers grow by half, so that the old and the new one together stay
// below three times the content.
func nextSize(size int) int {
	if size < keep {
		return max(2*size, 4096)
	}
	return size + size/2
}

// spent reports whether an error comes from an account: the client must see its code and text.
func spent(err error) bool {
	var e *budget.Error
	return errors.As(err, &e)
}

// elementSize is the size of a tensor's element in bytes, without the content of a string.
func elementSize(d tensor.DType) int {
	if d == tensor.String {
		return stringHeader
	}
	return d.Size()
}

// stringHeader is the size of a []byte.
const stringHeader = 24
