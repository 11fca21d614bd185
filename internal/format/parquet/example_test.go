package parquet_test

import (
	"bytes"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	pq "github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"

	"github.com/goestimator/goestimator/internal/format/parquet"
)

func Example() {
	schema := arrow.NewSchema([]arrow.Field{{Name: "age", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	b.Field(0).(*array.Int64Builder).AppendValues([]int64{39, 50}, nil)
	rec := b.NewRecord()
	defer rec.Release()

	var out bytes.Buffer
	w, err := parquet.NewWriter(&out, schema, pq.NewWriterProperties())
	if err == nil {
		err = w.Write(rec)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		fmt.Println(err)
		return
	}

	f, err := file.NewParquetReader(bytes.NewReader(out.Bytes()))
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := parquet.NewReader(f, memory.DefaultAllocator)
	if err != nil {
		fmt.Println(err)
		return
	}
	column, err := r.Column(0, 0)
	fmt.Println(r.Schema().Field(0).Name, column, err)
	// Output: age [39 50] <nil>
}
