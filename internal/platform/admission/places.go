package admission

import (
	"log/slog"
	"net"
	"sync"
	"time"
)

// Places are how many connections some listeners may have together: a client that opens connections without end takes neither the
// memory nor the open files of the process. Where all are taken, one that is silent makes room for a new one: first of those that
// never had a call, and of these one of the address that has the most. So strangers who take all places keep nobody out, and many
// clients behind the one address of a proxy have all places as long as nobody else wants them. Connections that are in use (see
// Place) stay, and so do those that have come just now; those whose client has yet to take a reply go last.
type Places struct {
	most, spare int
	log         *slog.Logger // nil: nothing is logged
	fair        time.Duration
	takeLimit   time.Duration
	pace        pace

	mu      sync.Mutex
	open    int
	fresh   queue // connections that never had a call
	known   queue // those that had one
	told    time.Time
	looking bool // will look for clients that take nothing
}

const (
	// spareShare is the part of the places that there is besides for addresses with few connections, where all others are in use: a
	// probe of the server's health does not fail because the server has much to do.
	spareShare = 16
	// fewConnections are those of an address that spare places are for.
	fewConnections = 4
	// fairMoment is how long a connection has to say something before it may be closed for another.
	fairMoment = 100 * time.Millisecond
	// tellEvery is how often the log says that all places are taken.
	tellEvery = time.Minute
)

// NewPlaces returns so many places, and no more than half of the files that the process may have open. The log, if there is one,
// hears that all are taken.
func NewPlaces(most int, log *slog.Logger) *Places {
	if files := openFiles(); files > 0 {
		most = int(min(int64(most), max(files/2, 1)))
	}
	return &Places{most: most, spare: max(most/spareShare, 1), log: log, fair: fairMoment, takeLimit: takeLimit, pace: newPace(), fresh: newQueue(), known: newQueue()}
}

// Open returns how many connections there are.
func (p *Places) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

// Listener returns a listener whose connections take places.
func (p *Places) Listener(l net.Listener) net.Listener { return &placed{Listener: l, p: p} }

// GRPCListener is ListenerOf for a gRPC server. A connection that its client has closed already is dropped before it costs more than that:
// its calls would have nobody to answer to.
func (p *Places) GRPCListener(l net.Listener, r Refusal) net.Listener {
	return &placed{Listener: l, p: p, refusals: &refusals{text: r}, drops: true}
}

// ListenerOf is Listener for a protocol in which a connection that is refused reads why: the text of a Refusal.
func (p *Places) ListenerOf(l net.Listener, r Refusal) net.Listener {
	return &placed{Listener: l, p: p, refusals: &refusals{text: r}}
}

type placed struct {
	net.Listener
	p        *Places
	refusals *refusals // nil: they say nothing
	drops    bool      // connections that are closed by their clients
}

// Accept implements net.Listener.
func (l *placed) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.drops && peerClosed(c) {
			_ = c.Close() // an error changes nothing
			continue
		}
		place, ok := l.p.take(c)
		if !ok {
			l.refusals.refuse(c) // of somebody for whom there is no room
			continue
		}
		return place.conn(), nil
	}
}

// take gives a connection a place, for which it may close another one. Where the others are too new, it waits for them to have had their
// moment.
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
		_ = leaves.raw.Close() // who serves it closes it again
		p.tell("all places for connections are taken: those that are silent are closed for new ones", leaves)
	}
	return place, ok
}

// room gives a connection its place, and returns the one that leaves for it. Where none may leave yet and the new one can wait, wait says
// when one may.
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
		if leaves == nil && canWait && l.young >= p.spare { // for fewer all others would wait in vain
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
	place.came = time.Now() // its moment begins here, however long it has waited
	p.fresh.add(place)
	if !p.looking {
		p.looking = true
		time.AfterFunc(p.takeLimit/8, p.look)
	}
	return leaves, true, 0
}

// leave takes a place back. The mutex is held.
func (p *Places) leave(place *Place) {
	if place.at == nil {
		return // it is back
	}
	place.at.remove(place)
	place.at = nil
	p.open--
}

// tell logs what became of a connection, once in a while.
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
