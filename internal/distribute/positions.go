package distribute

import (
	"context"
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	positionService = "goestimator.Worker"
	positionMethod  = "/" + positionService + "/Position"
)

// positions has the positions of this task's input after its latest steps, so that the
// chief can save the one for a checkpoint's step.
type positions struct {
	mu    sync.Mutex
	steps [2]int64 // in order
	value [2][]byte
}

func newPositions() *positions { return &positions{steps: [2]int64{-1, -1}} }

// put stores the position after a step, replacing an earlier one for the same step.
func (p *positions) put(step int64, position []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.steps[1] != step {
		p.steps[0], p.value[0] = p.steps[1], p.value[1]
	}
	p.steps[1], p.value[1] = step, append([]byte(nil), position...)
}

// at returns the position after a step, false if it is not stored.
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

// reset forgets all positions except the one at which training begins.
func (p *positions) reset(step int64, position []byte) {
	p.mu.Lock()
	p.steps = [2]int64{-1, -1}
	p.mu.Unlock()
	if position != nil {
		p.put(step, position)
	}
}

// service answers other tasks' InputPositionRequests.
func (p *positions) service() cluster.Service {
	return cluster.Service{Name: positionService, Unary: map[string]cluster.Handler{"Position": func(_ context.Context, req *cluster.Frame) (*cluster.Frame, error) {
		var q wire.InputPositionRequest
		if err := wire.Decode(req.Header, &q); err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "position: %v", err)
		}
		if v, ok := p.at(q.Step); ok {
			return &cluster.Frame{Header: wire.Encode(&wire.InputPositionReply{Known: true}), Body: [][]byte{v}}, nil
		}
		return &cluster.Frame{}, nil
	}}}
}

// positionOf asks a task for its input's position after a step.
func positionOf(ctx context.Context, c cluster.Client, task cluster.Task, step int64) ([]byte, bool, error) {
	reply, err := c.Call(ctx, task, positionMethod, &cluster.Frame{Header: wire.Encode(&wire.InputPositionRequest{Step: step})})
	if err != nil {
		return nil, false, fmt.Errorf("input position: %w", err)
	}
	defer reply.Release()
	var r wire.InputPositionReply
	if err := wire.Decode(reply.Header, &r); err != nil || !r.Known {
		return nil, false, err
	}
	v := make([]byte, reply.Len())
	reply.CopyTo(v, 0)
	return v, true, nil
}
