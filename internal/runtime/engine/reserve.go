package engine

// Reserve plans memory for batches of up to rows rows, unless there is enough already. allow, if not nil, is called before the
// memory is allocated. If either fails, the program keeps the memory that it has.
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
	defer func() { p.allow = nil }()
	p.dropResults()
	return p.exec.reserve(rows)
}

// Shrink frees memory beyond that for batches of rows rows.
func (p *Program) Shrink(rows int) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	if p.capacity > 0 && rows >= p.capacity {
		return nil
	}
	defer p.recovered(&err)
	p.dropResults()
	return p.exec.reserve(rows)
}

// maxStaging is the largest copy of a feed whose memory is kept for reuse, in bytes.
const maxStaging = 1 << 20

// Release drops the feeds and results of the last run, which otherwise stay until the next run. Value then returns nil.
func (p *Program) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropResults()
	if !p.inPlace {
		return
	}
	for _, f := range p.feeds {
		f.op.out[0].mem = nil
		if cap(f.staging) > maxStaging {
			f.staging = nil
		}
	}
	p.shareFeeds()
	for _, r := range p.results {
		if r != nil {
			r.Bytes = nil
		}
	}
}
