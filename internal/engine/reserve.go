package engine

// Reserve plans memory for batches of up to so many rows, where there is less yet; allow, where not nil, is asked before it is
// allocated. Where it fails the next Run plans for its batch alone.
func (p *Program) Reserve(rows int, allow func(bytes int) error) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	if rows <= p.capacity {
		return nil
	}
	defer p.recovered(&err)
	p.allow = allow
	defer p.allowAll()
	p.forget()
	return p.plan(rows)
}

// Shrink gives up memory beyond that for batches of so many rows.
func (p *Program) Shrink(rows int) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	if rows >= p.capacity {
		return nil
	}
	defer p.recovered(&err)
	p.forget()
	return p.plan(rows)
}
