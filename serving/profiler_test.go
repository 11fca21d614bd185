package serving

import (
	"context"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/timeline"
	"github.com/goestimator/goestimator/internal/serving/profiler"
	profilerpb "github.com/goestimator/goestimator/internal/serving/profiler/pb"
	xplane "github.com/wamuir/graft/tensorflow/tsl/profiler/protobuf/for_profiler_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// capture is a response of Profile, or its error.
type capture struct {
	answer profilerpb.ProfileResponse
	err    error
}

// capturing calls Profile for minutes and returns when the capture has started.
func capturing(t *testing.T, ctx context.Context, s *running) <-chan *capture {
	t.Helper()
	conn, done := plain(t, s.Addresses().GRPC), make(chan *capture, 1)
	go func() {
		c := &capture{}
		c.err = conn.Invoke(ctx, "/"+profiler.Name+"/Profile", &profilerpb.ProfileRequest{DurationMs: uint64(profiler.MaxDuration.Milliseconds()), SessionId: "a"}, &c.answer)
		done <- c
	}()
	waitFor(t, func() bool { return timeline.Active() != nil || len(done) > 0 }, "a capture")
	return done
}

// TestProfiler: requests of both ports, batches and runs are captured until the capture is terminated, the caller leaves, or the server ends.
func TestProfiler(t *testing.T) {
	b := Batching{BatchingParameters: DefaultBatching()}
	s := run(t, Options{Models: single(folders(t, "m/1"), "m"), Batching: &b}).wait(t)
	ctx := testContext(t)
	done := capturing(t, ctx, s)
	if _, err := predict(t, dial(t, s.Addresses().GRPC), "m"); err != nil {
		t.Fatal(err)
	}
	do(t, "POST", "http://"+s.Addresses().REST+"/v1/models/m:predict", `{"instances": [1]}`)
	if err := plain(t, s.Addresses().GRPC).Invoke(ctx, profilerMethod, &profilerpb.TerminateRequest{SessionId: "a"}, &profilerpb.TerminateResponse{}); err != nil {
		t.Fatal(err)
	}
	c := <-done
	x := &xplane.XSpace{}
	if c.err != nil || len(c.answer.GetToolData()) != 1 || proto.Unmarshal(c.answer.GetToolData()[0].GetData(), x) != nil {
		t.Fatalf("capture %v, %v", &c.answer, c.err)
	}
	events := map[string]int{}
	for _, l := range x.GetPlanes()[0].GetLines() {
		line, _, _ := strings.Cut(l.GetName(), " ")
		events[line] += len(l.GetEvents())
	}
	for _, line := range []timeline.Line{timeline.Requests, timeline.Queue, timeline.Batches, timeline.Runs} {
		if events[string(line)] != 2 {
			t.Errorf("%d %s of two requests", events[string(line)], line)
		}
	}
	gone, stop := context.WithCancel(ctx)
	done = capturing(t, gone, s)
	stop()
	if c := <-done; status.Code(c.err) != codes.Canceled {
		t.Errorf("a caller that went: %v", c.err)
	}
	waitFor(t, func() bool { return timeline.Active() == nil }, "the end of a capture whose caller went")
	done = capturing(t, ctx, s)
	s.stop()
	if c := <-done; c.err != nil || !c.answer.GetEmptyTrace() {
		t.Errorf("a server that ends: %v, %v", &c.answer, c.err)
	}
}

func TestNoProfiler(t *testing.T) {
	s := run(t, Options{Models: single(folders(t, "m/1"), "m"), NoProfiler: true}).wait(t)
	if c := <-capturing(t, testContext(t), s); status.Code(c.err) != codes.Unimplemented {
		t.Errorf("got %v", c.err)
	}
}
