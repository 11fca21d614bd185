package admission

import (
	"cmp"
	"container/heap"
	"container/list"
	"net"
	"net/netip"
	"time"
)

// origin identifies the client of a connection: its address or, for IPv6, the 64-bit network, which usually belongs to one client. It is
// the zero value for connections without an address, such as Unix sockets.
type origin = netip.Prefix

func originOf(a net.Addr) origin {
	if below, ok := a.(*address); ok {
		a = below.Addr
	}
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return origin{}
	}
	ip := t.AddrPort().Addr().Unmap()
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.WithZone("").Prefix(bits) // the zero value for an invalid address
	return p
}

// queue holds places by origin: the origin with the most places first, and within an origin the least recently examined first.
type queue struct {
	origins map[origin]*crowd
	most    crowds
}

// crowd holds the places of an origin.
type crowd struct {
	from   origin
	places *list.List
	index  int // in the heap
}

func newQueue() queue { return queue{origins: map[origin]*crowd{}} }

// count returns how many places an origin has.
func (q *queue) count(from origin) int {
	if c := q.origins[from]; c != nil {
		return c.places.Len()
	}
	return 0
}

func (q *queue) add(p *Place) {
	c := q.origins[p.from]
	if c == nil {
		c = &crowd{from: p.from, places: list.New()}
		q.origins[p.from] = c
		heap.Push(&q.most, c)
	}
	p.at, p.element = q, c.places.PushBack(p)
	heap.Fix(&q.most, c.index)
}

func (q *queue) remove(p *Place) {
	c := q.origins[p.from]
	c.places.Remove(p.element)
	if c.places.Len() > 0 {
		heap.Fix(&q.most, c.index)
		return
	}
	heap.Remove(&q.most, c.index)
	delete(q.origins, p.from)
}

// looks is how many places are examined to find one that can be closed.
const looks = 1024

// look is one search for a place that makes room.
type look struct {
	now   time.Time
	fair  time.Duration // how long a connection lives before it may be closed
	young int           // connections found that are younger
	next  time.Duration // until the first of them may be closed
}

// mayLeave reports whether an unused place is old enough to be closed.
func (l *look) mayLeave(p *Place) bool {
	left := l.fair - l.now.Sub(p.came)
	if left <= 0 {
		return true
	}
	if p.seenBy != l { // each is looked at twice
		p.seenBy = l
		l.young++
	}
	if l.next == 0 || left < l.next {
		l.next = left
	}
	return false
}

// victim returns a place that makes room for one from the given origin: a place of the origin with the most places or, if all of these are
// in use, of another origin with no fewer than the new one's. It returns nil if there is none.
func (q *queue) victim(from origin, l *look) *Place {
	left, own := looks, q.count(from)
	var last *Place
	for i, c := range q.most {
		if i > 0 && c.places.Len() < own {
			continue
		}
		n := min(2*c.places.Len(), (left+1)/2)
		if found := c.victim(n, l); found != nil && found.owes.Load() == 0 {
			return found
		} else if last == nil {
			last = found
		}
		if left -= n; left <= 0 {
			break
		}
	}
	return last
}

// victim examines n places and returns one that has been silent since it was last examined, otherwise one that is not in use, preferring
// places without a waiting reply, otherwise nil. Examined places move to the end.
func (c *crowd) victim(n int, l *look) (found *Place) {
	for range n {
		e := c.places.Front()
		c.places.MoveToBack(e)
		switch p := e.Value.(*Place); {
		case p.uses.Load() > 0 || !l.mayLeave(p):
		case p.owes.Load() > 0:
			found = cmp.Or(found, p)
		case !p.heard.Swap(false):
			return p
		case found == nil || found.owes.Load() > 0:
			found = p
		}
	}
	return found
}

// crowds is a heap with the largest crowd first.
type crowds []*crowd

// Len implements heap.Interface.
func (c crowds) Len() int { return len(c) }

// Less implements heap.Interface.
func (c crowds) Less(i, j int) bool { return c[i].places.Len() > c[j].places.Len() }

// Swap implements heap.Interface.
func (c crowds) Swap(i, j int) {
	c[i], c[j] = c[j], c[i]
	c[i].index, c[j].index = i, j
}

// Push implements heap.Interface.
func (c *crowds) Push(x any) {
	one := x.(*crowd)
	one.index = len(*c)
	*c = append(*c, one)
}

// Pop implements heap.Interface.
func (c *crowds) Pop() any {
	last := len(*c) - 1
	one := (*c)[last]
	(*c)[last] = nil
	*c = (*c)[:last]
	return one
}
