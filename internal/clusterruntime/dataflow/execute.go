package dataflow

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/platform/fault"
	"github.com/goestimator/goestimator/tensor"
)

// room is memory that the tasks of a worker use in turn.
type room struct {
	in, out []eager.Value
	tokens  []token
}

// forget drops all references of the room.
func (m *room) forget() {
	clear(m.in[:cap(m.in)])
	clear(m.out[:cap(m.out)])
	clear(m.tokens[:cap(m.tokens)])
}

func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, 2*n)
	}
	s = s[:n]
	clear(s)
	return s
}

// execute runs a node. It takes the node's inputs out of the iteration, where nothing else reads them.
func (r *run) execute(ctx context.Context, t task, m *room) (out []token, err error) {
	defer func() {
		if p := recover(); p != nil { // in its own goroutine, a panic would end the process
			err = fault.New("node "+r.p.nodes[t.node].source.Name, p)
			fault.Log(nil, err)
		}
	}()
	n := &r.p.nodes[t.node]
	in := t.at.inputs[n.firstInput : n.firstInput+n.inputs]
	defer clear(in)
	m.tokens = grown(m.tokens, n.outputs)
	if t.dead && n.role != send {
		return m.tokens, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	for i := range n.reads {
		if n.reads[i] && in[i].live {
			if err := in[i].read(); err != nil {
				return nil, &eager.Error{Node: n.source.Name, Op: n.source.Op, Err: err}
			}
		}
	}
	if n.role != ordinary {
		return m.tokens, r.control(ctx, t, in, m.tokens)
	}
	m.in, m.out = grown(m.in, len(in)), grown(m.out, n.outputs)
	for i := range in {
		m.in[i] = in[i].value
	}
	if err := n.kernel(ctx, r.step.Env, m.in, m.out); err != nil {
		return nil, err
	}
	for i := range m.out {
		m.tokens[i] = token{m.out[i], true}
	}
	return m.tokens, nil
}

// read replaces a reference by the present value of its variable.
func (t *token) read() error {
	v, ok := t.value.Resource.(eager.Variable)
	if !ok {
		return nil // another node made the reference from a value
	}
	now, err := v.Load()
	t.value = eager.Value{T: now}
	return err
}

// control runs a node that is not a kernel.
func (r *run) control(ctx context.Context, t task, in, out []token) error {
	n := &r.p.nodes[t.node]
	switch n.role {
	case branch:
		taken, err := n.taken(in[1].value.T)
		if err != nil {
			return &eager.Error{Node: n.source.Name, Op: n.source.Op, Err: err}
		}
		out[taken] = in[0]
	case merge:
		for i := range in {
			if in[i].live {
				out[0], out[1] = in[i], token{eager.Value{T: tensor.Scalar(int32(i))}, true}
				break
			}
		}
	case send:
		item := rendezvous.Item{Dead: t.dead}
		if !t.dead {
			if item.Tensor = in[0].value.T; item.Tensor == nil {
				var err error
				if item.Tensor, err = r.step.Env.Payer.EncodeVariant(in[0].value); err != nil {
					return &eager.Error{Node: n.source.Name, Op: n.source.Op, Err: fmt.Errorf("expected a tensor: a resource cannot leave its device: %w", err)}
				}
			}
		}
		return r.step.Rendezvous.Send(n.keyIn(t.at), item)
	case recv:
		item, err := r.step.Rendezvous.Recv(ctx, n.keyIn(t.at))
		if err != nil {
			return err
		}
		return r.receive(n, item, out)
	case arg:
		if n.number < 0 || n.number >= len(r.step.Args) {
			return &eager.Error{Node: n.source.Name, Op: n.source.Op, Err: fmt.Errorf("there is no argument %d: the step has %d", n.number, len(r.step.Args))}
		}
		out[0] = token{r.step.Args[n.number], true}
	case retval:
		if n.number < 0 || n.number >= len(r.step.Results) {
			return &eager.Error{Node: n.source.Name, Op: n.source.Op, Err: fmt.Errorf("there is no result %d: the step has %d", n.number, len(r.step.Results))}
		}
		r.step.Results[n.number] = in[0].value
	case trigger:
	default:
		out[0] = in[0]
	}
	return nil
}

// receive sets the output of a _Recv to the received item.
func (r *run) receive(n *node, item rendezvous.Item, out []token) error {
	if want, _ := n.source.Attrs["tensor_type"].(tensor.DType); !item.Dead && item.Tensor.DType != want {
		return &eager.Error{Node: n.source.Name, Op: n.source.Op, Err: fmt.Errorf("expected a tensor of type %v, got %v", want, item.Tensor.DType)}
	}
	if !item.Dead && item.Tensor.DType == tensor.Variant {
		list, err := r.step.Env.Payer.DecodeVariant(item.Tensor)
		if err != nil {
			return &eager.Error{Node: n.source.Name, Op: n.source.Op, Err: err}
		}
		out[0] = token{list, true}
		return nil
	}
	out[0] = token{eager.Value{T: item.Tensor}, !item.Dead}
	return nil
}

// taken returns the output to which a Switch sends its value. A number without a branch means the last one.
func (n *node) taken(pred *tensor.Tensor) (int, error) {
	if n.source.Op != "_SwitchN" {
		if pred == nil || pred.Len() != 1 || len(pred.Bytes) != 1 {
			return 0, fmt.Errorf("expected a boolean scalar as predicate")
		}
		return int(pred.Bytes[0] & 1), nil
	}
	if pred == nil || pred.Len() != 1 || pred.DType != tensor.Int32 || n.outputs == 0 {
		return 0, fmt.Errorf("expected branches, and the number of one as an int32 scalar")
	}
	i := int(tensor.Values[int32](pred)[0])
	if i < 0 || i >= n.outputs {
		i = n.outputs - 1
	}
	return i, nil
}
