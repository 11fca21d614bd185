package budget

import (
	"context"
	"math"
	"sync"
)

// An Account tracks the memory of one request. It is safe for concurrent use.
type Account struct {
	s *Server

	mu       sync.Mutex
	requests int64 // how many requests share the account
	received int64 // their bytes, decompressed
	inflated int64 // the part beyond Ratio for each compressed byte
	expand   int64 // requests with values that stand for many
	padding  struct{ rows, elements int }
	others   int64 // bytes whose size the requests decide, held by other accounts
	used     int64 // size decided by the requests
	model    int64 // the model's, for rows that were sent
	fixed    int64 // part of model whose size no value decides
	most     int64 // maximum of fixed so far
	reserved int64 // from the Server, for both
	closed   bool
	refused  *Error
	lasting  bool // see OpenLasting
}

// An account reserves memory from the Server in steps of chunk and keeps up to maxUnused unused bytes.
const (
	chunk     = 16 << 10
	maxUnused = 256 << 10
)

// Open opens the account of a request. Close closes it.
func (s *Server) Open() *Account {
	if s == nil {
		return nil
	}
	return &Account{s: s, requests: 1}
}

// Server returns how many requests share the account; nil: nobody's.
func (a *Account) Server() *Server {
	if a == nil {
		return nil
	}
	return a.s
}

// Combine opens an account for the common work of requests. Its limit is the sum of theirs, minus what they hold. Close closes it.
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
		j.inflated += a.inflated
		j.expand += a.expand
		j.others += a.used
		a.mu.Unlock()
	}
	return j
}

// Received records that n bytes of the request have arrived, decompressed. It does not count them as held.
func (a *Account) Received(n int) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.received += int64(n)
}

// Unpacked records that the received bytes came from packed compressed ones. Bytes beyond Ratio times packed raise the limit once, not
// Factor times.
func (a *Account) Unpacked(packed int) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inflated = max(a.received-Ratio*min(int64(packed), math.MaxInt64/Ratio), 0)
}

// SentBytesFor reports whether the request has at least n bytes, so that n values may have been sent one by one.
func (a *Account) SentBytesFor(n int) bool {
	if a == nil {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(n) <= a.received
}

// Pad records how many rows, and elements of all rows, of the next batch are padding.
func (a *Account) Pad(rows, elements int) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.padding.rows, a.padding.elements = rows, elements
}

// WithoutPadding returns the numbers of rows and elements of a batch without its padding.
func (a *Account) WithoutPadding(rows, elements int) (int, int) {
	if a == nil {
		return rows, elements
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(rows-a.padding.rows, 0), max(elements-a.padding.elements, 0)
}

// AllowExpansion records that a few values stand for many; the limit grows by Expansion.
func (a *Account) AllowExpansion() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expand = a.requests
}

// Reserve counts n bytes that are about to be allocated. It returns an *Error if the limit does not allow them.
func (a *Account) Reserve(n int) error { return a.reserve(int64(n), false) }

// ReserveModel is Reserve for results of a model on rows that were sent in full. The size of the request does not bound them.
func (a *Account) ReserveModel(n int) error { return a.reserve(int64(n), true) }

// ReserveFixed is ReserveModel for memory whose size no value of a request decides. It raises the limit for value-dependent memory by the
// same amount, at any later time.
func (a *Account) ReserveFixed(n int) error {
	err := a.reserve(int64(n), true)
	if a == nil || err != nil || n <= 0 {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fixed += int64(n)
	a.most = max(a.most, a.fixed)
	return nil
}

// ReserveArray is Reserve for count values of size bytes each.
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
	err := a.tryReserve(n, model)
	if err != nil && a.lasting && a.s.collected(func() bool { return a.tryReserve(n, model) == nil }) {
		return nil
	}
	return err
}

func (a *Account) tryReserve(n int64, model bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	allowed, limit := a.allowed(), a.limit()
	switch {
	case a.closed: // it would never be released
		return a.refuse(&Error{Asked: n, Received: a.received})
	case !model && n > allowed-a.used-a.others:
		return a.refuse(&Error{Asked: n, Held: a.used, Allowed: allowed, Received: a.received})
	case n > limit-a.used-a.model:
		return a.refuse(&Error{Asked: n, Held: a.used + a.model, Allowed: limit, Received: a.received})
	}
	if missing := a.used + a.model + n - a.reserved; missing > 0 {
		step := missing
		if !a.lasting {
			step = (missing + chunk - 1) / chunk * chunk
		}
		if !a.s.reserve(step) {
			if step = missing; !a.s.reserve(step) {
				return a.refuse(&Error{Asked: n, Held: a.s.used.Load(), Allowed: a.s.limits.Server, Received: a.received, Server: true})
			}
		}
		a.reserved += step
	}
	if a.lasting {
		a.s.taken.Add(n)
	}
	if model {
		a.model += n
	} else {
		a.used += n
	}
	return nil
}

// allowed is the limit that follows from the size of the requests, plus the most that the model has held whatever their values.
func (a *Account) allowed() int64 {
	if a.s.limits.Request > 0 {
		return a.limit()
	}
	n := Base*a.requests + Factor*min(a.received-a.inflated, math.MaxInt64/2/Factor) + a.inflated + Expansion*a.expand
	return min(n, a.s.limits.Server-a.most) + a.most
}

// limit is the limit that does not depend on the requests' size.
func (a *Account) limit() int64 {
	l := a.s.limits
	if l.Request == 0 || l.Request > l.Server/a.requests {
		return l.Server
	}
	return l.Request * a.requests
}

// Fits reports whether Reserve for n bytes would succeed now.
func (a *Account) Fits(n int) bool { return a.fits(int64(n), false) }

// FitsModel is Fits for ReserveModel.
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
	e.Session = a.lasting
	if a.refused == nil {
		a.refused = e
	}
	return e
}

// Refused returns the account's first error; nil: none.
func (a *Account) Refused() *Error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refused
}

// Release releases n bytes from Reserve.
func (a *Account) Release(n int) { a.release(int64(n), false) }

// ReleaseModel releases n bytes from ReserveModel.
func (a *Account) ReleaseModel(n int) { a.release(int64(n), true) }

func (a *Account) release(n int64, model bool) {
	if a == nil || n <= 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.s.garbage.Add(a.giveBack(n, model))
}

// collected releases model memory that the garbage collector has freed: it is no longer garbage.
func (a *Account) collected(n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.giveBack(n, true)
}

// giveBack takes n bytes from the account and returns how many were counted. The mutex is held.
func (a *Account) giveBack(n int64, model bool) int64 {
	if model {
		n = min(n, a.model)
		a.model -= n
		a.fixed = min(a.fixed, a.model)
	} else {
		n = min(n, a.used)
		a.used -= n
	}
	if over := a.reserved - a.used - a.model; over > maxUnused || a.lasting {
		a.reserved -= over
		a.s.release(over)
	}
	return n
}

// Detach moves n bytes from Reserve out of the account, which may be closed before release is called to release them.
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

// Transfer moves the n bytes of a result to another account, as model memory. The Server counts them throughout; the new account reserves
// what a does not hold.
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

// withdraw removes up to n bytes from the account; the Server still counts them.
func (a *Account) withdraw(n int64) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	model := min(n, a.model)
	used := min(n-model, a.used)
	a.model -= model
	a.fixed = min(a.fixed, a.model)
	a.used -= used
	a.reserved -= model + used
	return model + used
}

// deposit adds n bytes, which the Server already counts, to the account.
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

// Close releases everything that the account still holds. Closing it again does nothing.
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
	a.used, a.model, a.fixed, a.reserved = 0, 0, 0, 0
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

// Of returns the account in a request's context, or nil.
func Of(ctx context.Context) *Account {
	a, _ := ctx.Value(key{}).(*Account)
	return a
}
