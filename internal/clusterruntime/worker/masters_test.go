package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// oneMaster is a cluster with a master that answers as the test says.
type oneMaster struct{ answer func() (uint64, error) }

func (m *oneMaster) Worker(string, int) (service.Caller, error) {
	return service.Local{service.Bind("GetStatus", func(context.Context, *rpcs.GetStatusRequest) (*rpcs.GetStatusResponse, error) {
		incarnation, err := m.answer()
		return &rpcs.GetStatusResponse{DeviceAttributes: []*device_attributes_go_proto.DeviceAttributes{{Name: cpu("1"), Incarnation: incarnation}}}, err
	})}, nil
}

// TestVanishedMasters: what a master registered is removed when the master was restarted, or has long been silent while nobody uses
// its session. The error is then TensorFlow's for a restarted worker.
func TestVanishedMasters(t *testing.T) {
	gone := status.Error(codes.Unavailable, "no such host")
	for name, c := range map[string]struct {
		answer func() (uint64, error)
		used   bool // repeatedly
		after  time.Duration
		stays  bool
	}{
		"there":         {answer: func() (uint64, error) { return 7, nil }, after: 3 * time.Hour, stays: true},
		"another one":   {answer: func() (uint64, error) { return 8, nil }, after: 2 * askMasters},
		"silent":        {answer: func() (uint64, error) { return 0, gone }, after: forgetAfter + 3*askMasters},
		"not long":      {answer: func() (uint64, error) { return 0, gone }, after: forgetAfter - askMasters, stays: true},
		"silent, used":  {answer: func() (uint64, error) { return 0, gone }, used: true, after: 3 * time.Hour, stays: true},
		"other answers": {answer: func() (uint64, error) { return 0, status.Error(codes.Unauthenticated, "no token") }, after: 3 * time.Hour, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := New(Config{Devices: []*device_attributes_go_proto.DeviceAttributes{{Name: cpu("0"), Incarnation: 1}}, Peers: &oneMaster{c.answer}, Parallel: 1})
				defer w.Close()
				if _, err := w.createSession(t.Context(), &rpcs.CreateWorkerSessionRequest{SessionHandle: "s", MasterTask: "/job:w/replica:0/task:1", MasterIncarnation: 7}); err != nil {
					t.Fatal(err)
				}
				in := &rpcs.RegisterGraphRequest{GraphDef: negate(t, link("1", "0", "a"), link("0", "1", "b")), SessionHandle: "s", CreateWorkerSessionCalled: true}
				if _, err := w.registerGraph(t.Context(), in); err != nil {
					t.Fatal(err)
				}
				for range c.after / time.Minute {
					time.Sleep(time.Minute)
					if c.used {
						w.mu.Lock()
						_, err := w.known("s", true)
						w.mu.Unlock()
						if err != nil {
							t.Fatal(err)
						}
					}
				}
				_, err := w.registerGraph(t.Context(), in)
				if c.stays && (err != nil || w.Graphs() != 2) || !c.stays && (status.Code(err) != codes.Aborted || w.Graphs() != 0) {
					t.Errorf("%d graphs, %v", w.Graphs(), err)
				}
			})
		})
	}
}
