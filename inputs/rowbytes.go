package inputs

import (
	"github.com/apache/arrow/go/v15/arrow"
)

// rowBytes returns the number of bytes that the values of a record take. A slice of a record counts only its own rows, so that the sizes
// of slices add up to the whole. Validity is not counted.
func rowBytes(rec arrow.Record) int64 {
	n := int64(0)
	for i := range int(rec.NumCols()) {
		d := peek(rec, i).Data()
		n += dataBytes(d, 0, d.Len())
	}
	return n
}

// dataBytes returns the bytes of the values of n rows, from row start of the array on.
func dataBytes(d arrow.ArrayData, start, n int) int64 {
	if n == 0 {
		return 0
	}
	switch t := d.DataType().(type) {
	case *arrow.BinaryType, *arrow.StringType:
		return int64(4*n + offsetAt(d, start+n) - offsetAt(d, start))
	case *arrow.ListType:
		from, to := offsetAt(d, start), offsetAt(d, start+n)
		return int64(4*n) + dataBytes(d.Children()[0], from, to-from)
	case *arrow.FixedSizeListType:
		size := int(t.Len())
		return dataBytes(d.Children()[0], (d.Offset()+start)*size, n*size)
	case arrow.FixedWidthDataType:
		return int64(n) * int64((t.BitWidth()+7)/8)
	}
	return 0
}
