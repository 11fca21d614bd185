package inputs

import (
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// rewriteLists is rewrite for a ragged column; a null becomes an empty list.
func (cc conformColumn) rewriteLists(mem memory.Allocator, arr array.ListLike, first int64) (arrow.Array, error) {
	write, err := newCellWriter(cc.spec, cc.out)
	if err != nil {
		return nil, err
	}
	t, err := cc.out.element()
	if err != nil {
		return nil, err
	}
	b := array.NewListBuilder(mem, t)
	defer b.Release()
	for i := range arr.Len() {
		if arr.IsNull(i) && cc.out.Role == Label {
			err = errMissingList
		} else if b.Append(true); !arr.IsNull(i) {
			err = cc.copyList(b.ValueBuilder(), arr, i, write)
		}
		if err != nil {
			return nil, &rowOfFile{first + int64(i), err}
		}
	}
	return b.NewArray(), nil
}

// copyList writes the elements of list i.
func (cc conformColumn) copyList(b array.Builder, arr array.ListLike, i int, write cellWriter) error {
	elems := arr.ListValues()
	start, end := arr.ValueOffsets(i)
	if start < 0 || end < start || end > int64(elems.Len()) {
		return errDamaged("an offset", int(end), elems.Len())
	}
	for k := int(start); k < int(end); k++ {
		if isNull(elems, k) {
			return errNullElement
		}
		if err := write(b, cc.cell(elems, k)); err != nil {
			return err
		}
	}
	return nil
}

var errNullElement = errors.New("list holds null: leave it out of the list")

// checkElements fails at the first list that holds a null.
func checkElements(arr arrow.Array, first int64) error {
	list, ok := arr.(array.ListLike)
	if !ok || list.ListValues().NullN() == 0 {
		return nil
	}
	for i := range arr.Len() {
		start, end := list.ValueOffsets(i)
		for k := start; k < end; k++ {
			if list.ListValues().IsNull(int(k)) {
				return &rowOfFile{first + int64(i), errNullElement}
			}
		}
	}
	return nil
}

// fixList returns lists that all have the right length as lists of a fixed size.
func fixList(list *array.List, t *arrow.FixedSizeListType, first int64) (arrow.Array, error) {
	n := int(t.Len())
	for i := range list.Len() {
		if got := offsetAt(list.Data(), i+1) - offsetAt(list.Data(), i); got != n {
			return nil, &rowOfFile{first + int64(i), fmt.Errorf("list has %d elements, expected %d: correct the shape, or leave it out for a ragged column", got, n)}
		}
	}
	start := int64(offsetAt(list.Data(), 0))
	child := array.NewSliceData(list.Data().Children()[0], start, start+int64(n*list.Len()))
	defer child.Release()
	elems := retype(child, t.Elem())
	defer elems.Release()
	d := array.NewData(t, list.Len(), []*memory.Buffer{nil}, []arrow.ArrayData{elems}, 0, 0)
	defer d.Release()
	return array.MakeFromData(d), nil
}
