package partition

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// cluster has a worker, which is the client's task, and two parameter servers.
func cluster() Cluster {
	var c Cluster
	for i, name := range []string{"/job:ps/replica:0/task:0/device:CPU:0", "/job:ps/replica:0/task:1/device:CPU:0", "/job:worker/replica:0/task:0/device:CPU:0"} {
		n, err := device.Parse(name)
		if err != nil {
			panic(err)
		}
		c.Devices = append(c.Devices, Device{n, uint64(i + 1)})
	}
	c.Client = c.Devices[2]
	return c
}

// add adds a node of float32 outputs to a graph.
func add(g *graph.Graph, name, op, at string, attrs graph.Attrs, in ...graph.Output) *graph.Node {
	n := &graph.Node{Name: name, Op: op, Device: at, Attrs: attrs, Inputs: in, Outputs: []graph.Type{graph.TypeOf(tensor.Float32)}}
	if err := g.Add(n); err != nil {
		panic(err)
	}
	return n
}

// model is y = x * w + b with w and b on parameter servers, and an unused z.
func model() *graph.Graph {
	g := graph.New()
	x := add(g, "x", "Placeholder", "", nil)
	w := add(g, "w", "VariableV2", "/job:ps/task:0", nil)
	w2 := add(g, "w/read", "Identity", "", graph.Attrs{"_class": [][]byte{[]byte("loc:@w")}}, w.Out(0))
	b := add(g, "b", "Const", "/job:ps/task:1", graph.Attrs{"value": tensor.Scalar(float32(1))})
	m := add(g, "m", "Mul", "", nil, x.Out(0), w2.Out(0))
	y := add(g, "y", "AddV2", "/job:worker", nil, m.Out(0), b.Out(0))
	add(g, "z", "Neg", "/job:ps/task:1", nil, y.Out(0))
	init := add(g, "w/init", "Assign", "", nil, w.Out(0), b.Out(0))
	done := add(g, "done", "NoOp", "", nil)
	done.Control, done.Outputs = []*graph.Node{init}, nil
	return g
}

// opsOf returns the ops of each part, by task.
func opsOf(parts []Part) map[string]string {
	all := map[string]string{}
	for _, p := range parts {
		var names []string
		for _, n := range p.Graph.Nodes() {
			names = append(names, n.Op)
		}
		slices.Sort(names)
		all[p.Task.String()] = strings.Join(names, " ")
	}
	return all
}

func TestDivide(t *testing.T) {
	for name, c := range map[string]struct {
		request Request
		want    map[string]string
	}{
		"fetch": {Request{Feeds: []string{"x:0"}, Fetches: []string{"y:0"}}, map[string]string{
			"/job:worker/replica:0/task:0": "AddV2 Mul _Recv _Recv _Recv _Send",
			"/job:ps/replica:0/task:0":     "Identity VariableV2 _Send",
			"/job:ps/replica:0/task:1":     "Const _Send",
		}},
		"a feed in between": {Request{Feeds: []string{"m:0"}, Fetches: []string{"y:0"}}, map[string]string{
			"/job:worker/replica:0/task:0": "AddV2 _Recv _Recv _Send",
			"/job:ps/replica:0/task:1":     "Const _Send",
		}},
		"a fed fetch":                 {Request{Feeds: []string{"y:0"}, Fetches: []string{"y:0"}}, map[string]string{"/job:worker/replica:0/task:0": "_Recv _Send"}},
		"a feed and a fetch far away": {Request{Feeds: []string{"y:0"}, Fetches: []string{"z"}}, map[string]string{"/job:ps/replica:0/task:1": "Neg _Recv _Send"}},
		"a feed for two tasks": {Request{Feeds: []string{"y:0"}, Fetches: []string{"y", "z"}}, map[string]string{
			"/job:worker/replica:0/task:0": "_Recv _Send",
			"/job:ps/replica:0/task:1":     "Neg _Recv _Send",
		}},
		"a feed that nothing needs": {Request{Feeds: []string{"x:0"}, Fetches: []string{"b"}}, map[string]string{
			"/job:worker/replica:0/task:0": "_Recv",
			"/job:ps/replica:0/task:1":     "Const _Send",
		}},
		"a target": {Request{Targets: []string{"done"}}, map[string]string{
			"/job:worker/replica:0/task:0": "Identity NoOp _Recv",
			"/job:ps/replica:0/task:0":     "Assign Const VariableV2 _Recv _Send",
			"/job:ps/replica:0/task:1":     "Const _Send",
		}},
		"nothing": {Request{}, map[string]string{}},
	} {
		parts, err := Divide(model(), c.request, cluster())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := opsOf(parts)
		for task, want := range c.want {
			if got[task] != want {
				t.Errorf("%s: %s runs %q, expected %q", name, task, got[task], want)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: got %v", name, got)
		}
		checkPairs(t, name, parts)
	}
}

// checkPairs checks that each _Recv has its _Send on the device that it names, unless it receives from the client.
func checkPairs(t *testing.T, name string, parts []Part) {
	sent := map[string]string{}
	for _, p := range parts {
		for _, n := range p.Graph.Nodes() {
			if n.Op == "_Send" {
				sent[n.Str("tensor_name")] = n.Device
			}
			if !strings.HasPrefix(n.Device, p.Task.String()) {
				t.Errorf("%s: node %q of %s is on %s", name, n.Name, p.Task, n.Device)
			}
		}
	}
	for _, p := range parts {
		for _, n := range p.Graph.Nodes() {
			if n.Op == "_Recv" && !n.Bool("client_terminated") && (sent[n.Str("tensor_name")] != n.Str("send_device") || n.Device != n.Str("recv_device")) {
				t.Errorf("%s: %q of %s expects it of %s, which %s sends", name, n.Str("tensor_name"), n.Device, n.Str("send_device"), sent[n.Str("tensor_name")])
			}
		}
	}
}

func TestDivideRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(g *graph.Graph)
		request Request
		is      error
		text    string
	}{
		"no fetch":   {request: Request{Fetches: []string{"nope:0"}}, is: ErrNotFound, text: `"nope:0"`},
		"no output":  {request: Request{Fetches: []string{"y:1"}}, is: ErrNotFound, text: `"y:1"`},
		"bad output": {request: Request{Fetches: []string{"y:-1"}}, text: "form node:0"},
		"no feed":    {request: Request{Feeds: []string{"nope:0"}, Fetches: []string{"y"}}, is: ErrNotFound},
		"no target":  {request: Request{Targets: []string{"nope"}}, is: ErrNotFound},
		"fed twice":  {request: Request{Feeds: []string{"x:0", "x"}}, text: "too"},
		"no value":   {request: Request{Fetches: []string{"done:0"}}, text: "has no outputs"},
		"no job":     {change: func(g *graph.Graph) { g.Node("m").Device = "/job:nope" }, request: Request{Fetches: []string{"m"}}, is: ErrPlacement, text: "available devices are"},
		"no GPU":     {change: func(g *graph.Graph) { g.Node("m").Device = "/gpu:0" }, request: Request{Fetches: []string{"m"}}, is: ErrPlacement, text: "Cannot assign a device for operation m: {{node m}} was explicitly assigned to /device:GPU:0 but available devices are ["},
		"bad device": {change: func(g *graph.Graph) { g.Node("m").Device = "m" }, request: Request{Fetches: []string{"m"}}, text: "begin with a slash"},
		"torn apart": {change: func(g *graph.Graph) { g.Node("w/read").Device = "/job:ps/task:1" }, request: Request{Fetches: []string{"w/read"}}, is: ErrPlacement, text: "colocated"},
	} {
		g := model()
		if c.change != nil {
			c.change(g)
		}
		_, err := Divide(g, c.request, cluster())
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestSoftPlacement(t *testing.T) {
	g, c := model(), cluster()
	g.Node("m").Device, c.Soft = "/job:ps/task:1/gpu:3", true
	parts, err := Divide(g, Request{Targets: []string{"m"}}, c)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if n := p.Graph.Node("m"); n != nil && n.Device != "/job:ps/replica:0/task:1/device:CPU:0" {
			t.Errorf("m is on %s", n.Device)
		}
	}
}

// TestNamesOfRequests: TensorFlow's workers cache the kernels of _Send and _Recv by name, so requests must not share names.
func TestNamesOfRequests(t *testing.T) {
	seen := map[string]bool{}
	for number := range int64(3) {
		parts, err := Divide(model(), Request{Fetches: []string{"y"}, Feeds: []string{"x"}, Number: number}, cluster())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			for _, n := range p.Graph.Nodes() {
				if n.Op == "_Send" || n.Op == "_Recv" {
					if seen[p.Task.String()+n.Name] {
						t.Errorf("request %d: %s is the name of a node of another request", number, n.Name)
					}
					seen[p.Task.String()+n.Name] = true
				}
			}
		}
	}
	if len(seen) == 0 {
		t.Error("nothing is sent")
	}
}

// TestResourcesStay: an op that uses a resource runs on the resource's device, whatever its own, as in TensorFlow.
func TestResourcesStay(t *testing.T) {
	g := graph.New()
	v := &graph.Node{Name: "v", Op: "VarHandleOp", Device: "/job:ps/task:1", Attrs: graph.Attrs{"dtype": tensor.Float32}, Outputs: []graph.Type{graph.TypeOf(tensor.Resource)}}
	if err := g.Add(v); err != nil {
		t.Fatal(err)
	}
	add(g, "read", "ReadVariableOp", "/job:worker/task:0", graph.Attrs{"dtype": tensor.Float32}, v.Out(0))
	parts, err := Divide(g, Request{Fetches: []string{"read"}}, cluster())
	if err != nil {
		t.Fatal(err)
	}
	if got := opsOf(parts)["/job:ps/replica:0/task:1"]; !strings.Contains(got, "ReadVariableOp VarHandleOp") {
		t.Errorf("got %q", got)
	}
}

// TestFeedsAreEarly: a part waits for feeds only in partial runs.
func TestFeedsAreEarly(t *testing.T) {
	for _, partial := range []bool{false, true} {
		parts, err := Divide(model(), Request{Feeds: []string{"x:0"}, Fetches: []string{"m:0"}, Partial: partial}, cluster())
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, n := range parts[0].Graph.Nodes() {
			if n.Op == "_Recv" && n.Bool("client_terminated") {
				found++
				if n.Bool("_early") == partial {
					t.Errorf("partial %v: %v", partial, n.Attrs)
				}
			}
		}
		if found != 1 {
			t.Errorf("%d nodes take feeds", found)
		}
	}
}
