package distribute

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/graph"
)

// joined collects the rows of one sparse gradient over replicas and tasks.
type joined struct {
	rows, ids *graph.Tensor
	rowBytes  int
}

// newJoined returns an empty collection for a gradient of these types, whose
// first dimensions are the number of ids.
func newJoined(rows, ids graph.Type) *joined {
	shape := rows.Shape.At(0)
	shape[0] = 1
	j := &joined{rows: graph.NewTensor(rows.DType, shape...), ids: graph.NewTensor(ids.DType, 0)}
	j.rowBytes = len(j.rows.Bytes)
	j.reset()
	return j
}

// reset empties the collection, keeping its memory.
func (j *joined) reset() {
	j.rows.Bytes, j.ids.Bytes = j.rows.Bytes[:0], j.ids.Bytes[:0]
	j.rows.Shape[0], j.ids.Shape[0] = 0, 0
}

// add appends rows and their ids.
func (j *joined) add(rows, ids []byte) error {
	n := len(ids) / j.ids.DType.Size()
	if n*j.ids.DType.Size() != len(ids) || n*j.rowBytes != len(rows) {
		return fmt.Errorf("expected ids of %d bytes with a row of %d bytes each, got %d and %d bytes", j.ids.DType.Size(), j.rowBytes, len(ids), len(rows))
	}
	j.rows.Bytes, j.ids.Bytes = append(j.rows.Bytes, rows...), append(j.ids.Bytes, ids...)
	j.rows.Shape[0] += n
	j.ids.Shape[0] += n
	return nil
}
