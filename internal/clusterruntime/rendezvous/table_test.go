package rendezvous

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/goestimator/goestimator/tensor"
	"pgregory.net/rapid"
)

func TestSendAndRecvMeetInAnyOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := New()
		got := make(chan float64)
		go func() {
			item, err := table.Recv(t.Context(), "late")
			if err != nil {
				t.Error(err)
			}
			got <- item.Tensor.Float(0)
		}()
		synctest.Wait()
		for i, key := range []string{"early", "early", "late"} {
			if err := table.Send(key, Item{Tensor: tensor.Scalar(float32(i))}); err != nil {
				t.Fatal(err)
			}
		}
		if v := <-got; v != 2 {
			t.Errorf("expected 2, got %v", v)
		}
		for want := range 2 {
			item, err := table.Recv(t.Context(), "early")
			if err != nil || item.Tensor.Float(0) != float64(want) {
				t.Errorf("item %d: got %v, %v", want, item, err)
			}
		}
		if len(table.slots) != 0 {
			t.Errorf("%d slots are left", len(table.slots))
		}
	})
}

func TestWaitingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := New()
		ctx, cancel := context.WithCancelCause(t.Context())
		gone, failed := errors.New("gone"), errors.New("failed")
		errs := make(chan error)
		go func() { _, err := table.Recv(ctx, "a"); errs <- err }()
		synctest.Wait()
		cancel(gone)
		if err := <-errs; !errors.Is(err, gone) {
			t.Errorf("expected %v, got %v", gone, err)
		}
		if len(table.slots) != 0 {
			t.Error("who left still waits")
		}
		go func() { _, err := table.Recv(t.Context(), "a"); errs <- err }()
		synctest.Wait()
		table.Abort(failed)
		table.Abort(gone)
		if err := <-errs; !errors.Is(err, failed) {
			t.Errorf("expected %v, got %v", failed, err)
		}
		if err := table.Send("a", Item{}); !errors.Is(err, failed) {
			t.Errorf("Send: expected %v, got %v", failed, err)
		}
		if _, err := table.Recv(t.Context(), "a"); !errors.Is(err, failed) {
			t.Errorf("Recv: expected %v, got %v", failed, err)
		}
	})
}

func TestKeysAreReadBack(t *testing.T) {
	part := rapid.StringMatching(`[a-z/:0-9]*`)
	rapid.Check(t, func(t *rapid.T) {
		k := Key{From: part.Draw(t, "from"), Incarnation: rapid.Uint64().Draw(t, "incarnation"), To: part.Draw(t, "to"), Edge: part.Draw(t, "edge"), Iteration: "1:2"}
		for _, same := range []Key{k, k.In("3:4").In("1:2")} {
			if got, err := ParseKey(same.String()); err != nil || got != k {
				t.Fatalf("ParseKey(%q) = %+v, %v", same, got, err)
			}
		}
	})
	for _, bad := range []string{"", "a;b;c;d", "a;xyz;c;d;e", "a;1;c;d;e;f"} {
		if _, err := ParseKey(bad); err == nil || !strings.Contains(err.Error(), "rendezvous key") {
			t.Errorf("ParseKey(%q): got %v", bad, err)
		}
	}
}
