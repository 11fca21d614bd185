package budget

import (
	"context"
	"math"
	"sync"
)

// An Account is what one request holds. It is safe for concurrent use.
type Account struct {
	s *Server

	mu       sync.Mutex
	requests int64 // whose account it is
	received int64 // their bytes, decompressed
	expand   int64 // requests that have values which stand for many
	padding  struct{ rows, elements int }
	others   int64 // bytes of what the request makes large that other accounts hold
	used     int64 // of what the request makes large
	model    int64 // of what the model takes for the rows that were sent
	reserved int64 // of the Server, for both
	closed   bool
	refused  *Error
}

// Shares of the Server are taken in steps of chunk, and given back once spare are too many.
const (
	chunk     = 16 << 10
	maxUnused = 256 << 10
)

// Open begins the account of a request. Close ends it.
func (s *Server) Open() *Account {
	if s == nil {
		return nil
	}
	return &Account{s: s, requests: 1}
}

// Server returns whose account it is; nil: nobody's.
func (a *Account) Server() *Server {
	if a == nil {
		return nil
	}
	return a.s
}

// Combine begins the account of what requests do together: it may hold the sum of what each may, less what they hold. Close ends it.
func Combine(of []*Account) *Account {
	var j *Account
	for _, a := range of {
		if a == nil {
			continue
		}
		if j == nil {
			j = &Account{s: a.s}
		}
		a.mu.Lock()
		j.requests += a.requests
		j.received += a.received
		j.expand += a.expand
		j.others += a.used
		a.mu.Unlock()
	}
	return j
}

// Received notes that n bytes of the request are here, decompressed; that they are held is Reserve's to count.
func (a *Account) Received(n int) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.received += int64(n)
}

// SentBytesFor reports whether n things may be what the request was sent for, one by one: it has as many bytes.
func (a *Account) SentBytesFor(n int) bool {
	if a == nil {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(n) <= a.received
}

// Pad notes that so many rows, and elements of all rows, of the batch that the requests run in next were not sent: the batch was
// filled up with them.
func (a *Account) Pad(rows, elements int) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.padding.rows, a.padding.elements = rows, elements
}

// WithoutPadding returns how many of the rows and elements of a batch it was not filled up with.
func (a *Account) WithoutPadding(rows, elements int) (int, int) {
	if a == nil {
		return rows, elements
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(rows-a.padding.rows, 0), max(elements-a.padding.elements, 0)
}

// AllowExpansion notes that a few values stand for many, for which a request may take Expansion besides.
func (a *Account) AllowExpansion() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expand = a.requests
}

// Reserve counts n bytes that are about to be allocated. Its error is an *Error: they must not be.
func (a *Account) Reserve(n int) error { return a.reserve(int64(n), false) }

// ReserveModel is Reserve of what a model computes for rows that were sent in full: what the bytes of the request allow does
// not bound it.
func (a *Account) ReserveModel(n int) error { return a.reserve(int64(n), true) }

// ReserveArray is Reserve of count things of so many bytes each.
func (a *Account) ReserveArray(count, size int) error {
	if size > 0 && count > math.MaxInt64/2/size {
		return a.reserve(math.MaxInt64/2, false)
	}
	return a.reserve(int64(count)*int64(size), false)
}

func (a *Account) reserve(n int64, model bool) error {
	if a == nil || n <= 0 {
		return nil
	}
	if n >= largeReserve {
		a.s.collect()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	allowed, limit := a.allowed(), a.limit()
	switch {
	case a.closed: // nobody would give it back
		return a.refuse(&Error{Asked: n, Received: a.received})
	case !model && n > allowed-a.used-a.others:
		return a.refuse(&Error{Asked: n, Held: a.used, Allowed: allowed, Received: a.received})
	case n > limit-a.used-a.model:
		return a.refuse(&Error{Asked: n, Held: a.used + a.model, Allowed: limit, Received: a.received})
	}
	if missing := a.used + a.model + n - a.reserved; missing > 0 {
		step := (missing + chunk - 1) / chunk * chunk
		if !a.s.reserve(step) {
			if step = missing; !a.s.reserve(step) {
				return a.refuse(&Error{Asked: n, Held: a.s.used.Load(), Allowed: a.s.limits.Server, Received: a.received, Server: true})
			}
		}
		a.reserved += step
	}
	if model {
		a.model += n
	} else {
		a.used += n
	}
	return nil
}

// allowed is how much the requests may make of their bytes.
func (a *Account) allowed() int64 {
	if a.s.limits.Request > 0 {
		return a.limit()
	}
	n := Base*a.requests + Factor*min(a.received, math.MaxInt64/2/Factor) + Expansion*a.expand
	return min(n, a.s.limits.Server)
}

// limit is the most that the requests may hold, whatever their bytes.
func (a *Account) limit() int64 {
	l := a.s.limits
	if l.Request == 0 || l.Request > l.Server/a.requests {
		return l.Server
	}
	return l.Request * a.requests
}

// Fits reports whether Reserve of n bytes would do now, without refusing anything.
func (a *Account) Fits(n int) bool { return a.fits(int64(n), false) }

// FitsModel is Fits of ReserveModel.
func (a *Account) FitsModel(n int) bool { return a.fits(int64(n), true) }

func (a *Account) fits(n int64, model bool) bool {
	if a == nil || n <= 0 {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	held := a.used + a.model
	return !a.closed && (model || n <= a.allowed()-a.used-a.others) && n <= a.limit()-held && n <= a.s.limits.Server-a.s.used.Load()+a.reserved-held
}

func (a *Account) refuse(e *Error) error {
	if a.refused == nil {
		a.refused = e
	}
	return e
}

// Refused returns the first error that the account gave; nil: none.
func (a *Account) Refused() *Error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refused
}

// Release counts n bytes of Reserve that nobody needs any more.
func (a *Account) Release(n int) { a.release(int64(n), false) }

// ReleaseModel is Release of ReserveModel.
func (a *Account) ReleaseModel(n int) { a.release(int64(n), true) }

func (a *Account) release(n int64, model bool) {
	if a == nil || n <= 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if model {
		n = min(n, a.model)
		a.model -= n
	} else {
		n = min(n, a.used)
		a.used -= n
	}
	a.s.garbage.Add(n)
	if over := a.reserved - a.used - a.model; over > maxUnused {
		a.reserved -= over
		a.s.release(over)
	}
}

// A Mark is what an account held at some time.
type Mark struct{ used, model int64 }

// Mark returns what the account holds.
func (a *Account) Mark() (m Mark) {
	if a == nil {
		return m
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return Mark{a.used, a.model}
}

// ReleaseSince gives back what was taken since the mark, but for kept bytes of it.
func (a *Account) ReleaseSince(to Mark, kept int) {
	if a == nil {
		return
	}
	now := a.Mark()
	model := max(now.model-to.model, 0)
	used := max(now.used-to.used, 0)
	left := int64(kept)
	fromUsed := max(used-left, 0)
	left -= used - fromUsed
	a.release(fromUsed, false)
	a.release(max(model-left, 0), true)
}

// Held returns how many bytes are counted.
func (a *Account) Held() int64 {
	m := a.Mark()
	return m.used + m.model
}

// Detach moves n bytes of Reserve out of the account, which may be closed before they are given back: by release, once.
func (a *Account) Detach(n int) (release func()) {
	if a == nil || n <= 0 {
		return func() {}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	detached := min(int64(n), a.used)
	a.used -= detached
	a.reserved -= detached
	return sync.OnceFunc(func() {
		a.s.garbage.Add(detached)
		a.s.release(detached)
	})
}

// Transfer moves n bytes, which a result takes, to the account that pays for them from now on, as for what a model takes. The
// Server counts them all the time; the new account takes what a does not hold.
func (a *Account) Transfer(n int, to *Account) error {
	if a == nil || to == nil {
		return to.ReserveModel(n)
	}
	moved := a.withdraw(int64(n))
	if err := to.deposit(moved); err != nil {
		a.s.garbage.Add(moved)
		a.s.release(moved)
		return err
	}
	return to.reserve(int64(n)-moved, true)
}

// withdraw takes up to n bytes out of the account, which the Server goes on counting.
func (a *Account) withdraw(n int64) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	model := min(n, a.model)
	used := min(n-model, a.used)
	a.model -= model
	a.used -= used
	a.reserved -= model + used
	return model + used
}

// deposit puts n bytes that the Server counts into the account.
func (a *Account) deposit(n int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if limit := a.limit(); a.closed || n > limit-a.used-a.model {
		return a.refuse(&Error{Asked: n, Held: a.used + a.model, Allowed: limit, Received: a.received})
	}
	a.model += n
	a.reserved += n
	return nil
}

// Close gives back all that the account still holds. Closing it again does nothing.
func (a *Account) Close() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	a.closed = true
	a.s.garbage.Add(a.used + a.model)
	a.s.release(a.reserved)
	a.used, a.model, a.reserved = 0, 0, 0
	a.s.scheduleFree()
}

type key struct{}

// With returns ctx with the account of its request.
func With(ctx context.Context, a *Account) context.Context {
	if a == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, a)
}

// Of returns the account of a request by its context, nil where it has none.
func Of(ctx context.Context) *Account {
	a, _ := ctx.Value(key{}).(*Account)
	return a
}
