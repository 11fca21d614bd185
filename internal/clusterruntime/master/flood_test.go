package master

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"google.golang.org/grpc/peer"
)

// TestFloodOfSessions: a connection that opens too many sessions causes its own to be closed, not other connections'.
func TestFloodOfSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _, honest := open(t, 1)
		time.Sleep(time.Second)
		flood := peer.NewContext(t.Context(), &peer.Peer{Addr: &net.TCPAddr{Port: 1}})
		create := func(ctx context.Context) {
			t.Helper()
			if _, err := m.createSession(ctx, &rpcs.CreateSessionRequest{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		for range maxSessions + 10 {
			create(flood)
		}
		create(t.Context())
		if _, err := m.runStep(t.Context(), target(honest, 0)); err != nil || len(m.sessions) != maxSessions {
			t.Errorf("a session of another client: got %v, %d sessions", err, len(m.sessions))
		}
	})
}
