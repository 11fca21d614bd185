package testkit

import "github.com/apache/arrow/go/v15/arrow"

// Overwrite overwrites the values of an array, but not which of them are null, so that a test sees who reads them later.
func Overwrite(d arrow.ArrayData) {
	for i, b := range d.Buffers() {
		if i > 0 && b != nil {
			for k := range b.Bytes() {
				b.Bytes()[k] = 0xff
			}
		}
	}
	for _, c := range d.Children() {
		Overwrite(c)
	}
}
