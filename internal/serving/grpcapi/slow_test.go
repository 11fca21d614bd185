package grpcapi_test

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/platform/admission/admissiontest"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/grpcapi"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// slow runs a server, for a client that sends arbitrary bytes.
func slow(t *testing.T, l grpcapi.Limits) *admissiontest.RawClient {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpcapi.Options(l)...)
	l.Register(s, &inference.Service{Models: modeltest.Source()}, &grpcapi.Models{Catalog: modeltest.Source()})
	go func() { _ = s.Serve(lis) }()
	t.Cleanup(s.Stop)
	return admissiontest.NewRawClient(t, lis.Addr().String())
}

const forGood = "10H"

// A message that stops arriving ends its call, and its memory is released.
func TestMessagesThatStop(t *testing.T) {
	memory := budget.NewServer(budget.Limits{Server: 1 << 30})
	for name, l := range map[string]grpcapi.Limits{
		"counted": {Arrival: 50 * time.Millisecond, Memory: memory}, "not counted": {Arrival: 50 * time.Millisecond},
	} {
		raw := slow(t, l)
		for what, sent := range map[string][]byte{
			"nothing":        nil,
			"half a header":  {0, 0},
			"a claim":        admissiontest.Framed(false, 1<<30, nil),
			"half a message": admissiontest.Framed(false, mib, make([]byte, mib/2)),
			"no end":         admissiontest.Framed(false, 0, nil),
		} {
			body, done := admissiontest.Stalled(string(sent))
			if r := raw.Call(t, predictMethod, body, "Grpc-Timeout", forGood); r.Status != "4" || r.Message != "the next part of the message did not come whole within 50ms" {
				t.Errorf("%s, %s: %+v, expected 4 (DEADLINE_EXCEEDED)", name, what, r)
			}
			done()
			waitReleased(t, memory)
		}
	}
}

// Calls that announce long messages and send nothing do not block the server's memory.
func TestAnnouncedMessagesHoldNothing(t *testing.T) {
	memory := budget.NewServer(budget.Limits{Server: 4 * mib})
	raw := slow(t, grpcapi.Limits{Memory: memory})
	var calls sync.WaitGroup
	var ends []func()
	for range 20 {
		body, done := admissiontest.Stalled(string(admissiontest.Framed(false, mib, []byte{0})))
		ends = append(ends, done)
		calls.Go(func() { raw.Call(t, predictMethod, body, "Grpc-Timeout", forGood) })
	}
	const held = 20 * (64<<10 + 16<<10) // for each call, and for the first piece of its message
	for began := time.Now(); memory.Used() < held && time.Since(began) < time.Minute; {
		time.Sleep(time.Millisecond)
	}
	if used := memory.Used(); used != held {
		t.Errorf("20 calls without a message hold %d bytes, expected %d", used, held)
	}
	message, err := proto.Marshal(request("", make([]float32, mib/16)...))
	if err != nil {
		t.Fatal(err)
	}
	if r := raw.Call(t, predictMethod, bytes.NewReader(admissiontest.Framed(false, len(message), message))); r.Status != "0" {
		t.Errorf("another call: %+v", r)
	}
	for _, end := range ends {
		end()
	}
	calls.Wait()
	waitReleased(t, memory)
}

// Calls whose message does not arrive use memory, too: calls beyond the limit are refused at once.
func TestCallsWithoutAMessageAreCounted(t *testing.T) {
	const calls = 4
	memory := budget.NewServer(budget.Limits{Server: calls * 64 << 10})
	raw := slow(t, grpcapi.Limits{Memory: memory})
	var waiting sync.WaitGroup
	var ends []func()
	for range calls {
		body, end := admissiontest.Stalled("")
		ends = append(ends, end)
		waiting.Go(func() { raw.Call(t, predictMethod, body, "Grpc-Timeout", forGood) })
	}
	for memory.Used() < calls*64<<10 {
		time.Sleep(time.Millisecond)
	}
	body, end := admissiontest.Stalled("")
	if r := raw.Call(t, predictMethod, body, "Grpc-Timeout", forGood); r.Status != "8" {
		t.Errorf("one call more: %+v, expected 8 (RESOURCE_EXHAUSTED)", r)
	}
	end()
	for _, end := range ends {
		end()
	}
	waiting.Wait()
	waitReleased(t, memory)
}
