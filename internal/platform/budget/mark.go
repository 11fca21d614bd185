package budget

// A Mark is the memory that an account held at some time, or took since.
type Mark struct {
	used, model int64
	fixed       int64 // of model
}

// Mark returns what the account holds.
func (a *Account) Mark() (m Mark) {
	if a == nil {
		return m
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return Mark{a.used, a.model, a.fixed}
}

// Since returns the memory that was reserved since the mark and is still held.
func (a *Account) Since(from Mark) Mark { return a.Mark().Since(from) }

// Since returns the excess over another mark.
func (m Mark) Since(from Mark) Mark {
	return Mark{max(m.used-from.used, 0), max(m.model-from.model, 0), max(m.fixed-from.fixed, 0)}
}

// Return releases m, a result of Since, and returns what is still held.
func (a *Account) Return(m Mark) (left Mark) {
	if a == nil {
		return left
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.s.garbage.Add(a.giveBack(m.used, false) + a.giveBack(m.model, true))
	a.fixed = min(max(a.fixed-m.fixed, 0), a.model)
	return Mark{a.used, a.model, a.fixed}
}

// ReleaseSince releases the memory reserved since the mark, except kept bytes.
func (a *Account) ReleaseSince(to Mark, kept int) {
	left := a.Since(to)
	keep := int64(kept)
	used := max(left.used-keep, 0)
	keep -= left.used - used
	a.Return(Mark{used, max(left.model-keep, 0), left.fixed})
}

// Bytes is the total number of bytes.
func (m Mark) Bytes() int64 { return m.used + m.model }

// Held returns how many bytes are counted.
func (a *Account) Held() int64 { return a.Mark().Bytes() }
