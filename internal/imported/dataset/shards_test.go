package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/goestimator/goestimator/tensor"
)

// begin begins a pass of n shards over d.
func begin(t *testing.T, d Dataset, n int, most int64, p *Pass) (*Shards, func(shard int) string) {
	t.Helper()
	s := NewShards(n)
	pass, err := s.Begin(t.Context(), d, p, most)
	if err != nil {
		t.Fatal(err)
	}
	return s, func(shard int) string { return said(s.Next(t.Context(), shard, pass)) }
}

// said returns an element or error as text.
func said(e Element, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(e[0].T.Int(0))
}

// TestShards: each shard gets its elements in turn, in whatever order the shards ask, and all of them end. Errors count as elements.
func TestShards(t *testing.T) {
	for name, c := range map[string]struct {
		d    Dataset
		most int64
		asks []int
		want string
	}{
		"in turn":            {counting(5), 1, []int{0, 1, 0, 1, 0, 1, 0}, "0 1 2 3 4 EOF EOF"},
		"one first":          {counting(6), 3, []int{1, 1, 1, 0, 0, 0, 1, 0}, "1 3 5 0 2 4 EOF EOF"},
		"no bound":           {counting(6), -1, []int{0, 0, 0, 0, 1, 1, 1, 1}, "0 2 4 EOF 1 3 5 EOF"},
		"nothing waits":      {counting(3), 0, []int{0, 1, 0, 1}, "0 1 2 EOF"},
		"none":               {counting(0), 1, []int{1, 0}, "EOF EOF"},
		"an error":           {Map(counting(9), plus(0), false), 9, []int{1, 1, 1, 1, 0}, "1 3 5 bad element 0"},
		"shard out of range": {counting(3), 1, []int{2, -1, 0}, "shard_num 2: expected 0 to 1 shard_num -1: expected 0 to 1 0"},
	} {
		p := onePass()
		s, ask := begin(t, c.d, 2, c.most, p)
		var got []string
		for _, shard := range c.asks {
			got = append(got, ask(shard))
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: got %s, expected %s", name, got, c.want)
		}
		s.Close()
		if held := p.Room.Held(); held != 0 {
			t.Errorf("%s: %d bytes are still kept", name, held)
		}
	}
}

// TestShardsWait: a shard waits while another shard's buffer, whose element comes first, is full. A canceled call takes nothing.
func TestShardsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ask := begin(t, counting(9), 2, 1, onePass())
		defer s.Close()
		if got := ask(0) + ask(0); got != "02" {
			t.Errorf("got %s", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		out := make(chan string)
		next := func(ctx context.Context, shard int) { out <- said(s.Next(ctx, shard, 1)) }
		go next(ctx, 0) // 3, which comes before 4, has no room beside 1
		synctest.Wait()
		cancel()
		if got := <-out; got != context.Canceled.Error() {
			t.Errorf("canceled: got %s", got)
		}
		go next(t.Context(), 0)
		synctest.Wait()
		if got := ask(1) + <-out; got != "14" {
			t.Errorf("got %s", got)
		}
	})
}

// TestShardsBeginAgain: a new pass ends the earlier one and the calls that wait in it; so does Close.
func TestShardsBeginAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewShards(1)
		if got := said(s.Next(t.Context(), 0, 0)); got != ErrUnset.Error() {
			t.Errorf("got %s", got)
		}
		out := make(chan error)
		for i, end := range []func(){
			func() {
				if n, err := s.Begin(t.Context(), counting(1), onePass(), 1); n != 2 || err != nil {
					t.Errorf("got pass %d, %v", n, err)
				}
				if got := said(s.Next(t.Context(), 0, 2)); got != "0" {
					t.Errorf("got %s", got)
				}
				if got := said(s.Next(t.Context(), 0, 1)); got != "Invalid incarnation id. Provided: 1; Expected: 2" {
					t.Errorf("got %s", got)
				}
			},
			s.Close,
		} {
			n, err := s.Begin(t.Context(), Map(counting(1), waits, false), onePass(), 1)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // one call makes the element, the other waits for it
				go func() {
					_, err := s.Next(t.Context(), 0, n)
					out <- err
				}()
			}
			synctest.Wait()
			end()
			for range 2 {
				if err := <-out; !errors.Is(err, ErrClosed) {
					t.Errorf("end %d: got %v", i, err)
				}
			}
		}
		if _, err := s.Begin(t.Context(), counting(1), onePass(), 1); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// TestShardsWithoutRoom: without room one element waits, however large the buffers may be.
func TestShardsWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := onePass()
		made := 0
		d := Map(counting(1<<40), func(_ context.Context, e Element) (Element, error) {
			made++
			return Element{{T: tensor.New(tensor.Int64, 64)}}, nil
		}, false)
		s, ask := begin(t, d, 2, 1<<60, p)
		ctx, cancel := context.WithCancel(t.Context())
		out := make(chan error)
		go func() {
			for {
				if _, err := s.Next(ctx, 0, 1); err != nil {
					out <- err
					return
				}
			}
		}()
		synctest.Wait()
		if held := p.Room.Held(); held > 4<<10 || made > 20 {
			t.Errorf("%d bytes are kept after %d elements", held, made)
		}
		before := made
		if got := ask(1); got != "0" {
			t.Errorf("got %s", got)
		}
		cancel()
		<-out
		for i := 0; made == before; i++ { // there is room again
			if got := ask(1); got != "0" || i > before {
				t.Fatalf("got %s", got)
			}
		}
		s.Close()
		if held := p.Room.Held(); held != 0 {
			t.Errorf("%d bytes are still kept", held)
		}
	})
}

// TestLostShards: unreachable shards are closed.
func TestLostShards(t *testing.T) {
	closed := make(chan struct{})
	func() {
		if _, err := NewShards(2).Begin(t.Context(), closing{closed}, onePass(), 1); err != nil {
			t.Fatal(err)
		}
	}()
	for {
		runtime.GC()
		select {
		case <-closed:
			return
		default:
			runtime.Gosched()
		}
	}
}

// TestGenerate: the state is made once per pass, and End is called once.
func TestGenerate(t *testing.T) {
	begun, ended, calls := 0, 0, int64(0)
	d := Generate(Generator{
		Begin: func(context.Context, Element) (Element, error) {
			if begun++; begun == 1 {
				return nil, errBad
			}
			return Element{{T: tensor.Scalar(int64(begun))}}, nil
		},
		Next: func(_ context.Context, state Element) (Element, error) {
			if calls++; calls > 2 {
				return nil, fmt.Errorf("no more: %w", ErrRange)
			}
			return Element{{T: tensor.Scalar(10*state[0].T.Int(0) + calls)}}, nil
		},
		End: func(_ context.Context, state Element) (Element, error) {
			ended += int(state[0].T.Int(0))
			return nil, nil
		},
	})
	in, err := d.Iterator(onePass())
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for i, want := range []string{"bad element", "21", "22", io.EOF.Error(), io.EOF.Error()} {
		if got := said(in.Next(t.Context())); got != want {
			t.Errorf("element %d: got %s, expected %s", i, got, want)
		}
	}
	if begun != 2 || ended != 2 || calls != 3 {
		t.Errorf("begun %d, ended with %d, %d calls", begun, ended, calls)
	}
}
