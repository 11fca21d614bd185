package kernels

// Columns is the place of one part in rows of several parts, in bytes.
type Columns struct{ From, Size, Row int }

// PutColumns sets the columns at of dst's rows to the rows of src, as a concatenation does for each of its parts. The elements may
// have any type.
func PutColumns(dst, src []byte, at Columns) {
	if at.Size == 0 {
		return
	}
	rows := len(src) / at.Size
	if len(src) <= movedEach {
		(&columnMove{dst, src, at}).Run(0, rows)
		return
	}
	j := columnMoves.get()
	*j = columnMove{dst, src, at}
	Parallel(rows, max(1, movedEach/at.Size), j)
	*j = columnMove{}
	columnMoves.put(j)
}

// columnMove is the work of PutColumns.
type columnMove struct {
	dst, src []byte
	at       Columns
}

var columnMoves freelist[columnMove]

// Run implements Task.
func (j *columnMove) Run(lo, hi int) {
	switch j.at.Size {
	case 4:
		putColumns[[4]byte](j, lo, hi)
	case 8:
		putColumns[[8]byte](j, lo, hi)
	case 16:
		putColumns[[16]byte](j, lo, hi)
	case 32:
		putColumns[[32]byte](j, lo, hi)
	case 64:
		putColumns[[64]byte](j, lo, hi)
	case 128:
		putColumns[[128]byte](j, lo, hi)
	default:
		if j.at.Size == j.at.Row {
			copy(j.dst[lo*j.at.Row:], j.src[lo*j.at.Row:hi*j.at.Row])
			return
		}
		for i := lo; i < hi; i++ {
			copy(j.dst[i*j.at.Row+j.at.From:], j.src[i*j.at.Size:(i+1)*j.at.Size])
		}
	}
}

// putColumns copies rows of the size of R.
func putColumns[R any](j *columnMove, lo, hi int) {
	for i, row := range rowsOf[R](j.src)[lo:hi] {
		rowsOf[R](j.dst[(lo+i)*j.at.Row+j.at.From:][:j.at.Size])[0] = row
	}
}
