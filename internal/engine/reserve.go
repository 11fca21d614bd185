package engine

// Reserve plans memory for batches of up to so many rows, where there is less yet. Where it fails the next Run plans for its batch alone.
func (p *Program) Reserve(rows int) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	if rows <= p.capacity {
		return nil
	}
	defer p.recovered(&err)
	p.forget()
	return p.plan(rows)
}
