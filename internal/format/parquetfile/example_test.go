package parquetfile_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/goestimator/goestimator/internal/format/parquetfile"
)

// A record of two rows becomes a file.
func Example() {
	s := arrow.NewSchema([]arrow.Field{{Name: "price", Type: arrow.PrimitiveTypes.Float32}}, nil)
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(`[{"price": 1.5}, {"price": 2}]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	var out bytes.Buffer
	w, err := parquetfile.NewWriter(&out, s)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(w.Write(rec), w.Close(), out.String()[:4])
	// Output: <nil> <nil> PAR1
}
