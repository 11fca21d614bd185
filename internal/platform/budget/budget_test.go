package budget

import (
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"
)

// TestLimits checks the edges: exactly the limit is allowed, one byte more is an error that says why.
func TestLimits(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		limits   Limits
		received int
		expands  bool
		allowed  int
		model    int // the most that the model alone may hold
	}{
		"by its bytes":          {Limits{Server: 1 << 30}, 0, false, Base, 1 << 30},
		"by more bytes":         {Limits{Server: 1 << 30}, mib, false, Base + Factor*mib, 1 << 30},
		"with values for many":  {Limits{Server: 1 << 30}, mib, true, Base + Factor*mib + Expansion, 1 << 30},
		"no more than all":      {Limits{Server: 16 * mib}, mib, true, 16 * mib, 16 * mib},
		"by the limit of each":  {Limits{Server: 1 << 30, Request: 1000}, mib, true, 1000, 1000},
		"a limit of each above": {Limits{Server: 1000, Request: 1 << 30}, mib, true, 1000, 1000},
		"beyond all numbers":    {Limits{Server: math.MaxInt64}, math.MaxInt64, true, math.MaxInt64/2/Factor*Factor + Base + Expansion, math.MaxInt64},
	} {
		s := NewServer(c.limits)
		open := func() *Account {
			a := s.Open()
			a.Received(c.received)
			if c.expands {
				a.AllowExpansion()
			}
			return a
		}
		for what, f := range map[string]func(a *Account) (error, error){
			"at once": func(a *Account) (error, error) { return a.Reserve(c.allowed), a.Reserve(1) },
			"in two": func(a *Account) (error, error) {
				return errors.Join(a.Reserve(1), a.Reserve(c.allowed-1)), a.Reserve(1)
			},
			"too much":  func(a *Account) (error, error) { return nil, a.Reserve(c.allowed + 1) },
			"times":     func(a *Account) (error, error) { return nil, a.ReserveArray(math.MaxInt/8, 24) },
			"the model": func(a *Account) (error, error) { return a.ReserveModel(c.model), a.ReserveModel(1) },
		} {
			if what == "times" && c.limits.Server == math.MaxInt64 {
				continue
			}
			a := open()
			ok, err := f(a)
			var e *Error
			if ok != nil || err == nil || !errors.As(err, &e) || e.Server || a.Refused() != e && what != "in two" || status.Code(err) != codes.InvalidArgument {
				t.Errorf("%s, %s: got %v, then %v", name, what, ok, err)
			}
			a.Close()
			if s.Used() != 0 {
				t.Errorf("%s, %s: %d bytes are still counted", name, what, s.Used())
			}
		}
	}
}

// TestServerLimit: memory that one request holds is not available to another until it is released.
func TestServerLimit(t *testing.T) {
	s := NewServer(Limits{Server: 1000})
	a, b := s.Open(), s.Open()
	if err := a.Reserve(600); err != nil {
		t.Fatal(err)
	}
	err := b.Reserve(401)
	var e *Error
	if !errors.As(err, &e) || !e.Server || status.Code(err) != codes.ResourceExhausted {
		t.Fatalf("got %v", err)
	}
	if err := b.ReserveModel(400); err != nil {
		t.Fatal(err)
	}
	a.Close()
	if err := b.Reserve(600); err != nil {
		t.Fatal(err)
	}
	if err := a.Reserve(1); err == nil {
		t.Error("an account that is closed takes memory")
	}
	b.Close()
	b.Close()
	if s.Used() != 0 {
		t.Errorf("%d bytes are still counted", s.Used())
	}
}

// TestDetach: detached memory outlives its account, and is released once.
func TestDetach(t *testing.T) {
	s := NewServer(Limits{Server: 1000})
	a := s.Open()
	if err := a.Reserve(500); err != nil {
		t.Fatal(err)
	}
	release := a.Detach(400)
	a.Close()
	if s.Used() != 400 {
		t.Errorf("%d bytes are counted, expected those that are lent", s.Used())
	}
	release()
	release()
	if s.Used() != 0 {
		t.Errorf("%d bytes are still counted", s.Used())
	}
}

// TestCombine: requests together may hold what their bytes allow, minus what each holds already.
func TestCombine(t *testing.T) {
	s := NewServer(Limits{Server: 1 << 30})
	a, b := s.Open(), s.Open()
	a.Received(1000)
	b.Received(2000)
	if err := b.Reserve(500); err != nil {
		t.Fatal(err)
	}
	j := Combine([]*Account{a, nil, b})
	if err := j.Reserve(2*Base + Factor*3000 - 500); err != nil || !j.SentBytesFor(3000) || j.SentBytesFor(3001) {
		t.Error(err)
	}
	if j.Reserve(1) == nil {
		t.Error("a byte more is allowed")
	}
	a.Close()
	b.Close()
	if s.Used() != j.reserved {
		t.Errorf("%d bytes are counted", s.Used())
	}
	if j.Close(); s.Used() != 0 {
		t.Errorf("%d bytes are still counted", s.Used())
	}
	if Combine(nil) != nil || Combine([]*Account{nil}) != nil {
		t.Error("there is an account of nobody")
	}
}

// TestCombinedLimits checks the edges of combined limits: the sum of the requests' limits, up to the server's.
func TestCombinedLimits(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		limits         Limits
		requests       int
		expand         int // of them
		allowed, model int
	}{
		"by their bytes":        {Limits{Server: 1 << 30}, 3, 0, 3 * (Base + Factor*mib), 1 << 30},
		"one expands":           {Limits{Server: 1 << 30}, 3, 1, 3*(Base+Factor*mib) + Expansion, 1 << 30},
		"two expand":            {Limits{Server: 1 << 30}, 3, 2, 3*(Base+Factor*mib) + 2*Expansion, 1 << 30},
		"no more than all":      {Limits{Server: 64 * mib}, 3, 1, 64 * mib, 64 * mib},
		"by the limit of each":  {Limits{Server: 1 << 30, Request: mib}, 100, 100, 100 * mib, 100 * mib},
		"just the server's":     {Limits{Server: 100 * mib, Request: mib}, 100, 0, 100 * mib, 100 * mib},
		"above the server's":    {Limits{Server: 100*mib - 1, Request: mib}, 100, 0, 100*mib - 1, 100*mib - 1},
		"a limit of all memory": {Limits{Server: 1 << 30, Request: math.MaxInt64}, 3, 0, 1 << 30, 1 << 30},
	} {
		s := NewServer(c.limits)
		var accounts []*Account
		for i := range c.requests {
			accounts = append(accounts, s.Open())
			accounts[i].Received(mib)
			if i < c.expand {
				accounts[i].AllowExpansion()
			}
		}
		for what, take := range map[string]func(a *Account) (error, error){
			"at once":        func(a *Account) (error, error) { return a.Reserve(c.allowed), a.Reserve(1) },
			"the model":      func(a *Account) (error, error) { return a.ReserveModel(c.model), a.ReserveModel(1) },
			"fits":           func(a *Account) (error, error) { return fits(a.Fits(c.allowed)), fits(a.Fits(c.allowed + 1)) },
			"the model fits": func(a *Account) (error, error) { return fits(a.FitsModel(c.model)), fits(a.FitsModel(c.model + 1)) },
		} {
			j := Combine(accounts)
			if ok, over := take(j); ok != nil || over == nil {
				t.Errorf("%s, %s: got %v, then %v", name, what, ok, over)
			}
			j.Close()
		}
		if s.Used() != 0 {
			t.Errorf("%s: %d bytes are still counted", name, s.Used())
		}
	}
}

// TestTransfer: a result is counted once, by the account that has it; a result that cannot be transferred is released.
func TestTransfer(t *testing.T) {
	for name, c := range map[string]struct {
		limits            Limits
		used, model, held int // of the sending account, and of the other one
		n                 int
		left              int // in the sending account
		refused, busy     bool
	}{
		"nothing":              {Limits{Server: 1000}, 10, 20, 0, 0, 30, false, false},
		"of the model":         {Limits{Server: 1000}, 10, 900, 0, 900, 10, false, false},
		"of both":              {Limits{Server: 1000}, 300, 600, 50, 700, 200, false, false},
		"all":                  {Limits{Server: 1000}, 300, 600, 100, 900, 0, false, false},
		"more than is held":    {Limits{Server: 1000}, 0, 600, 100, 900, 0, false, false},
		"one more than may be": {Limits{Server: 1000}, 0, 600, 100, 901, 0, true, false},
		"where there is a lot": {Limits{Server: 1 << 30, Request: 1000}, 0, 900, 100, 900, 0, false, false},
		"where there is none":  {Limits{Server: 1 << 30, Request: 1000}, 0, 900, 101, 900, 0, true, false},
		"while others have it": {Limits{Server: 1000}, 0, 600, 100, 801, 0, true, true},
	} {
		s := NewServer(c.limits)
		from, to, other := s.Open(), s.Open(), s.Open()
		if err := errors.Join(from.Reserve(c.used), from.ReserveModel(c.model), to.ReserveModel(c.held)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c.busy {
			if err := other.ReserveModel(100); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		err := from.Transfer(c.n, to)
		if (err != nil) != c.refused || from.Held() != int64(c.left) || err == nil && to.Held() != int64(c.held+c.n) || s.Used() < from.Held()+to.Held() {
			t.Errorf("%s: %v, %d and %d bytes are held, %d are counted", name, err, from.Held(), to.Held(), s.Used())
		}
		if e := (*Error)(nil); errors.As(err, &e) && (e.Server != c.busy || to.Refused() != e) {
			t.Errorf("%s: %v", name, err)
		}
		for _, a := range []*Account{from, to, other} {
			a.Close()
		}
		if from.Transfer(1, to) == nil || s.Used() != 0 {
			t.Errorf("%s: %d bytes are still counted, or an account that is closed takes memory", name, s.Used())
		}
	}
	a := NewServer(Limits{Server: 1000}).Open()
	if err := errors.Join(a.ReserveModel(400), a.Transfer(400, nil), (*Account)(nil).Transfer(600, a)); err != nil || a.Held() != 1000 {
		t.Errorf("%v, %d bytes are held", err, a.Held())
	}
}

// TestPadding: the padding of the last batch does not count as sent.
func TestPadding(t *testing.T) {
	a := NewServer(Limits{Server: 1000}).Open()
	for _, c := range []struct{ rows, elements, wantRows, wantElements int }{{0, 0, 8, 80}, {3, 35, 5, 45}, {0, 80, 8, 0}, {8, 81, 0, 0}, {9, 0, 0, 80}} {
		a.Pad(c.rows, c.elements)
		if rows, elements := a.WithoutPadding(8, 80); rows != c.wantRows || elements != c.wantElements {
			t.Errorf("%+v: got %d and %d", c, rows, elements)
		}
	}
}

// TestNoAccount: without an account everything is allowed.
func TestNoAccount(t *testing.T) {
	var s *Server
	a := s.Open()
	a.Received(1)
	a.AllowExpansion()
	a.Pad(1, 1)
	if rows, elements := a.WithoutPadding(2, 3); rows != 2 || elements != 3 {
		t.Errorf("%d rows, %d elements", rows, elements)
	}
	m := a.Mark()
	if err := errors.Join(a.Reserve(math.MaxInt), a.ReserveModel(math.MaxInt), a.ReserveArray(math.MaxInt, math.MaxInt)); err != nil || !a.SentBytesFor(math.MaxInt) {
		t.Error(err)
	}
	a.Release(1)
	a.ReleaseModel(1)
	a.ReleaseSince(m, 1)
	a.Detach(1)()
	a.Close()
	if Of(With(t.Context(), a)) != nil || a.Refused() != nil || a.Held() != 0 || s.Used() != 0 {
		t.Error("there is an account")
	}
}

// TestDefaults: without settings, the server's limit is part of the machine's memory, and allows requests.
func TestDefaults(t *testing.T) {
	l := NewServer(Limits{}).Limits()
	if l.Server <= 0 || l.Request != 0 {
		t.Errorf("got %+v", l)
	}
}

// TestCounts: with any reservations and releases, in any order and concurrently, the server counts at least the memory that is held,
// never more than its limit, and zero at the end.
func TestCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 1<<24).Draw(t, "limit")
		s := NewServer(Limits{Server: limit, Request: rapid.SampledFrom([]int64{0, 1000, 1 << 20}).Draw(t, "each")})
		accounts := make([]*Account, 3)
		used, model := make([]int, 3), make([]int, 3)
		var detached []func()
		for i := range accounts {
			accounts[i] = s.Open()
		}
		for range 40 {
			i, n := rapid.IntRange(0, 2).Draw(t, "account"), rapid.SampledFrom([]int{0, 1, 100, 1 << 14, 1<<14 + 1, 1 << 20, 1 << 22, 1 << 25}).Draw(t, "bytes")
			a := accounts[i]
			switch rapid.IntRange(0, 5).Draw(t, "do") {
			case 0, 1:
				if a.Reserve(n) == nil {
					used[i] += n
				}
			case 2:
				if a.ReserveModel(n) == nil {
					model[i] += n
				}
			case 3:
				a.Release(n)
				used[i] -= min(n, used[i])
			case 4:
				a.ReleaseModel(n)
				model[i] -= min(n, model[i])
			case 5:
				detached = append(detached, a.Detach(n))
				used[i] -= min(n, used[i])
			}
			held := int64(0)
			for i := range accounts {
				if got := accounts[i].Held(); got != int64(used[i]+model[i]) {
					t.Fatalf("account %d holds %d, expected %d", i, got, used[i]+model[i])
				}
				held += int64(used[i] + model[i])
			}
			if s.Used() < held || s.Used() > limit {
				t.Fatalf("%d are counted, %d held, the limit is %d", s.Used(), held, limit)
			}
		}
		for _, a := range accounts {
			a.Close()
		}
		for _, release := range detached {
			release()
		}
		if s.Used() != 0 {
			t.Fatalf("%d bytes are still counted", s.Used())
		}
	})
}

func fits(ok bool) error {
	if ok {
		return nil
	}
	return errors.New("it does not fit")
}

// TestFits: memory that fits can be reserved, other memory cannot, whatever is held.
func TestFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewServer(Limits{Server: rapid.SampledFrom([]int64{1 << 16, 1 << 25, 1 << 26}).Draw(t, "limit"), Request: rapid.SampledFrom([]int64{0, 1 << 20}).Draw(t, "each")})
		a, b := s.Open(), s.Open()
		for range 20 {
			x := rapid.SampledFrom([]*Account{a, b}).Draw(t, "account")
			n := rapid.SampledFrom([]int{1, 100, 1<<14 + 1, 1 << 15, 1 << 19, 1 << 20, 1 << 24, 1 << 25}).Draw(t, "bytes")
			switch rapid.IntRange(0, 2).Draw(t, "do") {
			case 0:
				if fits, err := x.Fits(n), x.Reserve(n); fits != (err == nil) {
					t.Fatalf("%d bytes fit: %v; taken: %v", n, fits, err)
				}
			case 1:
				if fits, err := x.FitsModel(n), x.ReserveModel(n); fits != (err == nil) {
					t.Fatalf("%d bytes of the model fit: %v; taken: %v", n, fits, err)
				}
			case 2:
				x.Release(n)
			}
		}
		if a.Close(); a.Fits(1) || a.FitsModel(1) {
			t.Error("something fits into an account that is closed")
		}
		b.Close()
	})
}

// TestReleaseSince: memory reserved since the mark is released, except for the part to keep.
func TestReleaseSince(t *testing.T) {
	s := NewServer(Limits{Server: 1 << 20})
	a := s.Open()
	defer a.Close()
	for _, c := range []struct{ used, model, kept, want int }{{0, 0, 0, 10}, {5, 7, 0, 10}, {5, 7, 3, 13}, {5, 7, 8, 18}, {5, 7, 99, 22}} {
		a.ReleaseSince(Mark{}, 0)
		if err := a.Reserve(10); err != nil {
			t.Fatal(err)
		}
		m := a.Mark()
		if err := errors.Join(a.Reserve(c.used), a.ReserveModel(c.model)); err != nil {
			t.Fatal(err)
		}
		a.ReleaseSince(m, c.kept)
		if a.Held() != int64(c.want) {
			t.Errorf("%+v: %d bytes are held", c, a.Held())
		}
	}
}

// TestFreeing: memory returns to the system after much was released, and requests do not wait for its lock.
func TestFreeing(t *testing.T) {
	for what, begin := range map[string]func(*Server){
		"a large request": func(s *Server) {
			a := s.Open()
			if err := a.Reserve(largeReserve); err != nil {
				t.Error(err)
			}
			a.Close()
		},
		"many small ones": func(s *Server) {
			for range garbageLimit/(largeReserve-1) + 1 {
				a := s.Open()
				if err := a.Reserve(largeReserve - 1); err != nil {
					t.Error(err)
				}
				a.Close()
			}
		},
		"something else": (*Server).FreeSoon,
	} {
		s := NewServer(Limits{Server: 1 << 30})
		if s.Open().Close(); s.freeScheduled.Load() {
			t.Errorf("%s: a small request gives memory back", what)
		}
		begin(s)
		if !s.freeScheduled.Load() {
			t.Fatalf("%s: no memory will go back", what)
		}
		s.mu.Lock()
		done := make(chan bool)
		go func() {
			s.Open().Close()
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Errorf("%s: a request waits for the lock", what)
		}
		s.mu.Unlock()
		for limit := time.Now().Add(time.Minute); s.freeScheduled.Load() || s.lastLarge.Load() != 0 || s.garbage.Load() != 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("%s: the memory did not go back", what)
			}
		}
		s.Close()
	}
}

// TestManyAtOnce is for the race detector.
func TestManyAtOnce(t *testing.T) {
	s := NewServer(Limits{Server: 1 << 26})
	defer s.Close()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 200 {
				a := s.Open()
				a.Received(i << 10)
				for range 5 {
					if a.Reserve(i<<12) == nil {
						a.Release(i << 11)
					}
				}
				release := a.Detach(i << 10)
				a.Close()
				release()
			}
		})
	}
	all.Wait()
	if s.Used() != 0 {
		t.Errorf("%d bytes are still counted", s.Used())
	}
}

// TestUnpacked: for a highly compressed request, the limit is a multiple of the received bytes plus the decompressed size once.
func TestUnpacked(t *testing.T) {
	const mib = 1 << 20
	for packed, want := range map[int]int{1: Base + Factor*Ratio + mib - Ratio, mib / Ratio: Base + Factor*mib, mib: Base + Factor*mib} {
		s := NewServer(Limits{Server: 1 << 30})
		a := s.Open()
		a.Received(mib)
		a.Unpacked(packed)
		j := Combine([]*Account{a})
		for name, of := range map[string]*Account{"alone": a, "in a batch": j} {
			if !of.Fits(want) || of.Fits(want+1) || !of.SentBytesFor(mib) {
				t.Errorf("%d bytes for a MiB, %s: expected %d bytes to fit, and no more", packed, name, want)
			}
		}
		a.Close()
		j.Close()
		s.Close()
	}
	var none *Account
	none.Unpacked(1)
}

// TestReserveFixed: values may enlarge what the model holds at once independently of them, by no more than that; also later, and
// together with others.
func TestReserveFixed(t *testing.T) {
	const most = 1 << 20
	for name, c := range map[string]struct {
		limits Limits
		take   func(a *Account) error
		more   int64
	}{
		"nothing":         {Limits{Server: 1 << 30}, func(*Account) error { return nil }, 0},
		"a piece":         {Limits{Server: 1 << 30}, func(a *Account) error { return a.ReserveFixed(most) }, most},
		"two pieces":      {Limits{Server: 1 << 30}, func(a *Account) error { return errors.Join(a.ReserveFixed(most), a.ReserveFixed(1)) }, most + 1},
		"the model":       {Limits{Server: 1 << 30}, func(a *Account) error { return a.ReserveModel(most) }, 0},
		"the server":      {Limits{Server: Base + 2*most}, func(a *Account) error { return a.ReserveFixed(most) }, 0},
		"the request":     {Limits{Server: 1 << 30, Request: Base + most}, func(a *Account) error { return a.ReserveFixed(most) }, 0},
		"one after other": {Limits{Server: 1 << 30}, func(a *Account) error { return errors.Join(twice(a, Mark{}), twice(a, a.Mark())) }, most},
		"kept":            {Limits{Server: 1 << 30}, func(a *Account) error { err := a.ReserveFixed(most); a.ReleaseSince(Mark{}, most); return err }, most},
	} {
		s := NewServer(c.limits)
		a := s.Open()
		if err := c.take(a); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want := Base + c.more
		if name == "the server" { // the model's memory is not available
			want = Base + most
		}
		if !a.Fits(int(want)) || a.Fits(int(want)+1) {
			t.Errorf("%s: expected that %d bytes fit, and no more", name, want)
		}
		a.Close()
		if s.Used() != 0 {
			t.Errorf("%s: %d bytes are still counted", name, s.Used())
		}
		s.Close()
	}
}

// twice reserves and releases a piece, two times.
func twice(a *Account, m Mark) error {
	for range 2 {
		if err := a.ReserveFixed(1 << 20); err != nil {
			return err
		}
		a.Return(a.Since(m))
	}
	return nil
}
