package partition

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/dataflow"
	"github.com/goestimator/goestimator/internal/clusterruntime/looptest"
	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"pgregory.net/rapid"
)

// box is the rendezvous of all tasks in a test.
type box struct{ *rendezvous.Table }

func (b box) Send(key rendezvous.Key, item rendezvous.Item) error {
	return b.Table.Send(key.String(), item)
}

func (b box) Recv(ctx context.Context, key rendezvous.Key) (rendezvous.Item, error) {
	return b.Table.Recv(ctx, key.String())
}

// runParts runs all parts at the same time and returns the item sent under a key.
func runParts(ctx context.Context, parts []Part, key string) (rendezvous.Item, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b := box{rendezvous.New()}
	var all sync.WaitGroup
	for _, p := range parts {
		program, err := dataflow.Compile(p.Graph, nil)
		if err != nil {
			return rendezvous.Item{}, err
		}
		all.Go(func() {
			if err := program.Run(ctx, dataflow.Step{Env: &eager.Env{}, Rendezvous: b, Parallel: 2}); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return rendezvous.Item{}, err
	}
	over, cancel2 := context.WithCancel(ctx)
	cancel2()
	return b.Table.Recv(over, key)
}

// TestLoopsOverTasks: programs whose nodes are on random tasks give the same result as on one task.
func TestLoopsOverTasks(t *testing.T) { rapid.Check(t, loopsOverTasks) }

// FuzzLoops is TestLoopsOverTasks with inputs of go test -fuzz.
func FuzzLoops(f *testing.F) { f.Fuzz(rapid.MakeFuzz(loopsOverTasks)) }

func loopsOverTasks(t *rapid.T) {
	p := looptest.Draw(t, 3)
	g := looptest.New()
	devices := rapid.SampledFrom([][]string{{""}, {"", "/job:ps/task:0"}, {"", "/job:ps/task:0", "/job:ps/task:1"}, {"", "/job:ps/cpu:0", "/job:ps/cpu:1"}}).Draw(t, "devices")
	g.Device = func() string { return rapid.SampledFrom(devices).Draw(t, "device") }
	out := p.Build(g)
	two := cluster()
	second := two.Devices[0]
	second.Name.ID = 1
	two.Devices = append(two.Devices, second)
	parts, err := Divide(g.Graph, Request{Fetches: []string{out.String()}}, two)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if err := loopsByDevice(p); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	key := ""
	for _, p := range parts {
		key += p.Fetches[out.String()] // one of the parts has it
	}
	item, err := runParts(ctx, parts, key)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := item.Tensor, p.Result(); item.Dead || float32(got.Float(0)) != want && want == want {
		t.Fatalf("expected %v, got %+v", want, item)
	}
}

// loopsByDevice returns an error if a server that divides a part by device would make a node receive a value outside of any
// iteration: within a loop, a node that uses a value of another device must follow the loop's Merge on its own.
func loopsByDevice(p Part) error {
	need := &needs{nodes: p.Graph.Nodes()}
	frames, err := framesOf(need)
	if err != nil {
		return err
	}
	for _, n := range need.nodes {
		for _, b := range need.before(n) {
			if frames.gives[b] == nil || b.Device == n.Device {
				continue
			}
			if !slices.ContainsFunc(n.Control, func(m *graph.Node) bool {
				return m.Op == "Merge" && strings.HasPrefix(m.Name, "_cloop") && m.Device == n.Device && frames.gives[m] == frames.gives[b]
			}) {
				return fmt.Errorf("%s on %s takes %s of %s in no iteration", n.Name, n.Device, b.Name, b.Device)
			}
		}
	}
	return nil
}

func TestLoopsRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		build func(g *looptest.Graph) string
		text  string
	}{
		"a cycle over tasks": {func(g *looptest.Graph) string {
			a := g.Op("Neg", g.Value(1))
			g.Device = func() string { return "/job:ps/task:0" }
			b := g.Op("Neg", a)
			a.Node.Inputs[0] = b
			return b.String()
		}, "contains a cycle with 2 nodes"},
		"two frames": {func(g *looptest.Graph) string {
			return g.Op("AddV2", g.Value(1), g.Node("Enter", map[string]any{"frame_name": []byte("f")}, 1, g.Value(2)).Out(0)).String()
		}, "has inputs from different frames. The input {{node Enter_3}} is in frame 'f'. The input {{node Const_1}} is in frame ''."},
		"no condition": {func(g *looptest.Graph) string {
			in := g.Node("Enter", map[string]any{"frame_name": []byte("f")}, 1, g.Value(2)).Out(0)
			there := g.Op("Neg", g.Op("Neg", in))
			there.Node.Device = "/job:ps/task:0"
			return there.String()
		}, "A cross-device loop must have a pivot predicate: f"},
		"no frame name": {func(g *looptest.Graph) string { return g.Node("Enter", nil, 1, g.Value(2)).Out(0).String() }, "must have a frame name"},
		"no loop":       {func(g *looptest.Graph) string { return g.Node("Exit", nil, 1, g.Value(2)).Out(0).String() }, "is in no loop"},
		"a frame in two": {func(g *looptest.Graph) string {
			f, h := map[string]any{"frame_name": []byte("f")}, map[string]any{"frame_name": []byte("h")}
			in := g.Node("Enter", f, 1, g.Value(2)).Out(0)
			deep := g.Node("Enter", h, 1, in).Out(0)
			return g.Op("AddV2", deep, g.Node("Enter", h, 1, g.Value(2)).Out(0)).String()
		}, "is entered from the frames"},
	} {
		g := looptest.New()
		_, err := Divide(g.Graph, Request{Fetches: []string{c.build(g)}}, cluster())
		if err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
