package peers_test

import (
	"errors"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
	"github.com/goestimator/goestimator/internal/runtime/cuda/peers/peerstest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/goestimator/goestimator/internal/runtime/kernels.(*pool).worker"))
}

func TestExchange(t *testing.T) {
	peerstest.Run(t, func(r *peerstest.Rig) peers.Reducer {
		x, err := peers.NewExchange(r.Devices)
		if err != nil {
			r.T.Fatal(err)
		}
		return x
	})
}

func TestHost(t *testing.T) {
	peerstest.Run(t, func(r *peerstest.Rig) peers.Reducer { return peers.NewHost(r.Contexts()) })
}

// plain is a context that cannot work with others.
type plain struct{ driver.Context }

func TestExchangeNeedsPeers(t *testing.T) {
	if _, err := peers.NewExchange([]peers.Device{{Context: plain{}}, {Context: plain{}}}); !errors.Is(err, peers.ErrNoPeers) {
		t.Errorf("expected %v, got %v", peers.ErrNoPeers, err)
	}
}
