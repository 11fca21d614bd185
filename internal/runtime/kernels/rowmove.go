package kernels

import "unsafe"

// movedEach is the number of bytes of rows that are worth a thread.
const movedEach = 64 << 10

// BadRow returns the place of the first id that is not in [0, rows), or -1.
func BadRow[I int32 | int64](ids []I, rows int) int {
	for i, id := range ids {
		if uint64(id) >= uint64(rows) { // a negative id is large
			return i
		}
	}
	return -1
}

// PickRows sets row i of dst to row ids[i] of table. Rows have size bytes, of any type. Every id must be a row of the table (see BadRow).
func PickRows[I int32 | int64](dst, table []byte, ids []I, size int) {
	dst = dst[:len(ids)*size]
	if len(dst) <= movedEach {
		pickRange(dst, table, ids, size)
		return
	}
	j := rowMoves.get()
	j.dst, j.table, j.size = dst, table, size
	j.ids32, j.ids64 = byWidth(ids)
	Parallel(len(ids), max(1, movedEach/size), j)
	*j = rowMove{}
	rowMoves.put(j)
}

// rowMove is the work of PickRows.
type rowMove struct {
	dst, table []byte
	ids32      []int32
	ids64      []int64 // if ids32 is nil
	size       int
}

var rowMoves freelist[rowMove]

// Run implements Task.
func (j *rowMove) Run(lo, hi int) {
	dst := j.dst[lo*j.size : hi*j.size]
	if j.ids32 != nil {
		pickRange(dst, j.table, j.ids32[lo:hi], j.size)
	} else {
		pickRange(dst, j.table, j.ids64[lo:hi], j.size)
	}
}

// pickRange is PickRows on the calling goroutine.
func pickRange[I int32 | int64](dst, table []byte, ids []I, size int) {
	switch size {
	case 0:
	case 4:
		pick[[4]byte](dst, table, ids)
	case 8:
		pick[[8]byte](dst, table, ids)
	case 16:
		pick[[16]byte](dst, table, ids)
	case 32:
		pick[[32]byte](dst, table, ids)
	case 64:
		pick[[64]byte](dst, table, ids)
	case 128:
		pick[[128]byte](dst, table, ids)
	default:
		for lo := 0; lo < len(ids); lo += touched {
			some := ids[lo:min(lo+touched, len(ids))]
			touchRows(table, some, size, uint64(len(table)/size))
			for i, id := range some {
				copy(dst[(lo+i)*size:(lo+i+1)*size], table[int(id)*size:])
			}
		}
	}
}

// pick copies rows of the size of R. It needs so few instructions for each that the cache misses of many rows overlap.
func pick[R any, I int32 | int64](dst, table []byte, ids []I) {
	to, from := rowsOf[R](dst), rowsOf[R](table)
	to = to[:len(ids)]
	for i, id := range ids {
		to[i] = from[id]
	}
}

// PutRows sets row ids[i] of table to row i of src, in order, on the calling goroutine. It is the inverse of PickRows. Every id must be
// a row of the table.
func PutRows[I int32 | int64](table, src []byte, ids []I, size int) {
	switch size {
	case 0:
	case 4:
		put[[4]byte](table, src, ids)
	case 8:
		put[[8]byte](table, src, ids)
	case 16:
		put[[16]byte](table, src, ids)
	case 32:
		put[[32]byte](table, src, ids)
	case 64:
		put[[64]byte](table, src, ids)
	case 128:
		put[[128]byte](table, src, ids)
	default:
		for i, id := range ids {
			copy(table[int(id)*size:][:size], src[i*size:])
		}
	}
}

func put[R any, I int32 | int64](table, src []byte, ids []I) {
	to, from := rowsOf[R](table), rowsOf[R](src)
	from = from[:len(ids)]
	for i, id := range ids {
		to[id] = from[i]
	}
}

// rowsOf views bytes as rows of the size of R, an array of bytes.
func rowsOf[R any](b []byte) []R {
	var r R
	return unsafe.Slice((*R)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(r)))
}

// bytesOf views numbers as bytes.
func bytesOf[T Float](x []T) []byte {
	var z T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(z)))
}

// byWidth returns the ids with their own type; the other slice is nil.
func byWidth[I int32 | int64](ids []I) (narrow []int32, wide []int64) {
	switch v := any(ids).(type) {
	case []int32:
		return v, nil
	case []int64:
		return nil, v
	}
	return nil, nil
}
