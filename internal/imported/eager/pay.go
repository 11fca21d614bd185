package eager

import (
	"slices"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
)

// Payer says which account pays for the memory of kernels, and how. The zero value counts nothing.
type Payer struct {
	Account *budget.Account
	// Rows says that the computed rows were sent one by one, so that memory which depends on the model alone is charged to it.
	Rows bool
	// Fixed says that the sizes of the outputs depend only on the model and the number of rows, not on the values that were sent.
	Fixed bool
	// Lasting says that the account outlives requests, and pays for each large tensor as long as it lives. Without it, the account pays
	// until the request ends.
	Lasting bool
}

// leastPaid is the size in bytes from which a lasting account pays for a piece of memory. The number of nodes, iterations and elements
// bounds the smaller ones.
const leastPaid = 4 << 10

// counted reports whether an account pays.
func (e *Env) counted() bool { return e != nil && e.Payer.Account != nil }

// payer returns the account that pays, and how.
func (e *Env) payer() Payer {
	if e == nil {
		return Payer{}
	}
	return e.Payer
}

// Take counts n bytes that are about to be allocated. Memory that grew with the values of inputs, or the product of their sizes,
// is charged to the request, all other memory to the model.
func (p Payer) Take(n int, grew bool) error {
	switch {
	case p.Rows && p.Fixed && !p.Lasting:
		return p.Account.ReserveFixed(n)
	case p.models(grew):
		return p.Account.ReserveModel(n)
	default:
		return p.Account.Reserve(n)
	}
}

// Fits reports whether Take would succeed, without refusing anything.
func (p Payer) Fits(n int, grew bool) bool {
	if p.models(grew) {
		return p.Account.FitsModel(n)
	}
	return p.Account.Fits(n)
}

// models reports whether memory is charged to the model; grew is as in Take.
func (p Payer) models(grew bool) bool { return p.Lasting || p.Rows && (p.Fixed || !grew) }

// Make returns the tensor that make makes, of about n bytes, after paying for it.
func (p Payer) Make(n int, make func() (*tensor.Tensor, error)) (*tensor.Tensor, error) {
	if p.Account == nil || !p.Lasting || n < leastPaid {
		return make()
	}
	if err := p.Account.ReserveModel(n); err != nil {
		return nil, err
	}
	t, err := make()
	if err != nil || !p.lend(t, n) {
		p.Account.ReleaseModel(n)
	}
	return t, err
}

// payFor makes a lasting account pay, while t lives, for a tensor that was made elsewhere.
func (p Payer) payFor(t *tensor.Tensor) error {
	n := sizeOf(t)
	if p.Account == nil || !p.Lasting || n < leastPaid {
		return nil
	}
	if err := p.Account.ReserveModel(n); err != nil {
		return err
	}
	if !p.lend(t, n) {
		p.Account.ReleaseModel(n)
	}
	return nil
}

// grown returns all with room for one more element. A lasting account pays for the array's elements as long as the array lives: they may
// be too small to be paid for one by one.
func grown[T any](p Payer, all []T, header int) ([]T, error) {
	if len(all) < cap(all) {
		return all, nil
	}
	size := max(2*len(all), 16)
	n := size * header
	if !p.Lasting || p.Account == nil || n < leastPaid {
		return slices.Grow(all, size-len(all)), nil
	}
	if err := p.Account.ReserveModel(n); err != nil {
		return all, err
	}
	more := append(make([]T, 0, size), all...)
	budget.Lend(p.Account, &more[:1][0], n)
	return more, nil
}

// lend makes a lasting account pay for n bytes while t lives; it reports false if there is nothing to pay for.
func (p Payer) lend(t *tensor.Tensor, n int) bool {
	switch {
	case len(t.Bytes) > 0:
		budget.Lend(p.Account, &t.Bytes[0], n)
	case len(t.Strings) > 0:
		budget.Lend(p.Account, &t.Strings[0], n)
	default:
		return false
	}
	return true
}

// pay counts n bytes that the kernel is about to allocate.
func (c call) pay(n int) error {
	if !c.env.counted() || c.lent != nil && n < leastPaid {
		return nil
	}
	err := c.env.Payer.Take(n, c.grows && n > c.given())
	if err == nil && c.lent != nil {
		*c.lent += n
	}
	return err
}

// keep makes a lasting account pay, while t lives, for the n bytes of t that the kernel has just paid for.
func (c call) keep(t *tensor.Tensor, n int) {
	if c.lent != nil && n >= leastPaid && c.env.Payer.lend(t, n) {
		*c.lent -= n
	}
}

// settle releases what a lasting account pays for while a kernel runs, except strings and lists that it made: these are paid for while they live.
func (c call) settle() {
	p, left := c.env.Payer, *c.lent
	for _, v := range c.out {
		if left < leastPaid {
			break
		}
		switch l, _ := v.Resource.(*tensorList); {
		case l != nil:
			budget.Lend(p.Account, l, left)
			left = 0
		case v.T != nil && v.T.DType == tensor.String && len(v.T.Strings) > 0:
			if n := min(sizeOf(v.T), left); n >= leastPaid {
				p.lend(v.T, n)
				left -= n
			}
		}
	}
	p.Account.ReleaseModel(left)
}

// mark returns the present state of the account.
func (e *Env) mark() budget.Mark {
	if !e.counted() || e.Payer.Lasting {
		return budget.Mark{}
	}
	return e.Payer.Account.Mark()
}

// drop releases what was paid for since the mark, except the size of values: the rest is garbage.
func (e *Env) drop(since budget.Mark, values []Value) {
	if e.counted() && !e.Payer.Lasting {
		e.Payer.Account.ReleaseSince(since, held(values))
	}
}

// given returns the size of the inputs in bytes.
func (c call) given() (n int) {
	for _, v := range c.in {
		n += sizeOf(v.T)
	}
	return n
}

// held returns the size of values in bytes.
func held(values []Value) (n int) {
	for _, v := range values {
		n += weight(v)
	}
	return n
}
