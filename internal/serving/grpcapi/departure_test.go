package grpcapi_test

import (
	"net"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/platform/admission"
	"github.com/goestimator/goestimator/internal/platform/admission/admissiontest"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/grpcapi"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// placed runs a server with a model and with places for connections.
func placed(t *testing.T, l grpcapi.Limits, m servable.Model) (address string) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpcapi.Options(l)...)
	src := &servable.Memory{}
	src.Set(servable.ID{Name: "m", Version: 1}, m)
	l.Register(s, &inference.Service{Models: src}, &grpcapi.Models{Catalog: src})
	go func() { _ = s.Serve(admission.NewPlaces(100, nil).Listener(lis)) }()
	t.Cleanup(s.Stop)
	return lis.Addr().String()
}

// notTaken are clients that do not receive a reply with that many values.
var notTaken = map[string]struct {
	window  uint32 // of their streams; the connection's is 64 KiB
	values  int
	headers []string
}{
	"a small reply and no window": {0, 1, nil}, "a large reply and no window": {0, 1 << 20, nil},
	"a large reply and a small window": {1 << 10, 1 << 20, nil}, "a large reply that is not read": {1<<31 - 1, 1 << 24, nil},
	"a client that takes gzip": {0, 1 << 16, []string{"grpc-encoding", "gzip", "grpc-accept-encoding", "gzip"}},
}

func askRaw(t *testing.T, at string, window uint32, headers ...string) *admissiontest.Frames {
	t.Helper()
	message, err := proto.Marshal(request("", 1))
	if err != nil {
		t.Fatal(err)
	}
	client := admissiontest.DialFrames(t, at, window)
	if window == 1<<31-1 {
		client.Send(admissiontest.WindowUpdateFrame, 0, 0, []byte{0x7f, 0, 0, 0})
	}
	client.Call(predictMethod, message, headers...)
	return client
}

func zerosOf(n int) servable.Model {
	return answering(func(string) *tensor.Tensor { return tensor.New(tensor.Float32, n) })
}

// A connection is closed if its client opens no window for the reply, or does not read it, and the reply's memory is released.
func TestRepliesThatAreNotTaken(t *testing.T) {
	for name, c := range notTaken {
		t.Run(name, func(t *testing.T) {
			memory := budget.NewServer(budget.Limits{Server: 1 << 30})
			at := placed(t, grpcapi.Limits{Departure: 20 * time.Millisecond, Memory: memory}, zerosOf(c.values))
			if !askRaw(t, at, c.window, c.headers...).Ends() {
				t.Error("the connection stays")
			}
			waitReleased(t, memory)
		})
	}
}

// A reply and its call are accounted for while the reply waits for its client, until the client leaves.
func TestRepliesThatWaitAreCounted(t *testing.T) {
	for name, c := range notTaken {
		t.Run(name, func(t *testing.T) {
			memory := budget.NewServer(budget.Limits{Server: 1 << 30})
			at := placed(t, grpcapi.Limits{Departure: time.Hour, Memory: memory}, zerosOf(c.values))
			client := askRaw(t, at, c.window, c.headers...)
			want := int64(4*c.values + admission.WaitingReply)
			for end := time.Now().Add(time.Minute); memory.Used() < want; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("a reply that waits holds %d bytes, expected %d at least", memory.Used(), want)
				}
			}
			_ = client.Close()
			waitReleased(t, memory)
		})
	}
}
