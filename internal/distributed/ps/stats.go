package ps

import "time"

// Stats count what a server did in this session.
type Stats struct {
	Pushes      uint64 // whole pushes applied, or in synchronous steps accepted
	Duplicates  uint64 // pushes that came again and were not applied again
	Stale       uint64 // pushes dropped as too old
	Steps       uint64 // synchronous steps applied
	Fences      uint64
	FenceHeld   time.Duration // by all fences together
	Queued      uint64        // pushes that waited for a fence
	CopiedBytes uint64        // copied on write while a fence was read
}

func (m *Stats) wire(c *coder) {
	held := uint64(m.FenceHeld)
	for _, v := range []*uint64{&m.Pushes, &m.Duplicates, &m.Stale, &m.Steps, &m.Fences, &held, &m.Queued, &m.CopiedBytes} {
		c.uint64(v)
	}
	if c.reading {
		m.FenceHeld = time.Duration(held)
	}
}
