package admission

import (
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"google.golang.org/grpc/mem"
)

// following returns a message of that size departing from a place, and a counter of its Gone calls.
func following(place *Place, size int) (mem.BufferSlice, *int) {
	gone := new(int)
	d := Departure{Within: time.Minute, Gone: func() { *gone++ }}
	return d.follow(place, mem.BufferSlice{mem.SliceBuffer("head"), mem.SliceBuffer(make([]byte, size))}), gone
}

// The time limit applies to each piece of a reply, so a client that receives the next piece late keeps its connection, and a client that
// receives no more pieces loses it.
func TestDepartureByPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlaces(10, nil)
		place := crowdOf(t, p, "10.0.0.1", 1)[0]
		data, gone := following(place, 3*lastPiece)
		if len(data) != 4 {
			t.Fatalf("got %d pieces, expected 4", len(data))
		}
		for i, b := range data {
			time.Sleep(50 * time.Second)
			if closedOf([]*Place{place}) != 0 || *gone != 0 {
				t.Fatalf("before piece %d: closed: %d, gone: %d", i, closedOf([]*Place{place}), *gone)
			}
			b.Free()
		}
		if *gone != 1 {
			t.Errorf("a message that was sent is gone %d times, expected 1", *gone)
		}
		data, gone = following(place, 3*lastPiece)
		data[0].Free()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if closedOf([]*Place{place}) != 1 || *gone != 1 {
			t.Errorf("a message that is not taken: closed: %d, gone: %d, expected 1 and 1", closedOf([]*Place{place}), *gone)
		}
		runtime.KeepAlive(data)
		place.close()
	})
}

// Replies are sent in turn: one that waits for two others has three times the limit, as long as the client receives enough on the connection.
func TestDepartureBesideOthers(t *testing.T) {
	for _, taken := range []int{lastPiece, lastPiece - 1} {
		synctest.Test(t, func(t *testing.T) {
			place := crowdOf(t, NewPlaces(10, nil), "10.0.0.1", 1)[0]
			var waiting []mem.BufferSlice
			for range 3 {
				data, _ := following(place, lastPiece)
				waiting = append(waiting, data)
			}
			lasted := 0
			for ; lasted < 10 && closedOf([]*Place{place}) == 0; lasted++ {
				place.writes.begin()
				place.writes.end(taken)
				time.Sleep(time.Minute)
				synctest.Wait()
			}
			if want := map[bool]int{true: 4, false: 1}[taken == lastPiece]; lasted != want {
				t.Errorf("%d bytes taken a minute: closed after %d minutes, expected %d", taken, lasted, want)
			}
			runtime.KeepAlive(waiting)
			place.close()
		})
	}
}

// A reply that the transport forgets closes no connection: its client cancelled the call, and may have others.
func TestDepartureOfForgottenReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlaces(10, nil)
		place := crowdOf(t, p, "10.0.0.1", 1)[0]
		_, gone := following(place, 100)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if closedOf([]*Place{place}) != 0 || *gone != 1 {
			t.Errorf("closed: %d, gone: %d, expected 0 and 1", closedOf([]*Place{place}), *gone)
		}
		data, gone := following(place, 100)
		place.close() // the connection was lost
		if *gone != 1 {
			t.Error("a message is not gone with its connection")
		}
		runtime.KeepAlive(data)
	})
}

// Replies that are cancelled one after the other, each just before its limit, cost at most one garbage collection per 0.1 s, and all are
// found to be forgotten.
func TestForgottenRepliesOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		place := crowdOf(t, NewPlaces(10, nil), "10.0.0.1", 1)[0]
		const step = 10 * time.Millisecond
		waiting := make([]mem.BufferSlice, 100)
		for i := range waiting {
			waiting[i], _ = following(place, 100)
			time.Sleep(step)
		}
		time.Sleep(time.Minute - time.Duration(len(waiting))*step - step/2)
		before := collections.begun.Load()
		for i := range waiting {
			waiting[i] = nil
			time.Sleep(step)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := collections.begun.Load() - before; n < 1 || n > 12 {
			t.Errorf("%d collections within a second, expected at most 12", n)
		}
		if n := place.owes.Load(); n != 0 || closedOf([]*Place{place}) != 0 {
			t.Errorf("%d of %d replies are waited for, closed: %d", n, len(waiting), closedOf([]*Place{place}))
		}
		runtime.KeepAlive(waiting)
		place.close()
	})
}

// Clients that hold their replies lose their connections together: one garbage collection decides for all of them.
func TestHeldRepliesShareCollections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := crowdOf(t, NewPlaces(1000, nil), "10.0.0.1", 100)
		waiting := make([]mem.BufferSlice, len(places))
		for i, place := range places {
			waiting[i], _ = following(place, 100)
		}
		before := collections.begun.Load()
		time.Sleep(time.Minute + longestPause + time.Second)
		synctest.Wait()
		if n := closedOf(places); n != len(places) {
			t.Errorf("%d connections of %d are closed", n, len(places))
		}
		if n := collections.begun.Load() - before; n < 1 || n > 2 {
			t.Errorf("%d collections, expected 1 or 2", n)
		}
		runtime.KeepAlive(waiting)
		for _, place := range places {
			place.close()
		}
	})
}

func TestPauses(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{0: shortestPause, 10 * time.Millisecond: 190 * time.Millisecond, time.Minute: longestPause} {
		if got := pauseAfter(took); got != want {
			t.Errorf("after a collection of %v: %v, expected %v", took, got, want)
		}
	}
}

// A reply for a closed connection does not wait, and a reply that is received while it is being checked closes nothing.
func TestDepartureWithoutAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlaces(10, nil)
		all := crowdOf(t, p, "10.0.0.1", 2)
		all[0].close()
		data, gone := following(all[0], 100)
		if all[0].owes.Load() != 0 {
			t.Error("a connection that is closed owes a reply")
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if closedOf(all) != 0 || *gone != 0 {
			t.Errorf("closed: %d, gone: %d, expected 0 and 0", closedOf(all), *gone)
		}
		if data.Free(); *gone != 1 {
			t.Errorf("a message that was dropped is gone %d times, expected 1", *gone)
		}
		of := &departing{place: all[1]}
		taken := &tracker{of: of}
		of.over()
		of.late(weak.Make(taken))
		of.watch(weak.Make(taken))
		if closedOf(all) != 0 || of.timer != nil {
			t.Error("the watch goes on of a message that was taken")
		}
		runtime.KeepAlive(taken)
		all[1].close()
		time.Sleep(time.Hour)
	})
}

// An empty message, and one without a place, are gone at once, or with their buffers.
func TestDepartureAtItsEdges(t *testing.T) {
	gone := 0
	d := Departure{Within: time.Minute, Gone: func() { gone++ }}
	if got := d.follow(nil, mem.BufferSlice{mem.SliceBuffer(nil)}); len(got) != 0 || gone != 1 {
		t.Errorf("got %d buffers of nothing, gone %d times", len(got), gone)
	}
	got := d.follow(nil, mem.BufferSlice{mem.SliceBuffer("text")})
	if text := got.Materialize(); string(text) != "text" || gone != 1 {
		t.Errorf("got %q, gone %d times", text, gone)
	}
	if got.Free(); gone != 2 {
		t.Errorf("gone %d times, expected 2", gone)
	}
}

// pipeConn is one end of a pipe with an address.
type pipeConn struct{ net.Conn }

func (pipeConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)} }

// pipe returns a connection with a place, and its client.
func pipe(t *testing.T, p *Places) (server, client net.Conn) {
	t.Helper()
	near, client := net.Pipe()
	place, ok := p.take(pipeConn{near})
	if !ok {
		t.Fatal("there is no place")
	}
	return place.conn(), client
}

// A connection is closed if its client receives nothing of a write for a minute. It stays open if the client receives a byte now and then,
// or is a known task.
func TestWritesThatAreNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlaces(10, nil)
		server, client := pipe(t, p)
		known, other := pipe(t, p)
		ConnPlace(known).Keep()
		go func() { _, _ = known.Write([]byte("text")) }()
		failed := make(chan error, 1)
		go func() {
			for range 3 {
				if _, err := server.Write([]byte("text")); err != nil {
					failed <- err
					return
				}
			}
		}()
		for range 2 {
			time.Sleep(50 * time.Second)
			if _, err := client.Read(make([]byte, 4)); err != nil {
				t.Fatal(err)
			}
		}
		begun := time.Now()
		if err := <-failed; err == nil || time.Since(begun) < time.Minute || time.Since(begun) > 2*time.Minute {
			t.Errorf("the write ended with %v after %v, expected an error after one or two minutes", err, time.Since(begun))
		}
		time.Sleep(time.Hour)
		if _, err := other.Read(make([]byte, 4)); err != nil {
			t.Errorf("the connection of a task that is known: %v", err)
		}
		_, _ = server.Close(), known.Close()
	})
}

// Only a little more is read from a client that receives nothing, until it receives something.
func TestReadingWaitsForWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlaces(10, nil)
		server, client := pipe(t, p)
		go func() { _, _ = server.Write([]byte("text")) }()
		sent := 0
		go func() {
			for range 100 {
				n, err := client.Write(make([]byte, readAhead/8))
				if sent += n; err != nil {
					return
				}
			}
			_ = client.Close()
		}()
		got := make(chan int, 1)
		go func() {
			total := 0
			for b := make([]byte, readAhead/8); ; {
				n, err := server.Read(b)
				if total += n; err != nil {
					got <- total
					return
				}
			}
		}()
		synctest.Wait()
		if sent > 2*readAhead {
			t.Errorf("%d bytes are read of a client that takes nothing, expected about %d", sent, readAhead)
		}
		if _, err := client.Read(make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		if n := <-got; n != 100*readAhead/8 {
			t.Errorf("%d bytes are read in all, expected %d", n, 100*readAhead/8)
		}
		_ = server.Close()
	})
}
