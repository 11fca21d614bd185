package distribute

import (
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// Ragged columns are padded with negative ids. Rows of gradients and lookups for
// negative ids have no meaning and are not sent.

// present returns the ids that are not negative: ids itself, a prefix of it, or a copy.
func present(ids []int64) []int64 {
	n := slices.IndexFunc(ids, negative)
	if n < 0 {
		return ids
	}
	if !slices.ContainsFunc(ids[n:], notNegative) {
		return ids[:n]
	}
	return slices.DeleteFunc(slices.Clone(ids), negative)
}

func negative(id int64) bool    { return id < 0 }
func notNegative(id int64) bool { return id >= 0 }

// presentRows returns the rows of the ids that are not negative, as a copy if they are
// not contiguous.
func presentRows(rows *tensor.Tensor, ids, kept []int64) *tensor.Tensor {
	if len(kept) == len(ids) {
		return rows
	}
	out := *rows
	out.Shape = append([]int{len(kept)}, rows.Shape[1:]...)
	size := len(rows.Bytes) / len(ids)
	if len(kept) == 0 || !slices.ContainsFunc(ids[:len(kept)], negative) {
		out.Bytes = rows.Bytes[:len(kept)*size]
		return &out
	}
	out.Bytes = make([]byte, 0, len(kept)*size)
	for i, id := range ids {
		if id >= 0 {
			out.Bytes = append(out.Bytes, rows.Bytes[i*size:(i+1)*size]...)
		}
	}
	return &out
}

// putApart moves the rows of kept ids from the beginning of rows to the places of the
// ids. The rows of negative ids become zero.
func putApart(rows *tensor.Tensor, ids []int64, kept int) {
	if kept == len(ids) {
		return
	}
	size := len(rows.Bytes) / len(ids)
	for i := len(ids) - 1; i >= 0; i-- { // from the end, since rows only move backwards
		to := rows.Bytes[i*size : (i+1)*size]
		if ids[i] < 0 {
			clear(to)
			continue
		}
		kept--
		if kept == i {
			continue
		}
		copy(to, rows.Bytes[kept*size:(kept+1)*size])
	}
}
