package inputs

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/bitutil"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// checkData checks that an array read from a file stays within its buffers: the
// Arrow library trusts the lengths and offsets in the file.
func checkData(d arrow.ArrayData) error {
	end := d.Offset() + d.Len()
	buffers := d.Buffers()
	if len(buffers) > 0 && buffers[0] != nil && int64(buffers[0].Len()) < bitutil.BytesForBits(int64(end)) {
		return errDamaged("validity bitmap", buffers[0].Len(), end)
	}
	switch t := d.DataType().(type) {
	case *arrow.BinaryType, *arrow.StringType:
		return checkOffsets(d, bufferLen(buffers, 2))
	case *arrow.LargeBinaryType, *arrow.LargeStringType:
		return nil // read value by value, through the library's checks
	case *arrow.LargeListType:
		return checkData(d.Children()[0]) // its own offsets are checked as they are read
	case *arrow.ListType:
		child := d.Children()[0]
		if err := checkOffsets(d, child.Len()); err != nil {
			return err
		}
		return checkData(child)
	case *arrow.FixedSizeListType:
		child := d.Children()[0]
		if child.Len() < end*int(t.Len()) {
			return errDamaged("list elements", child.Len(), end*int(t.Len()))
		}
		return checkData(child)
	case arrow.FixedWidthDataType:
		need := int(bitutil.BytesForBits(int64(end) * int64(t.BitWidth())))
		if got := bufferLen(buffers, 1); got < need {
			return errDamaged("values", got, need)
		}
	}
	return nil
}

func checkOffsets(d arrow.ArrayData, limit int) error {
	if d.Len() == 0 {
		return nil
	}
	if got, need := bufferLen(d.Buffers(), 1), 4*(d.Offset()+d.Len()+1); got < need {
		return errDamaged("offsets", got, need)
	}
	last := offsetAt(d, 0)
	if last < 0 {
		return errDamaged("an offset", last, 0)
	}
	for i := 1; i <= d.Len(); i++ {
		o := offsetAt(d, i)
		if o < last || o > limit {
			return errDamaged("an offset", o, limit)
		}
		last = o
	}
	return nil
}

func bufferLen(buffers []*memory.Buffer, i int) int {
	if i >= len(buffers) || buffers[i] == nil {
		return 0
	}
	return buffers[i].Len()
}

func errDamaged(what string, got, need int) error {
	return fmt.Errorf("file is damaged: %s hold %d where %d is needed; get it again", what, got, need)
}
