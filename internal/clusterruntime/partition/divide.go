package partition

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// Divide returns the part of each task for a request. The client's task is first, if it has a part.
func Divide(g *graph.Graph, r Request, c Cluster) ([]Part, error) {
	need, err := prune(g, r)
	if err != nil {
		return nil, err
	}
	at, err := place(g, need.nodes, c)
	if err != nil {
		return nil, err
	}
	frames, err := framesOf(need)
	if err != nil {
		return nil, err
	}
	updated, err := updatesBefore(need.nodes)
	if err != nil {
		return nil, err
	}
	d := &divider{g: g, need: need, cluster: c, at: at, frames: frames, loops: map[loopAt]*graph.Node{}, updated: updated, parts: map[device.Name]*Part{},
		copies: map[*graph.Node]*graph.Node{}, fed: map[feedAt]*graph.Node{}, received: map[cut]*graph.Node{}, number: r.Number, partial: r.Partial}
	if err := d.divide(); err != nil {
		return nil, err
	}
	var parts []Part
	for _, p := range d.order {
		parts = append(parts, *p)
	}
	return parts, nil
}

// divider makes the parts.
type divider struct {
	g       *graph.Graph
	need    *needs
	cluster Cluster
	at      map[*graph.Node]Device
	frames  *frames
	loops   map[loopAt]*graph.Node // the Merge of each loop that was added
	updated map[after]bool

	parts    map[device.Name]*Part
	order    []*Part
	copies   map[*graph.Node]*graph.Node
	fed      map[feedAt]*graph.Node // the _Recv that stands for a fed output
	received map[cut]*graph.Node
	number   int64 // see Request
	names    int
	partial  bool // see Request
}

// cut is an output, or a control edge (index -1), that a task receives from another one.
type cut struct {
	from  *graph.Node
	index int
	to    device.Name
}

// feedAt is a fed output on a task.
type feedAt struct {
	graph.Output
	task device.Name
}

func (d *divider) divide() error {
	d.gather()
	if err := d.takePart(); err != nil {
		return err
	}
	for _, n := range d.need.nodes {
		c := *n
		c.Inputs, c.Control, c.Device = nil, nil, d.at[n].Name.String()
		d.copies[n] = &c
		if err := d.part(d.at[n]).Graph.Add(&c); err != nil {
			return err
		}
	}
	for _, n := range d.need.nodes {
		if err := d.connect(n); err != nil {
			return fmt.Errorf("node %q (%s): %w", n.Name, n.Op, err)
		}
	}
	for name, o := range d.need.fetches {
		if err := d.fetch(o, name); err != nil {
			return err
		}
	}
	if err := d.feedUnused(); err != nil {
		return err
	}
	client := taskOf(d.cluster.Client)
	slices.SortStableFunc(d.order, func(a, b *Part) int { return rank(a.Task == client) - rank(b.Task == client) })
	return nil
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

// taskOf returns a device's name without the device.
func taskOf(d Device) device.Name {
	n := d.Name
	n.Type, n.ID = "", device.Any
	return n
}

// part returns the part of a device's task.
func (d *divider) part(at Device) *Part {
	task := taskOf(at)
	p := d.parts[task]
	if p == nil {
		p = &Part{Task: task, Graph: graph.New(), Feeds: map[string]string{}, Fetches: map[string]string{}}
		p.Graph.Library, p.Graph.Producer, p.Graph.MinConsumer = d.g.Library, d.g.Producer, d.g.MinConsumer
		d.parts[task] = p
		d.order = append(d.order, p)
	}
	return p
}

// add adds a node that is not in the client's graph.
func (d *divider) add(at Device, n *graph.Node) (*graph.Node, error) {
	p := d.part(at)
	n.Name, n.Device = p.Graph.UniqueName(fmt.Sprintf("%s_S%d", n.Name, d.number)), at.Name.String()
	return n, p.Graph.Add(n)
}

// link returns the attributes of a _Send or _Recv, and their key.
func link(from, to Device, edge string, t tensor.DType, client bool) (graph.Attrs, rendezvous.Key) {
	key := rendezvous.Key{From: from.Name.String(), Incarnation: from.Incarnation, To: to.Name.String(), Edge: edge, Iteration: rendezvous.Outside}
	return graph.Attrs{
		"tensor_name": []byte(edge), "send_device": []byte(key.From), "send_device_incarnation": int64(key.Incarnation),
		"recv_device": []byte(key.To), "client_terminated": client, "T": t, "tensor_type": t,
	}, key
}

// sender and receiver drop the attribute of the other one.
func sender(a graph.Attrs) graph.Attrs {
	a = maps.Clone(a)
	delete(a, "tensor_type")
	return a
}

func receiver(a graph.Attrs) graph.Attrs {
	a = maps.Clone(a)
	delete(a, "T")
	return a
}

// feed returns the _Recv of a fed output on the task of a device that needs it. The master sends the value there itself, which is
// faster than through the client's task.
func (d *divider) feed(o graph.Output, name string, to Device) (*graph.Node, error) {
	at := feedAt{o, taskOf(to)}
	if n := d.fed[at]; n != nil {
		return n, nil
	}
	attrs, key := link(to, to, name, o.DType(), true)
	attrs["_early"] = !d.partial // it arrives before the part begins
	n, err := d.add(to, &graph.Node{Name: "_recv_" + plain(name), Op: "_Recv", Attrs: receiver(attrs), Outputs: []graph.Type{{DType: o.DType()}}})
	if err != nil {
		return nil, err
	}
	d.fed[at] = n
	d.part(to).Feeds[name] = key.String()
	return n, nil
}

// feedUnused sends unused feeds to the client's task, which checks whether they are tensors.
func (d *divider) feedUnused() error {
	used := map[graph.Output]bool{}
	for at := range d.fed {
		used[at.Output] = true
	}
	for o, name := range d.need.feeds {
		if used[o] {
			continue
		}
		if _, err := d.feed(o, name, d.cluster.Client); err != nil {
			return err
		}
	}
	return nil
}

// fetch adds the _Send of a fetched output on the task that makes it, from which the master gets the value.
func (d *divider) fetch(o graph.Output, name string) error {
	at := d.cluster.Client
	if !d.isFed(o) {
		at = d.at[o.Node]
	}
	value, err := d.value(o, at)
	if err != nil {
		return fmt.Errorf("fetch %q: %w", name, err)
	}
	attrs, key := link(at, at, name, o.DType(), true)
	if _, err := d.add(at, &graph.Node{Name: "_send_" + plain(name), Op: "_Send", Attrs: sender(attrs), Inputs: []graph.Output{value}}); err != nil {
		return err
	}
	d.part(at).Fetches[name] = key.String()
	return nil
}

// value returns an output of the client's graph as it is available on a device.
func (d *divider) value(o graph.Output, to Device) (graph.Output, error) {
	if name, fed := d.need.feeds[o]; fed {
		r, err := d.feed(o, name, to)
		if err != nil {
			return graph.Output{}, err
		}
		return r.Out(0), nil
	}
	from, value := o.Node, d.copies[o.Node].Out(o.Index)
	if taskOf(d.at[from]) == taskOf(to) {
		return value, nil
	}
	r, err := d.transfer(value, cut{from, value.Index, taskOf(to)}, to)
	if err != nil {
		return graph.Output{}, err
	}
	return r.Out(0), nil
}

// plain turns a tensor's name into a valid name for a node.
func plain(name string) string { return strings.ReplaceAll(name, ":", "_") }

// connect gives the copy of a node its inputs.
func (d *divider) connect(n *graph.Node) error {
	c := d.copies[n]
	for _, in := range n.Inputs {
		value, err := d.value(in, d.at[n])
		if err != nil {
			return err
		}
		c.Inputs = append(c.Inputs, value)
		d.followLoop(n, in.Node, value.Node)
	}
	for _, before := range n.Control {
		if d.need.replaced(before) {
			continue
		}
		first := d.copies[before]
		if taskOf(d.at[before]) != taskOf(d.at[n]) {
			r, err := d.signal(before, n)
			if err != nil {
				return err
			}
			first = r
		}
		c.Control = append(c.Control, first)
		d.followLoop(n, before, first)
	}
	return d.readAgain(n)
}

// transfer returns the node that receives a value from another task. A task receives each value once.
func (d *divider) transfer(value graph.Output, c cut, to Device) (*graph.Node, error) {
	if r := d.received[c]; r != nil {
		return r, nil
	}
	t := value.DType()
	switch t {
	case tensor.Invalid, tensor.Resource, tensor.Variant:
		return nil, fmt.Errorf("its input %q is of type %v on another task: %w", value, t, ErrUnsupported)
	}
	d.names++
	attrs, _ := link(d.at[c.from], to, fmt.Sprintf("edge_%d_%s", d.names, c.from.Name), t, false)
	if _, err := d.add(d.at[c.from], &graph.Node{Name: value.Node.Name + "/_send", Op: "_Send", Attrs: sender(attrs), Inputs: []graph.Output{value}}); err != nil {
		return nil, err
	}
	got := receiver(attrs)
	if d.early(c) {
		got["_early"] = true
	}
	r, err := d.add(to, &graph.Node{Name: value.Node.Name + "/_recv", Op: "_Recv", Attrs: got, Outputs: []graph.Type{value.Type()}})
	if err != nil {
		return nil, err
	}
	if loop := d.frames.gives[c.from]; loop != nil { // it is received in each iteration
		r.Control = append(r.Control, d.copies[d.loops[loopAt{loop, to.Name}]])
	}
	if !reference(c) {
		d.received[c] = r
	}
	return r, nil
}

// reference reports whether the output is a reference variable: each reader takes its value at its own time.
func reference(c cut) bool {
	def := ops.Find(c.from.Op)
	return c.index >= 0 && def != nil && def.OutputAt(c.index, len(c.from.Outputs)).Ref
}

// signal returns a node for a control edge between tasks: the node at the other end waits for an empty tensor.
func (d *divider) signal(before, n *graph.Node) (*graph.Node, error) {
	c := cut{before, -1, taskOf(d.at[n])}
	if r := d.received[c]; r != nil {
		return r, nil
	}
	nothing := graph.TypeOf(tensor.Float32, 0)
	dummy, err := d.add(d.at[before], &graph.Node{Name: before.Name + "/_done", Op: "Const", Control: []*graph.Node{d.copies[before]},
		Attrs: graph.Attrs{"dtype": tensor.Float32, "value": tensor.New(tensor.Float32, 0)}, Outputs: []graph.Type{nothing}})
	if err != nil {
		return nil, err
	}
	r, err := d.transfer(dummy.Out(0), c, d.at[n])
	if err != nil {
		return nil, err
	}
	after, err := d.add(d.at[n], &graph.Node{Name: before.Name + "/_after", Op: "Identity", Inputs: []graph.Output{r.Out(0)},
		Attrs: graph.Attrs{"T": tensor.Float32}, Outputs: []graph.Type{nothing}})
	d.received[c] = after
	return after, err
}
