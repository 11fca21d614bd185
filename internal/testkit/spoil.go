package testkit

import "github.com/apache/arrow/go/v15/arrow"

// Overwrite overwrites the values of an array, but not its nulls, so that a test detects later reads.
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
