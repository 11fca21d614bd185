package eager

import "github.com/goestimator/goestimator/internal/platform/budget"

// Payer says who pays for what kernels allocate, and how. The zero value: nobody counts.
type Payer struct {
	Account *budget.Account
	// Rows says that the rows which are computed were sent one by one, so that what a model makes of them is its own affair.
	Rows bool
	// Fixed says that the sizes of the outputs follow from the model and the number of rows: no value that was sent decides them.
	Fixed bool
}

// counted reports whether somebody pays.
func (e *Env) counted() bool { return e != nil && e.Payer.Account != nil }

// Take counts n bytes that are about to be allocated. What grew, as the values of inputs or the product of their sizes say,
// is the request's doing, all else is the model's.
func (p Payer) Take(n int, grew bool) error {
	if p.models(grew) {
		return p.Account.ReserveModel(n)
	}
	return p.Account.Reserve(n)
}

// Fits reports whether Take would do now, without refusing anything.
func (p Payer) Fits(n int, grew bool) bool {
	if p.models(grew) {
		return p.Account.FitsModel(n)
	}
	return p.Account.Fits(n)
}

// models reports whether what grew, or did not, is the model's doing.
func (p Payer) models(grew bool) bool { return p.Rows && (p.Fixed || !grew) }

// pay counts n bytes that the kernel is about to allocate.
func (c call) pay(n int) error {
	if !c.env.counted() {
		return nil
	}
	return c.env.Payer.Take(n, c.grows && n > c.given())
}

// mark notes what is paid for.
func (e *Env) mark() budget.Mark {
	if !e.counted() {
		return budget.Mark{}
	}
	return e.Payer.Account.Mark()
}

// drop gives back what was paid for since the mark, but for what the values take: the rest is garbage.
func (e *Env) drop(since budget.Mark, values []Value) {
	if e.counted() {
		e.Payer.Account.ReleaseSince(since, held(values))
	}
}

// given is what the inputs take, in bytes.
func (c call) given() (n int) {
	for _, v := range c.in {
		n += sizeOf(v.T)
	}
	return n
}

// held is what values take, in bytes.
func held(values []Value) (n int) {
	for _, v := range values {
		n += sizeOf(v.T)
		if l, ok := v.Resource.(*tensorList); ok {
			n += l.bytes
		}
	}
	return n
}
