package eager

import "github.com/goestimator/goestimator/internal/imported/pieces"

// piecesWork pays for the memory package pieces uses to divide, normalize or join texts, and ends that work with the request.
type piecesWork struct{ room textRoom }

func newPiecesWork(c call) *piecesWork { return &piecesWork{c.textRoom()} }

// next returns the room for one text: the limit is per text.
func (w *piecesWork) next() pieces.Room {
	w.room.left = w.room.c.env.limit()
	return func(bytes int) error {
		if err := w.room.c.ctx.Err(); err != nil {
			return err
		}
		return w.room.take(bytes)
	}
}
