package eager

import "github.com/goestimator/goestimator/internal/imported/pieces"

// piecesWork pays for what package pieces takes while it divides, normalizes or joins texts, and ends it with the request.
type piecesWork struct{ room textRoom }

func newPiecesWork(c call) *piecesWork { return &piecesWork{c.textRoom()} }

// next is the room of one text: the limit is that of each.
func (w *piecesWork) next() pieces.Room {
	w.room.left = w.room.c.env.limit()
	return func(bytes int) error {
		if err := w.room.c.ctx.Err(); err != nil {
			return err
		}
		return w.room.take(bytes)
	}
}
