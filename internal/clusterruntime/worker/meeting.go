package worker

import (
	"context"
	"sync"

	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// meeting is the rendezvous of a run: with its caller, this worker's table, and the workers of other senders.
type meeting struct {
	own   device.Name // the task of this worker
	peers Peers
	step  int64
	table *rendezvous.Table // nil if the graph exchanges tensors only with its caller
	payer eager.Payer
	sent  inbox // by the caller

	mu     sync.Mutex
	wanted inbox // by the caller
}

// letter is a value that is passed between a run and its caller.
type letter struct {
	key  string
	item rendezvous.Item
	here bool
}

// inbox is a list of letters that are found by key.
type inbox struct {
	all []letter
	at  map[string]int // nil for a few
}

// few is the number of letters up to which a linear search is faster than a map.
const few = 8

func inboxOf(all []letter) inbox {
	b := inbox{all: all}
	if len(all) > few {
		b.at = make(map[string]int, len(all))
		for i := range all {
			b.at[all[i].key] = i
		}
	}
	return b
}

// wanted returns empty letters for the keys.
func wanted(keys []string) inbox {
	all := make([]letter, len(keys))
	for i, key := range keys {
		all[i].key = key
	}
	return inboxOf(all)
}

// find returns the letter with a key, nil for none.
func (b *inbox) find(key string) *letter {
	if b.at != nil {
		if i, ok := b.at[key]; ok {
			return &b.all[i]
		}
		return nil
	}
	for i := range b.all {
		if b.all[i].key == key {
			return &b.all[i]
		}
	}
	return nil
}

// meet returns the rendezvous of a run.
func (w *Worker) meet(v visit) *meeting {
	m := &meeting{own: w.task, peers: w.peers, step: v.id, payer: v.graph.payer}
	if v.session != nil {
		m.own, m.peers = v.session.task, v.session.peers
	}
	if v.step != nil {
		m.table = v.step.table
	}
	return m
}

// Send implements dataflow.Rendezvous. A receiver elsewhere asks for the item. An item that cannot be asked for is dropped.
func (m *meeting) Send(key rendezvous.Key, item rendezvous.Item) error {
	if m.deliver(key.String(), item) || m.table == nil {
		return nil
	}
	return m.table.Send(key.String(), item)
}

// deliver keeps an item that the caller wants.
func (m *meeting) deliver(key string, item rendezvous.Item) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.wanted.find(key)
	if l == nil || l.here {
		return false
	}
	l.item, l.here = item, true
	return true
}

// answer returns the items that the caller wants from a run that has ended.
func (m *meeting) answer() (*rpcs.RunGraphResponse, error) {
	out := &rpcs.RunGraphResponse{}
	for _, l := range m.wanted.all {
		if !l.here {
			return nil, status.Errorf(codes.InvalidArgument, "the graph sent nothing as %q", l.key)
		}
		t, err := named(l.key, l.item)
		if err != nil {
			return nil, err
		}
		out.Recv = append(out.Recv, t)
	}
	return out, nil
}

// Take implements dataflow.Taker: items that the caller sent are available.
func (m *meeting) Take(key rendezvous.Key) (rendezvous.Item, bool) {
	if l := m.sent.find(key.String()); l != nil {
		return l.item, true
	}
	return rendezvous.Item{}, false
}

// Recv implements dataflow.Rendezvous.
func (m *meeting) Recv(ctx context.Context, key rendezvous.Key) (rendezvous.Item, error) {
	if item, ok := m.Take(key); ok {
		return item, nil
	}
	from, err := device.Parse(key.From)
	if err != nil {
		return rendezvous.Item{}, err
	}
	if m.own.Job == from.Job && m.own.Task == from.Task {
		if m.table == nil {
			return rendezvous.Item{}, status.Errorf(codes.InvalidArgument, "nothing is sent as %q", key)
		}
		return m.table.Recv(ctx, key.String())
	}
	peer, err := m.peers.Worker(from.Job, from.Task)
	if err != nil {
		return rendezvous.Item{}, err
	}
	out, err := service.Ask[rpcs.RecvTensorResponse](ctx, peer, "RecvTensor", &rpcs.RecvTensorRequest{StepId: m.step, RendezvousKey: key.String(), DmaOk: true})
	if err != nil {
		return rendezvous.Item{}, err
	}
	if out.GetIsDead() {
		return rendezvous.Item{Dead: true}, nil
	}
	t, err := m.payer.Make(decodedSize(out.GetTensor()), func() (*tensor.Tensor, error) { return viewed(out.GetTensor()) })
	return rendezvous.Item{Tensor: t}, err
}

// viewed reads a tensor from another task.
func viewed(p *tensor_go_proto.TensorProto) (*tensor.Tensor, error) {
	if tensor.DType(p.GetDtype()) == tensor.Variant {
		return graphdef.ViewVariantProto(p, nil)
	}
	return graphdef.ViewTensorProto(p, nil)
}
