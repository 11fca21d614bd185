package inputs_test

import (
	"fmt"
	"log"

	"github.com/goestimator/goestimator/inputs"
)

// Arrays that numpy.save wrote: each file is a column.
func ExampleNPY() {
	columns := []inputs.ColumnSpec{{Name: "x"}, {Name: "class", Role: inputs.Label}}
	ds, err := inputs.NPY([]string{"testdata/numpy/x.npy", "testdata/numpy/y.npy"}, inputs.ArrowOptions{Columns: columns})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ds.Schema(), ds.Len())
	// Output:
	// x float32[3] feature, class int64 label 7
}

// Archives written by numpy.savez: each array is a column, and the rows of the archives follow each other.
func ExampleNPZ() {
	columns := []inputs.ColumnSpec{{Name: "vec"}, {Name: "i8", Role: inputs.Label}}
	ds, err := inputs.NPZ([]string{"testdata/numpy/kinds.npz", "testdata/numpy/more.npz"}, inputs.ArrowOptions{Columns: columns})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ds.Schema(), ds.Len())
	// Output:
	// vec float32[3] feature, i8 int64 label 9
}
