package ps

import (
	"time"

	"github.com/goestimator/goestimator/internal/distributed/wire"
)

// Stats counts a server's work in this session.
type Stats struct {
	Pushes      uint64 // whole pushes applied, or in synchronous steps accepted
	Duplicates  uint64 // pushes that arrived again and were not applied again
	Stale       uint64 // pushes dropped as too old
	Steps       uint64 // synchronous steps applied
	Fences      uint64
	FenceHeld   time.Duration // by all fences in total
	Queued      uint64        // pushes that waited for a fence
	CopiedBytes uint64        // copied on write while a fence was read
}

func (s Stats) message() *wire.Stats {
	return &wire.Stats{Pushes: s.Pushes, Duplicates: s.Duplicates, Stale: s.Stale, Steps: s.Steps, Fences: s.Fences,
		FenceHeldNs: uint64(s.FenceHeld), Queued: s.Queued, CopiedBytes: s.CopiedBytes}
}

func statsOf(m *wire.Stats) Stats {
	return Stats{Pushes: m.GetPushes(), Duplicates: m.GetDuplicates(), Stale: m.GetStale(), Steps: m.GetSteps(), Fences: m.GetFences(),
		FenceHeld: time.Duration(m.GetFenceHeldNs()), Queued: m.GetQueued(), CopiedBytes: m.GetCopiedBytes()}
}
