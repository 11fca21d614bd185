package admission

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// Connections of two listeners share places; a silent one makes room for another; a closed one, even if closed twice, returns one place.
func TestPlaces(t *testing.T) {
	p := NewPlaces(2, nil)
	came := make(chan net.Conn, 10)
	var at []string
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		at = append(at, l.Addr().String())
		placed := p.Listener(l)
		go func() {
			for {
				c, err := placed.Accept()
				if err != nil {
					return
				}
				came <- c
			}
		}()
	}
	dial := func(i int) (client, server net.Conn) {
		c, err := net.Dial("tcp", at[i])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c, <-came
	}
	silent, first := dial(0)
	_, second := dial(1)
	client, third := dial(0)
	if n, err := silent.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Errorf("the connection that was silent longest: got %d bytes and %v, expected its end", n, err)
	}
	if p.Open() != 2 {
		t.Errorf("got %d places taken, expected 2", p.Open())
	}
	_, _, _ = first.Close(), second.Close(), second.Close()
	if p.Open() != 1 {
		t.Errorf("got %d places taken, expected 1", p.Open())
	}
	if _, ok := third.(syscall.Conn); !ok {
		t.Error("a connection of TCP is none any more")
	}
	go func() { _, _ = third.Write([]byte("x")); _ = third.Close() }()
	if b, err := io.ReadAll(client); string(b) != "x" || err != nil {
		t.Errorf("got %q and %v of a connection that has a place", b, err)
	}
}

// peerConn is a connection from an address.
type peerConn struct {
	net.Conn
	from   net.Addr
	closed atomic.Bool
}

func (c *peerConn) RemoteAddr() net.Addr       { return c.from }
func (c *peerConn) Read(b []byte) (int, error) { return 1, nil }
func (c *peerConn) Close() error               { c.closed.Store(true); return nil }

// impatient returns places whose connections may be closed at once.
func impatient(most int, log *slog.Logger) *Places {
	p := NewPlaces(most, log)
	p.fair = 0
	return p
}

// crowdOf takes n places from an address.
func crowdOf(t *testing.T, p *Places, address string, n int) (all []*Place) {
	t.Helper()
	for i := range n {
		c := &peerConn{from: net.TCPAddrFromAddrPort(mustAddr(address, i+1))}
		place, ok := p.take(c)
		if !ok {
			t.Fatalf("connection %d from %s is refused", i, address)
		}
		all = append(all, place)
	}
	return all
}

func closedOf(all []*Place) (n int) {
	for _, p := range all {
		if p.raw.(*peerConn).closed.Load() {
			n++
		}
	}
	return n
}

// Strangers who fill all places make room for others, first from the address with the most places.
func TestPlacesOfManyAddresses(t *testing.T) {
	p := impatient(10, nil)
	few := crowdOf(t, p, "10.0.0.1", 2)
	many := crowdOf(t, p, "10.0.0.2", 8)
	one := crowdOf(t, p, "10.0.0.3", 1)
	if closedOf(few) != 0 || closedOf(many) != 1 || !many[0].raw.(*peerConn).closed.Load() || p.Open() != 10 {
		t.Errorf("closed %d of few and %d of many, %d are open", closedOf(few), closedOf(many), p.Open())
	}
	crowdOf(t, p, "10.0.0.2", 20) // they displace each other
	if closedOf(few)+closedOf(one) != 0 || p.Open() != 10 {
		t.Errorf("closed %d of few, %d of one, %d are open", closedOf(few), closedOf(one), p.Open())
	}
}

// An IPv6 network counts as one address: a client may have all of it.
func TestPlacesOfANetwork(t *testing.T) {
	p := impatient(6, nil)
	few := crowdOf(t, p, "10.0.0.1", 2)
	var network []*Place
	for i := range 4 {
		network = append(network, crowdOf(t, p, fmt.Sprintf("2001:db8::%d", i), 1)...)
	}
	crowdOf(t, p, "10.0.0.3", 1)
	if closedOf(few) != 0 || closedOf(network) != 1 {
		t.Errorf("closed %d of few and %d of the network, expected 0 and 1", closedOf(few), closedOf(network))
	}
}

// Clients behind one address have all places. Connections that had calls stay as long as there are others, and active ones longer than
// silent ones. Connections in use stay; then only addresses with few connections get in.
func TestPlacesInUse(t *testing.T) {
	var text bytes.Buffer
	p := impatient(4, slog.New(slog.NewTextHandler(&text, nil)))
	all := crowdOf(t, p, "10.0.0.1", 4)
	all[0].Begin()
	all[0].End()
	if _, err := all[1].conn().Read(nil); err != nil {
		t.Fatal(err)
	}
	all = append(all, crowdOf(t, p, "10.0.0.1", 1)...)
	if !all[2].raw.(*peerConn).closed.Load() || closedOf(all) != 1 {
		t.Errorf("%d are closed, expected the third, which was silent and had no call", closedOf(all))
	}
	for _, i := range []int{0, 1, 3, 4} {
		all[i].Begin()
	}
	if _, ok := p.take(&peerConn{from: all[0].raw.RemoteAddr()}); ok || closedOf(all) != 1 {
		t.Errorf("where all are in use: got in: %t, %d are closed", ok, closedOf(all))
	}
	if !strings.Contains(text.String(), "all places") || strings.Count(text.String(), "\n") != 1 {
		t.Errorf("the log says %q, expected one line", &text)
	}
	probe := crowdOf(t, p, "10.0.0.9", 1) // a spare place
	crowdOf(t, p, "10.0.0.8", 1)
	if closedOf(probe) != 1 || closedOf(all) != 1 {
		t.Errorf("the spare place: %d of 1 are closed, and %d others", closedOf(probe), closedOf(all))
	}
	all[3].End()
	all[4].Keep()
	all[4].Keep()
	all[4].End()
	crowdOf(t, p, "10.0.0.1", 1)
	if all[4].raw.(*peerConn).closed.Load() {
		t.Error("the connection of somebody who is known is closed")
	}
}

// If all connections of the address with the most are in use, silent ones of others make room, but not for an address that has more.
func TestPlacesBesideABusyAddress(t *testing.T) {
	p := impatient(12, nil)
	busy, idle := crowdOf(t, p, "10.0.0.1", 7), crowdOf(t, p, "10.0.0.2", 5)
	for _, place := range busy {
		place.Begin()
	}
	for _, place := range idle {
		place.Begin()
		place.End()
	}
	if _, ok := p.take(&peerConn{from: busy[0].raw.RemoteAddr()}); ok || closedOf(idle) != 0 {
		t.Errorf("the busy address got in: %t, %d of the other are closed", ok, closedOf(idle))
	}
	crowdOf(t, p, "10.0.0.2", 1)
	if closedOf(idle) != 1 || closedOf(busy) != 0 || p.Open() != 12 {
		t.Errorf("%d silent and %d busy ones are closed, %d are open", closedOf(idle), closedOf(busy), p.Open())
	}
}

// Places are found from the addresses that servers pass on; a use also counts for the connection below.
func TestPlaceOf(t *testing.T) {
	below, above := impatient(1, nil), impatient(1, nil)
	c := crowdOf(t, below, "10.0.0.1", 1)[0].conn()
	place, _ := above.take(c)
	ctx := ConnContext(context.Background(), place.conn())
	if PlaceOf(ctx) != place || PlaceOf(context.Background()) != nil || ConnPlace(&peerConn{}) != nil {
		t.Error("the place is not found, or one is that there is not")
	}
	PlaceOf(ctx).Begin()
	if _, ok := below.take(&peerConn{from: place.raw.RemoteAddr()}); !ok || place.raw.(*conn).Conn.(*peerConn).closed.Load() {
		t.Errorf("got in by a spare place: %t, expected so, and that nothing is closed", ok)
	}
	if text, err := place.conn().RemoteAddr().(*address).MarshalText(); string(text) != "10.0.0.1:1" || err != nil {
		t.Errorf("the address is shown as %q, %v", text, err)
	}
	var none *Place
	none.Begin()
	none.Keep()
	none.End()
}

func mustAddr(address string, port int) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(address), uint16(port))
}

// A connection has a moment to say something before it is closed for another, which waits for that. Nobody waits for a few young ones.
func TestPlacesAreKeptForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlaces(32, nil)
		begun := time.Now()
		all := crowdOf(t, p, "10.0.0.1", 32)
		time.Sleep(fairMoment / 2)
		late := crowdOf(t, p, "10.0.0.1", 1)
		if took := time.Since(begun); took != fairMoment || closedOf(all) != 1 {
			t.Errorf("%d of 32 are closed after %v, expected 1 after %v", closedOf(all), took, fairMoment)
		}
		for _, place := range all[1:] {
			place.Begin()
		}
		time.Sleep(fairMoment * 3 / 4) // the moment of the late one began when it got its place
		begun = time.Now()
		if _, ok := p.take(&peerConn{from: all[0].raw.RemoteAddr()}); ok || time.Since(begun) > 0 || closedOf(late) > 0 {
			t.Errorf("where all but one are in use: got in: %t after %v, expected a refusal at once", ok, time.Since(begun))
		}
		for _, q := range []*queue{&p.fresh, &p.known} {
			for len(q.most) > 0 {
				q.most[0].places.Front().Value.(*Place).close()
			}
		}
		time.Sleep(time.Hour)
	})
}

// A connection whose client still has a reply to receive is closed after idle ones, but before a newcomer is refused.
func TestPlacesOfWaitingReplies(t *testing.T) {
	p := impatient(3, nil)
	all := crowdOf(t, p, "10.0.0.1", 3)
	for _, place := range all[:2] { // both had a call
		place.Begin()
		place.End()
	}
	data, _ := following(all[0], 100)
	waiting, _ := following(all[2], 100)
	all = append(all, crowdOf(t, p, "10.0.0.1", 1)...)
	if !all[1].raw.(*peerConn).closed.Load() || closedOf(all) != 1 {
		t.Errorf("%d are closed, expected the second, which was idle", closedOf(all))
	}
	all[3].Begin()
	data.Free()
	crowdOf(t, p, "10.0.0.1", 1)
	if !all[0].raw.(*peerConn).closed.Load() || closedOf(all) != 2 {
		t.Errorf("%d are closed, expected the first besides, whose reply was taken", closedOf(all))
	}
	waiting.Free()
}

// If all connections owe replies, one that never had a call is closed before one that had.
func TestPlacesThatAllOweReplies(t *testing.T) {
	p := impatient(2, nil)
	all := crowdOf(t, p, "10.0.0.1", 2)
	all[0].Begin()
	all[0].End()
	for _, place := range all {
		data, _ := following(place, 100)
		defer data.Free()
	}
	crowdOf(t, p, "10.0.0.2", 1)
	if !all[1].raw.(*peerConn).closed.Load() || closedOf(all) != 1 {
		t.Errorf("%d are closed, expected the second, which never had a call", closedOf(all))
	}
}

// A client that is slow to read the reason for its refusal can still read it.
func TestRefusalsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, client := net.Pipe()
		(&refusals{text: HTTPRefusal(NoRoom)}).refuse(near)
		time.Sleep(2 * lingering)
		if text, err := io.ReadAll(client); string(text) != string(HTTPRefusal(NoRoom)) || err != nil {
			t.Errorf("got %q and %v", text, err)
		}
	})
}

// A refused connection reads the reason, even if it has sent data that nobody reads.
func TestRefusalsAreRead(t *testing.T) {
	for name, r := range map[string]Refusal{"HTTP": HTTPRefusal(NoRoom), "gRPC": GRPCRefusal()} {
		p := impatient(1, nil)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		accepted := make(chan net.Conn, 10)
		go func() {
			for placed := p.ListenerOf(l, r); ; {
				c, err := placed.Accept()
				if err != nil {
					return
				}
				ConnPlace(c).Begin()
				accepted <- c
			}
		}()
		for range 2 { // a place, and the spare one
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			defer (<-accepted).Close()
		}
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write(make([]byte, 1000))
		if text, err := io.ReadAll(c); string(text) != string(r) || !strings.Contains(string(text), NoRoom) {
			t.Errorf("%s: got %q and %v, expected %q", name, text, err, r)
		}
		_, _ = c.Close(), l.Close()
	}
}
