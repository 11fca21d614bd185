package ps

import "context"

// positionRequest asks server 0 for the place of a worker in its input, behind
// the last batch of it that the variables have seen.
type positionRequest struct {
	ident
	rank int
}

func (m *positionRequest) wire(c *coder) {
	m.ident.wire(c)
	c.int(&m.rank)
}

// positionReply has the place; without known, the worker has made no step.
type positionReply struct {
	known bool
	state []byte
}

func (m *positionReply) wire(c *coder) {
	c.bool(&m.known)
	c.bytes(&m.state)
}

func (s *Server) position(_ context.Context, req *positionRequest) (message, error) {
	x, err := s.find(req.ident)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	state, ok := x.positions[req.rank]
	return &positionReply{known: ok, state: state}, nil
}

// Position returns the place of this worker in its input, behind the last batch
// that the variables have seen; nil where there is none.
func (c *Client) Position(ctx context.Context) ([]byte, error) {
	_, ids, err := c.joined()
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	var reply positionReply
	if err := c.call(ctx, 0, "Position", &positionRequest{ids[0], c.c.Rank}, &reply); err != nil || !reply.known {
		return nil, err
	}
	return reply.state, nil
}
