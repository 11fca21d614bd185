package distribute

import (
	"context"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distributed/ps"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// lookup is a variable that the program reads only by rows (GatherV2 along axis 0) whose
// ids depend only on the features. Its rows are fed in place of the gather.
type lookup struct {
	variable string
	ids      graph.Output
	rows     graph.Output // of the gather
}

// idsOf returns the indices of a gather. If the rows of negative ids are not used, these
// are the indices before negative ones were replaced.
func idsOf(gather *graph.Node) graph.Output {
	ids := gather.Inputs[1]
	if gather.Bool(graph.NegativeLeftOut) && ids.Node.Op == "Maximum" && len(ids.Node.Inputs) == 2 {
		return ids.Node.Inputs[0]
	}
	return ids
}

// smallTable is the size in bytes up to which a table is read whole: it comes with the response to a push, while
// its rows would need a separate request.
const smallTable = 4 << 10

// findLookups returns the lookups of variables with a sparse gradient that the program
// reads only by lookups.
func findLookups(p TrainProgram, fetches []graph.Output) []lookup {
	sparse := map[string]bool{}
	i := 0
	for _, g := range p.Train.Groups {
		for _, v := range g.Variables {
			sparse[v.Name] = p.Gradients[i].Sparse() && tensor.NumElements(v.Shape)*v.DType.Size() > smallTable
			i++
		}
	}
	return lookupsIn(fetches, func(name string) bool { return sparse[name] })
}

// lookupsIn returns the lookups of the variables that of selects, if fetches read them only by lookups.
func lookupsIn(fetches []graph.Output, of func(variable string) bool) []lookup {
	live := reachable(fetches, nil)
	var out []lookup
	for name, reads := range readsOf(live) {
		if !of(name) {
			continue
		}
		if found, ok := onlyGathered(name, reads, live, fetches); ok {
			out = append(out, found...)
		}
	}
	slices.SortFunc(out, func(a, b lookup) int {
		if a.rows.Node.Name < b.rows.Node.Name {
			return -1
		}
		return 1
	})
	return out
}

// reachable returns the nodes that the outputs depend on, in no order. The search ends at the nodes in stop.
func reachable(outputs []graph.Output, stop map[*graph.Node]bool) map[*graph.Node]bool {
	seen := map[*graph.Node]bool{}
	var todo []*graph.Node
	visit := func(n *graph.Node) {
		if n != nil && !seen[n] {
			seen[n] = true
			todo = append(todo, n)
		}
	}
	for _, o := range outputs {
		visit(o.Node)
	}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if stop[n] {
			continue
		}
		for _, in := range n.Inputs {
			visit(in.Node)
		}
		for _, c := range n.Control {
			visit(c)
		}
	}
	return seen
}

// readsOf returns the nodes that read each variable.
func readsOf(live map[*graph.Node]bool) map[string][]*graph.Node {
	reads := map[string][]*graph.Node{}
	for n := range live {
		if n.Op == "ReadVariableOp" && len(n.Inputs) > 0 {
			name := n.Inputs[0].Node.Name
			reads[name] = append(reads[name], n)
		}
	}
	return reads
}

// onlyGathered returns the lookups of a variable if all its reads are for lookups.
func onlyGathered(name string, reads []*graph.Node, live map[*graph.Node]bool, fetches []graph.Output) ([]lookup, bool) {
	var out []lookup
	for _, o := range fetches {
		if slices.Contains(reads, o.Node) {
			return nil, false
		}
	}
	for n := range live {
		for i, in := range n.Inputs {
			if !slices.Contains(reads, in.Node) {
				continue
			}
			if i != 0 || n.Op != "GatherV2" || n.Int("batch_dims", 0) != 0 || !axisZero(n) || readsVariables(n.Inputs[1]) {
				return nil, false
			}
			out = append(out, lookup{variable: name, ids: idsOf(n), rows: n.Out(0)})
		}
	}
	return out, len(out) > 0
}

func axisZero(gather *graph.Node) bool {
	if len(gather.Inputs) < 3 {
		return false
	}
	axis, ok := gather.Inputs[2].Node.Attrs["value"].(*tensor.Tensor)
	return ok && axis.Len() == 1 && axis.Float(0) == 0
}

// readsVariables reports whether an output depends on variables.
func readsVariables(o graph.Output) bool {
	for n := range reachable([]graph.Output{o}, nil) {
		if n.Op == "ReadVariableOp" {
			return true
		}
	}
	return false
}

// lookups fetches the rows that a batch needs.
type lookups struct {
	list    []lookup
	program *engine.Program  // computes the ids; nil without lookups
	rows    []*tensor.Tensor // by lookup
	ids     [][]int64        // by lookup; negative ids have no row
}

// newLookups compiles the program that computes the ids of a batch.
func newLookups(t Program, list []lookup) (*lookups, error) {
	l := &lookups{list: list, rows: make([]*tensor.Tensor, len(list)), ids: make([][]int64, len(list))}
	if len(list) == 0 {
		return l, nil
	}
	var ids []graph.Output
	for _, x := range list {
		ids = append(ids, x.ids)
	}
	// On the host, which sends the ids; they depend on no variable.
	host := device.NewHost()
	none, err := engine.NewVariables(host)
	if err != nil {
		return nil, err
	}
	l.program, err = engine.Compile(t.Graph, engine.Spec{Feeds: t.Feeds, Fetches: ids}, host, none, engine.Options{})
	return l, err
}

// fed returns the nodes in place of which rows are fed, and other.
func (l *lookups) fed(other *graph.Node) map[*graph.Node]bool {
	fed := map[*graph.Node]bool{other: true}
	for _, x := range l.list {
		fed[x.rows.Node] = true
	}
	return fed
}

// pull computes the ids of the batches of a step and fetches their rows.
func (w workerLookups) pull(ctx context.Context, c *ps.Client, batches []Batch) error {
	if len(w.list()) == 0 {
		return nil
	}
	var asked []ps.Rows
	for i, b := range batches {
		if err := w[i].program.Run(ctx, b.Rows, b.Feeds); err != nil {
			return fmt.Errorf("ids: %w", err)
		}
		asked = append(asked, w[i].request()...)
	}
	if _, err := c.PullRows(ctx, asked...); err != nil {
		return err
	}
	for i := range batches {
		for j, r := range w[i].rows {
			putApart(r, w[i].ids[j], len(asked[i*len(w.list())+j].IDs))
		}
	}
	return nil
}

func (l *lookups) close() error {
	if l.program == nil {
		return nil
	}
	return l.program.Close()
}

// request returns the rows that a batch needs, after the program for ids has run on it.
func (l *lookups) request() []ps.Rows {
	var out []ps.Rows
	for i, x := range l.list {
		ids := l.program.Value(i)
		shape := append(slices.Clone(ids.Shape), x.rows.Shape().At(1)[len(ids.Shape):]...)
		l.rows[i] = resized(l.rows[i], x.rows.DType(), shape)
		l.ids[i] = int64s(ids)
		kept := present(l.ids[i])
		flat := *l.rows[i]
		flat.Shape = append([]int{len(kept)}, shape[len(ids.Shape):]...)
		flat.Bytes = flat.Bytes[:flat.Len()*flat.DType.Size()]
		out = append(out, ps.Rows{Variable: x.variable, IDs: kept, Into: &flat})
	}
	return out
}

// resized returns a tensor of that shape, in the memory of t if it is large enough.
func resized(t *tensor.Tensor, d tensor.DType, shape []int) *tensor.Tensor {
	n := tensor.NumElements(shape) * d.Size()
	if t == nil || cap(t.Bytes) < n {
		return tensor.New(d, shape...)
	}
	t.Bytes, t.Shape = t.Bytes[:n], shape
	return t
}

// int64s returns ids of either type.
func int64s(t *tensor.Tensor) []int64 {
	if t.DType == tensor.Int64 && t.Len() > 0 {
		return tensor.Values[int64](t)
	}
	out := make([]int64, t.Len()) // not nil, which would mean all rows
	for i, id := range tensor.Values[int32](t) {
		out[i] = int64(id)
	}
	return out
}
