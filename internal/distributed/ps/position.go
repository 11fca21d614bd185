package ps

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/distributed/wire"
)

func (s *Server) position(_ context.Context, req *wire.PositionRequest) (proto.Message, error) {
	x, err := s.find(req.Id)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	state, ok := x.positions[int(req.Rank)]
	return &wire.PositionReply{Known: ok, State: state}, nil
}

// Position returns the position of this worker in its input, after the last
// batch that the variables include; nil if there is none.
func (c *Client) Position(ctx context.Context) ([]byte, error) {
	_, ids, err := c.connection()
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	var reply wire.PositionReply
	if err := c.call(ctx, 0, "Position", &wire.PositionRequest{Id: ids[0], Rank: int64(c.c.Rank)}, &reply); err != nil || !reply.Known {
		return nil, err
	}
	return reply.State, nil
}
