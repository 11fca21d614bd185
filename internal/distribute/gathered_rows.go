package distribute

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// gatheredRows collects the rows of one sparse gradient over replicas and tasks, except
// the rows of negative ids.
type gatheredRows struct {
	rows, ids *tensor.Tensor
	rowBytes  int
	perRow    int // ids per row of a batch in the program that takes them
}

// newGatheredRows returns an empty collection for a gradient of these types, whose
// first dimensions are the number of ids.
func newGatheredRows(rows, ids graph.Type) *gatheredRows {
	shape := rows.Shape.At(0)
	shape[0] = 1
	j := &gatheredRows{rows: tensor.New(rows.DType, shape...), ids: tensor.New(ids.DType, 0)}
	j.rowBytes, j.perRow = len(j.rows.Bytes), max(ids.Shape.Dims[0].PerBatch, 1)
	j.reset()
	return j
}

// reset empties the collection, keeping its memory.
func (j *gatheredRows) reset() {
	j.rows.Bytes, j.ids.Bytes = j.rows.Bytes[:0], j.ids.Bytes[:0]
	j.rows.Shape[0], j.ids.Shape[0] = 0, 0
}

// add appends rows and their ids.
func (j *gatheredRows) add(rows, ids []byte) error {
	n := len(ids) / j.ids.DType.Size()
	if n*j.ids.DType.Size() != len(ids) || n*j.rowBytes != len(rows) {
		return fmt.Errorf("expected ids of %d bytes with a row of %d bytes each, got %d and %d bytes", j.ids.DType.Size(), j.rowBytes, len(ids), len(rows))
	}
	for at := 0; at < n; {
		from := at
		for from < n && j.negative(ids, from) {
			from++
		}
		for at = from; at < n && !j.negative(ids, at); {
			at++
		}
		size := j.ids.DType.Size()
		j.rows.Bytes, j.ids.Bytes = append(j.rows.Bytes, rows[from*j.rowBytes:at*j.rowBytes]...), append(j.ids.Bytes, ids[from*size:at*size]...)
	}
	j.count()
	return nil
}

// negative reports whether id i is negative. The sign is in the last byte, since values are little endian.
func (j *gatheredRows) negative(ids []byte, i int) bool {
	return ids[(i+1)*j.ids.DType.Size()-1]&0x80 != 0
}

// count sets the shapes to the number of ids.
func (j *gatheredRows) count() {
	n := len(j.ids.Bytes) / j.ids.DType.Size()
	j.rows.Shape[0], j.ids.Shape[0] = n, n
}

// batch returns the number of rows of a batch with room for the collection.
func (j *gatheredRows) batch() int { return (j.ids.Shape[0] + j.perRow - 1) / j.perRow }

// fill adds rows of zeros with negative ids, up to the ids of a batch of rows.
func (j *gatheredRows) fill(rows int) {
	n := rows*j.perRow - j.ids.Shape[0]
	j.rows.Bytes = appendBytes(j.rows.Bytes, n*j.rowBytes, 0)
	j.ids.Bytes = appendBytes(j.ids.Bytes, n*j.ids.DType.Size(), 0xff)
	j.count()
}

func appendBytes(b []byte, n int, v byte) []byte {
	b = slices.Grow(b, n)
	for range n {
		b = append(b, v)
	}
	return b
}
