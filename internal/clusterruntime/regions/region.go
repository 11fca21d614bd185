package regions

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
)

const (
	// patience is how often inputs of the same sizes are seen before a program is made: most graphs run once or twice.
	patience = 2
	// maxSizes is how many sizes a region has programs for. With more, it runs op by op.
	maxSizes = 8
)

// region is a set of nodes that run as one.
type region struct {
	nodes   []*graph.Node
	feeds   []graph.Output // of other nodes
	fetches []graph.Output // read by other nodes
	node    *graph.Node    // replaces them

	steps  []step // the nodes one by one
	slots  int    // values of a run
	taken  []int  // the slots of fetches
	inputs []string
	names  []string // of fetches

	session *session.Session

	mu    sync.Mutex
	seen  map[string]int // number of runs by input sizes
	plain bool           // there will be no programs
	// holder pays for the memory of idle programs.
	holder *budget.Account
	held   int
}

// step is one node: its kernel and the slots of its inputs. The slots of its outputs are consecutive.
type step struct {
	node    *graph.Node
	kernel  eager.Kernel
	in      []int
	out     int
	outputs int
}

// prepare makes the kernels and the session of a region.
func (r *region) prepare() (err error) {
	r.seen = map[string]int{}
	g := graph.New()
	at := map[graph.Output]int{}              // slots
	inside := map[graph.Output]graph.Output{} // in the session's graph
	for i, o := range r.feeds {
		n := &graph.Node{Name: fmt.Sprint("in", i), Op: "Placeholder", Outputs: []graph.Type{o.Type()}, Attrs: graph.Attrs{"dtype": o.DType()}}
		n.Name = g.UniqueName(n.Name)
		at[o], inside[o] = i, n.Out(0)
		r.inputs = append(r.inputs, n.Name+":0")
		if err := g.Add(n); err != nil {
			return err
		}
	}
	r.slots = len(r.feeds)
	add := func(n *graph.Node) error {
		c := *n
		c.Name, c.Control, c.Inputs = g.UniqueName(n.Name), nil, nil
		s := step{node: n, out: r.slots}
		if s.kernel, err = eager.Prepare(n); err != nil {
			return err
		}
		if s.outputs, err = eager.Outputs(n); err != nil {
			return err
		}
		s.outputs = max(s.outputs, len(n.Outputs))
		for _, in := range n.Inputs {
			s.in = append(s.in, at[in])
			c.Inputs = append(c.Inputs, inside[in])
		}
		for k := range n.Outputs {
			at[n.Out(k)], inside[n.Out(k)] = r.slots+k, c.Out(k)
		}
		r.slots += s.outputs
		r.steps = append(r.steps, s)
		return g.Add(&c)
	}
	for _, n := range r.nodes {
		for _, in := range n.Inputs {
			if _, ok := at[in]; !ok && constant(in.Node) {
				if err := add(in.Node); err != nil {
					return err
				}
			}
		}
		if err := add(n); err != nil {
			return err
		}
	}
	for _, o := range r.fetches {
		r.taken = append(r.taken, at[o])
		r.names = append(r.names, inside[o].Node.Name+":"+strconv.Itoa(inside[o].Index))
	}
	r.session, err = session.Of(g, session.Options{})
	return err
}

// run is the kernel of the region's node.
func (r *region) run(ctx context.Context, env *eager.Env, in, out []eager.Value) error {
	sizes, ready := r.ready(in)
	if !ready || env.Ran != nil { // one by one, each node is reported
		err := r.oneByOne(ctx, env, in, out)
		if err == nil && sizes != "" {
			r.saw(sizes)
		}
		return err
	}
	got, err := r.compiled(ctx, env.Payer.Account, in)
	if err == nil {
		return pay(env.Payer, got, out)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := r.oneByOne(ctx, env, in, out); err != nil { // the error names the node
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plain = true
	return nil
}

// compiled runs the programs. Their memory is charged to a separate account that ends with the run, whatever other steps of the
// session hold. The session's account pays for memory that programs keep for the next run.
func (r *region) compiled(ctx context.Context, session *budget.Account, in []eager.Value) ([]*tensor.Tensor, error) {
	feeds := make(map[string]*tensor.Tensor, len(in))
	for i := range in {
		feeds[r.inputs[i]] = in[i].T
	}
	a := session.Server().OpenLasting()
	defer a.Close()
	got, err := r.session.Run(budget.With(ctx, a), feeds, r.names)
	r.hold(session)
	return got, err
}

// hold makes an account pay for the memory of idle programs. If there is no room, there will be no programs.
func (r *region) hold(by *budget.Account) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := int(r.session.Idle())
	if by == r.holder && n == r.held {
		return
	}
	r.holder.ReleaseModel(r.held)
	r.holder, r.held = by, n
	if by.ReserveModel(n) != nil {
		r.held, r.plain = 0, true
		r.session.Evict()
	}
}

// pay makes tensors outputs, which the payer then pays for.
func pay(p eager.Payer, made []*tensor.Tensor, out []eager.Value) error {
	for i, t := range made {
		paid, err := p.Make(t.MemoryBytes(), func() (*tensor.Tensor, error) { return t, nil })
		if err != nil {
			return err
		}
		out[i] = eager.Value{T: paid}
	}
	return nil
}

// ready reports whether inputs of these sizes are worth a program. If they may be later, it returns a key for the sizes.
func (r *region) ready(in []eager.Value) (sizes string, ok bool) {
	var room [256]byte
	key := room[:0]
	for _, v := range in {
		if v.T == nil {
			return "", false
		}
		for _, d := range v.T.Shape {
			key = append(strconv.AppendInt(key, int64(d), 10), ',')
		}
		key = append(key, ';')
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.plain {
		return "", false
	}
	if r.seen[string(key)] < patience {
		return string(key), false
	}
	return "", true
}

// saw records that the nodes ran for inputs of some sizes. Failed runs do not count: they would compile a program each time.
func (r *region) saw(sizes string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.seen[sizes]; !ok && len(r.seen) >= maxSizes {
		r.plain = true
		return
	}
	r.seen[sizes]++
}

// oneByOne runs the nodes in order.
func (r *region) oneByOne(ctx context.Context, env *eager.Env, in, out []eager.Value) error {
	values := make([]eager.Value, r.slots)
	copy(values, in)
	var args []eager.Value
	for i := range r.steps {
		s := &r.steps[i]
		args = args[:0]
		for _, at := range s.in {
			args = append(args, values[at])
		}
		began := now(env)
		if err := s.kernel(ctx, env, args, values[s.out:s.out+s.outputs]); err != nil {
			return err
		}
		if env.Ran != nil {
			env.Ran(s.node, began, values[s.out:s.out+s.outputs])
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
	}
	for i, at := range r.taken {
		out[i] = values[at]
	}
	return nil
}

// now is the time at which a node begins, if times are recorded.
func now(env *eager.Env) time.Time {
	if env.Ran == nil {
		return time.Time{}
	}
	return time.Now()
}

func (r *region) close() error {
	if r.session == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holder.ReleaseModel(r.held)
	r.held = 0
	return r.session.Close()
}
