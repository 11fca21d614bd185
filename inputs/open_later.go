package inputs

import (
	"context"
	"errors"
)

// openLater opens n in the middle of a pass. The stage may live as long as the pass; the context of the call that needs it ends only the
// opening, which may read much.
func openLater(ctx, pass context.Context, n *node, epoch int64) (stage, error) {
	life, end := context.WithCancel(pass)
	opened := context.AfterFunc(ctx, end)
	st, err := n.open(life, epoch)
	if !opened() && err == nil { // ctx ended meanwhile, and with it the stage's
		err = errors.Join(ctx.Err(), st.close())
	}
	if err == nil {
		return laterStage{st, end}, nil
	}
	end()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, err
}

// laterStage ends its context when it is closed.
type laterStage struct {
	stage
	end context.CancelFunc
}

func (s laterStage) close() error {
	defer s.end()
	return s.stage.close()
}
