package accept

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/goestimator/goestimator/cluster"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	taskstatus "github.com/goestimator/goestimator/internal/clusterruntime/status"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// The protocol of package transport between our own processes, written by hand.
const (
	framesPreface                    = "PGOEST1\n"
	frameRequest, frameResponse      = 1, 2
	frameData, frameCancel           = 3, 4
	framePing                        = 5
	frameHeader, frameData256        = 16, 256 << 10
	getStatus, runStep, streamMethod = "/tensorflow.WorkerService/GetStatus", "/tensorflow.MasterService/RunStep", "/tensorflow.eager.EagerService/StreamingEnqueue"
)

// frame is a frame whose length and head may be wrong.
func frame(kind, call uint32, length, head int, rest []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = binary.LittleEndian.AppendUint32(b, call)
	b = binary.LittleEndian.AppendUint32(b, uint32(length))
	return append(binary.LittleEndian.AppendUint32(b, uint32(head)), rest...)
}

// request is a request with a message, or with parts of these sizes.
func request(call uint32, method string, message []byte, sizes ...int) []byte {
	head := append(binary.AppendUvarint(nil, uint64(len(method))), method...)
	head = append(head, 0, 0) // no timeout, no metadata
	head = binary.AppendUvarint(head, uint64(len(sizes)))
	for _, n := range sizes {
		head = binary.AppendUvarint(head, uint64(n))
	}
	return frame(frameRequest, call, len(head)+len(message), len(head), append(head, message...))
}

// framed opens a transport connection, and sends bytes.
func (x *target) framed(b []byte) net.Conn {
	x.t.Helper()
	c, err := net.Dial("tcp", x.address)
	if err != nil {
		x.t.Fatal(err)
	}
	got := make([]byte, len(framesPreface))
	if _, err := io.WriteString(c, framesPreface); err != nil {
		x.t.Fatal(err)
	}
	if _, err := io.ReadFull(c, got); err != nil || string(got) != framesPreface {
		x.t.Fatalf("the server answers %q, %v", got, err)
	}
	_, _ = c.Write(b) // it may be closed already
	return c
}

// ours runs steps of our own client, which uses the transport's frames, and fails if a result is wrong.
func (x *target) ours(after string) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	g, err := cluster.ReadTextGraph([]byte(`node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
		node { name: "y" op: "AddV2" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } } }`))
	if err != nil {
		x.t.Fatal(err)
	}
	s, err := cluster.Dial(ctx, "grpc://"+x.address, g)
	if err != nil {
		x.t.Errorf("a client of ours after %s: %v", after, err)
		return
	}
	in := tensor.New(tensor.Float32, 100_000)
	tensor.Values[float32](in)[5] = 21
	for range 5 {
		out, err := s.Run(ctx, cluster.Feeds{"x": in}, []string{"y"})
		if err != nil || tensor.Values[float32](out[0])[5] != 42 {
			x.t.Errorf("a client of ours after %s: %v", after, err)
			break
		}
	}
	if err := s.Close(ctx); err != nil {
		x.t.Error(err)
	}
}

// closed fails unless the server closes a connection.
func (x *target) closed(what string, c net.Conn) {
	x.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.Copy(io.Discard, c); err != nil {
		if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
			x.t.Errorf("%s: the connection stays open", what)
		}
	}
	_ = c.Close()
}

// malformedFrames sends malformed frames, and frames with wrong lengths.
func (x *target) malformedFrames() {
	for name, b := range map[string][]byte{
		"zeros": make([]byte, 100), "0xff": bytes.Repeat([]byte{0xff}, 100), "HTTP": []byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
		"a long request":       frame(frameRequest, 1, 1<<31-1, 10, nil),
		"long data":            frame(frameData, 1, 1<<31-1, 0, nil),
		"a head beyond":        frame(frameRequest, 1, 10, 11, make([]byte, 10)),
		"an empty head":        frame(frameRequest, 1, 0, 0, nil),
		"half a head":          frame(frameRequest, 1, 5, 5, request(1, getStatus, nil)[frameHeader:frameHeader+5]),
		"4 GiB in parts":       request(1, runStep, nil, 1<<31-1, 1<<31-1),
		"parts without a size": request(1, runStep, nil, 0, 0),
		"a response":           frame(frameResponse, 1, 0, 0, nil),
		"a long ping":          frame(framePing, 0, 1<<20, 0, nil),
		"a call twice":         append(request(1, runStep, nil, 1<<20), request(1, runStep, nil, 1<<20)...),
	} {
		x.closed(name, x.framed(b))
	}
}

// unknownCalls sends data for calls that are over or never began. The connection stays usable.
func (x *target) unknownCalls() {
	var b []byte
	for i := range uint32(200) {
		b = append(b, frame(frameData, 1000+i, 1000, 0, make([]byte, 1000))...)
		b = append(b, frame(frameCancel, 2000+i, 0, 0, nil)...)
	}
	c := x.framed(append(b, request(1, getStatus, nil)...))
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.ReadFull(c, make([]byte, frameHeader)); err != nil {
		x.t.Errorf("no answer after frames of unknown calls: %v", err)
	}
}

// announcements announces far larger messages than it sends.
func (x *target) announcements() {
	var b []byte
	for i := range uint32(100) {
		b = append(b, request(i, runStep, nil, 1<<30)...)
		b = append(b, frame(frameData, i, 4<<10, 0, make([]byte, 4<<10))...)
	}
	c := x.framed(b)
	defer c.Close()
	s := x.settle("announced messages", func(s taskstatus.State) bool { return s.Memory.Held > 100*4<<10 })
	if s.Memory.Held > 32<<20 {
		x.t.Errorf("%d bytes are held for 400 KiB", s.Memory.Held)
	}
	x.ours("announced messages")
}

// halves opens connections that stop in the middle of a frame, and many that send nothing.
func (x *target) halves() {
	whole := append(request(1, runStep, nil, 40_000), frame(frameData, 1, 1000, 0, make([]byte, 1000))...)
	silent := 1000
	if x.long {
		silent = 3500
	}
	before := x.settle("before", func(taskstatus.State) bool { return true })
	var open []net.Conn
	for i := range silent {
		b := []byte(nil)
		if i%10 == 0 {
			b = whole[:i%len(whole)]
		}
		open = append(open, x.framed(b))
	}
	now := x.settle("silent connections", func(s taskstatus.State) bool { return int(s.Connections) >= silent })
	if each := (now.Memory.Heap - before.Memory.Heap) / int64(silent); each > 24<<10 {
		x.t.Errorf("a silent connection takes %d bytes", each)
	}
	x.honest("silent connections")
	x.ours("silent connections")
	for _, c := range open {
		_ = c.Close()
	}
}

// unread requests many responses, and large ones, and reads none of them.
func (x *target) unread() {
	var b []byte
	for i := range uint32(10_000) {
		b = append(b, request(i, getStatus, nil)...)
		b = append(b, frame(framePing, 0, 0, 0, nil)...)
	}
	var open []net.Conn
	for range 3 {
		c := x.framed(nil)
		open = append(open, c)
		_ = c.SetWriteDeadline(time.Now().Add(5 * time.Second))
		_, _ = c.Write(b) // the server may stop reading
	}
	x.ours("answers that nobody reads")
	for _, c := range open {
		_ = c.Close()
	}
	dims := sized(int32Type, 1)
	dims.IntVal = []int32{8 << 20}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, m := x.dial()
	defer c.Close()
	made, err := service.Ask[rpcs.CreateSessionResponse](ctx, m, "CreateSession", &rpcs.CreateSessionRequest{GraphDef: graphOf(constant("dims", dims), constant("v", sized(float)), node("fill", "Fill", []string{"dims", "v"}, "T", float, "index_type", int32Type))})
	if err != nil {
		x.t.Error(err)
		return
	}
	step, err := proto.Marshal(&rpcs.RunStepRequest{SessionHandle: made.GetSessionHandle(), Fetch: []string{"fill:0"}})
	if err != nil {
		x.t.Error(err)
		return
	}
	b = nil
	for i := range uint32(40) {
		b = append(b, request(i, runStep, step)...)
	}
	frozen := x.framed(b)
	_, _ = io.ReadFull(frozen, make([]byte, 1<<20)) // the rest of the response is not read
	s := x.settle("large answers that nobody reads", func(s taskstatus.State) bool { return s.Memory.Held > 64<<20 })
	if s.Memory.Held > s.Memory.Limit {
		x.t.Errorf("%d bytes are held, %d are allowed", s.Memory.Held, s.Memory.Limit)
	}
	if !x.long {
		_ = frozen.Close()
	} else {
		defer frozen.Close() // the server does not wait for it to close
	}
	x.settle("the answers are given up", func(s taskstatus.State) bool { return s.Steps.Running == 0 && s.Connections <= 1 }) // the remaining connection is c
	dims.IntVal = []int32{50 << 20}
	if err := run(m, time.Minute, graphOf(constant("dims", dims), constant("v", sized(float)), node("fill", "Fill", []string{"dims", "v"}, "T", float, "index_type", int32Type),
		node("shape", "Shape", []string{"fill"}, "T", float, "out_type", int32Type)), "shape:0"); err != nil {
		x.t.Errorf("200 MB after large answers: %v", err)
	}
}

// streams floods the stream of the EagerService, which only uses gRPC.
func (x *target) streams() {
	c, _ := x.dial()
	defer c.Close()
	a, end := x.abuser()
	defer end()
	if err := a.create(7); err != nil {
		x.t.Error(err)
		return
	}
	together(8, func(int) {
		for i := range 40 {
			s, err := c.NewStream(a.ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, streamMethod)
			if err != nil {
				x.t.Error(err)
				return
			}
			for range 50 {
				if s.SendMsg(&rpcs.EnqueueRequest{ContextId: uint64(7 + i%2), Queue: []*rpcs.QueueItem{{Item: &rpcs.QueueItem_SyncRemoteExecutorForStream{}}}}) != nil {
					break // the stream of an unknown context ends
				}
			}
		}
	})
	if got := x.framed(request(1, streamMethod, nil)); got != nil {
		if _, err := io.ReadFull(got, make([]byte, frameHeader)); err != nil {
			x.t.Errorf("a stream by frames: %v", err)
		}
		_ = got.Close()
	}
}

// TestClusterRuntimeHostileFrames: whatever frames it sends or omits, no peer on the transport between our own processes can end a server, or
// make it hold memory, connections or goroutines.
func TestClusterRuntimeHostileFrames(t *testing.T) {
	x := newTarget(t)
	x.long = thorough(t)
	x.ours("the start")
	begin := x.settle("at the start", func(s taskstatus.State) bool { return s.Connections == 0 && len(s.Sessions) == 0 })
	for _, attack := range []struct {
		name string
		do   func()
	}{{"malformed frames", x.malformedFrames}, {"unknown calls", x.unknownCalls}, {"announcements", x.announcements}, {"halves", x.halves}, {"unread answers", x.unread}, {"streams", x.streams}} {
		start := time.Now()
		attack.do()
		x.honest(attack.name)
		x.ours(attack.name)
		t.Logf("%s: %v", attack.name, time.Since(start))
	}
	end := x.settle("after all attacks", func(s taskstatus.State) bool {
		return s.Steps.Running == 0 && s.Connections == 0 && s.Memory.Goroutines <= begin.Memory.Goroutines+5
	})
	t.Logf("begin %+v, end %+v", begin.Memory, end.Memory)
}
