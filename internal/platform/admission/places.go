package admission

import (
	"log/slog"
	"net"
	"sync"
	"time"
)

// Places limits the connections of some listeners together: a client that keeps opening connections exhausts neither the memory nor the
// open files of the process. When all places are taken, a silent connection makes room for a new one. Connections that never had a call go
// first, and among these one of the address with the most. So strangers who take all places keep nobody out, and many clients behind the
// address of a proxy may have all places as long as nobody else needs them. Connections in use (see Place) stay, as do the newest ones;
// connections with a reply to be received go last.
type Places struct {
	most, spare int
	log         *slog.Logger // nil: nothing is logged
	fair        time.Duration
	takeLimit   time.Duration
	pace        pace

	mu      sync.Mutex
	open    int
	fresh   queue // connections that never had a call
	known   queue // connections that had one
	told    time.Time
	looking bool // will look for clients that receive nothing
}

const (
	// spareShare sets how many places (one in spareShare) exist in addition, for addresses with few connections when all others are in
	// use: a busy server must not fail a health probe.
	spareShare = 16
	// fewConnections is how many connections an address may have to use spare places.
	fewConnections = 4
	// fairMoment is how long a connection may be silent before it may be closed for another.
	fairMoment = 100 * time.Millisecond
	// tellEvery is how often the log may report that all places are taken.
	tellEvery = time.Minute
)

// NewPlaces returns that many places, but no more than half of the files that the process may have open. If log is not nil, it reports
// when all are taken.
func NewPlaces(most int, log *slog.Logger) *Places {
	if files := openFiles(); files > 0 {
		most = int(min(int64(most), max(files/2, 1)))
	}
	return &Places{most: most, spare: max(most/spareShare, 1), log: log, fair: fairMoment, takeLimit: takeLimit, pace: newPace(), fresh: newQueue(), known: newQueue()}
}

// Open returns the number of connections.
func (p *Places) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

// Listener returns a listener whose connections take places.
func (p *Places) Listener(l net.Listener) net.Listener { return &placed{Listener: l, p: p} }

// GRPCListener is ListenerOf for a gRPC server. A connection that its client has already closed is dropped before it costs more: nobody
// would receive its answers.
func (p *Places) GRPCListener(l net.Listener, r Refusal) net.Listener {
	return &placed{Listener: l, p: p, refusals: &refusals{text: r}, drops: true}
}

// ListenerOf is Listener for a protocol in which a refused connection reads why: the text of a Refusal.
func (p *Places) ListenerOf(l net.Listener, r Refusal) net.Listener {
	return &placed{Listener: l, p: p, refusals: &refusals{text: r}}
}

type placed struct {
	net.Listener
	p        *Places
	refusals *refusals // nil: refused without a text
	drops    bool      // drops connections that their clients have closed
}

// Accept implements net.Listener.
func (l *placed) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.drops && peerClosed(c) {
			_ = c.Close() // errors do not matter
			continue
		}
		place, ok := l.p.take(c)
		if !ok {
			l.refusals.refuse(c) // there is no room
			continue
		}
		return place.conn(), nil
	}
}

// take gives a connection a place, and may close another one for it. If all others are too new, it waits until one may be closed.
func (p *Places) take(c net.Conn) (*Place, bool) {
	place := &Place{of: p, raw: c, from: originOf(c.RemoteAddr()), below: ConnPlace(c)}
	place.writes.ended.L = &place.writes.mu
	leaves, ok, wait := p.room(place, true)
	if wait > 0 {
		time.Sleep(wait)
		leaves, ok, _ = p.room(place, false)
	}
	switch {
	case !ok:
		p.tell("all places for connections are in use: a new connection is refused", place)
	case leaves != nil:
		_ = leaves.raw.Close() // its server closes it again
		p.tell("all places for connections are taken: those that are silent are closed for new ones", leaves)
	}
	return place, ok
}

// room gives a connection its place, and returns the one that leaves for it. If none may leave yet and canWait is set, wait is the time
// until one may.
func (p *Places) room(place *Place, canWait bool) (leaves *Place, ok bool, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open >= p.most {
		l := &look{now: time.Now(), fair: p.fair}
		if leaves = p.fresh.victim(place.from, l); leaves == nil || leaves.owes.Load() > 0 {
			if known := p.known.victim(place.from, l); leaves == nil || known != nil && known.owes.Load() == 0 {
				leaves = known
			}
		}
		if leaves == nil && canWait && l.young >= p.spare { // with fewer young ones, the others would wait in vain
			return nil, false, l.next
		}
		few := p.fresh.count(place.from)+p.known.count(place.from) < fewConnections
		if leaves == nil && (!few || p.open >= p.most+p.spare) {
			return nil, false, 0
		}
	}
	if leaves != nil {
		p.leave(leaves)
	}
	p.open++
	place.came = time.Now() // its time begins here, however long it has waited
	p.fresh.add(place)
	if !p.looking {
		p.looking = true
		time.AfterFunc(p.takeLimit/8, p.look)
	}
	return leaves, true, 0
}

// leave takes back a place. The mutex is held.
func (p *Places) leave(place *Place) {
	if place.at == nil {
		return // it was taken back before
	}
	place.at.remove(place)
	place.at = nil
	p.open--
}

// tell logs the fate of a connection, from time to time.
func (p *Places) tell(what string, place *Place) {
	if p.log == nil {
		return
	}
	p.mu.Lock()
	now := time.Now()
	quiet := now.Sub(p.told) < tellEvery
	if !quiet {
		p.told = now
	}
	p.mu.Unlock()
	if !quiet {
		p.log.Warn(what, "places", p.most, "address", place.from.String())
	}
}
