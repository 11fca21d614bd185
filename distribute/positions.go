package distribute

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	positionService = "goestimator.Worker"
	positionMethod  = "/" + positionService + "/Position"
)

// positions remembers where this task's input stood after its latest steps, so
// that the chief can save it with the checkpoint of one of them.
type positions struct {
	mu    sync.Mutex
	steps [2]int64 // the latest last
	value [2][]byte
}

func newPositions() *positions { return &positions{steps: [2]int64{-1, -1}} }

// put remembers the position behind a step. A step told again replaces itself.
func (p *positions) put(step int64, position []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.steps[1] != step {
		p.steps[0], p.value[0] = p.steps[1], p.value[1]
	}
	p.steps[1], p.value[1] = step, append([]byte(nil), position...)
}

// at returns the position behind a step, false where it is not remembered.
func (p *positions) at(step int64) ([]byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, s := range p.steps {
		if s == step && step >= 0 {
			return p.value[i], true
		}
	}
	return nil, false
}

// reset forgets all but the position that training begins from.
func (p *positions) reset(step int64, position []byte) {
	p.mu.Lock()
	p.steps = [2]int64{-1, -1}
	p.mu.Unlock()
	if position != nil {
		p.put(step, position)
	}
}

// service answers other tasks: the header is the step, 8 bytes little endian;
// the answer's header is 1 and its body the position, or an empty header where
// training began there without any.
func (p *positions) service() cluster.Service {
	return cluster.Service{Name: positionService, Unary: map[string]cluster.Handler{"Position": func(_ context.Context, req *cluster.Frame) (*cluster.Frame, error) {
		if len(req.Header) != 8 {
			return nil, status.Errorf(codes.InvalidArgument, "position: expected a step of 8 bytes, got %d", len(req.Header))
		}
		if v, ok := p.at(int64(binary.LittleEndian.Uint64(req.Header))); ok {
			return &cluster.Frame{Header: []byte{1}, Body: [][]byte{v}}, nil
		}
		return &cluster.Frame{}, nil
	}}}
}

// positionOf asks a task where its input stood after a step.
func positionOf(ctx context.Context, c cluster.Client, task cluster.Task, step int64) ([]byte, bool, error) {
	reply, err := c.Call(ctx, task, positionMethod, &cluster.Frame{Header: binary.LittleEndian.AppendUint64(nil, uint64(step))})
	if err != nil {
		return nil, false, fmt.Errorf("input position: %w", err)
	}
	defer reply.Release()
	if len(reply.Header) == 0 {
		return nil, false, nil
	}
	v := make([]byte, reply.Len())
	reply.CopyTo(v, 0)
	return v, true, nil
}
