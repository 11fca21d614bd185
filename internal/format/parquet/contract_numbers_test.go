package parquet

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/decimal128"
	"github.com/apache/arrow/go/v15/arrow/decimal256"
	"github.com/apache/arrow/go/v15/arrow/float16"
)

// appendNumber appends v as a number of b's type. It keeps decimals within their precision, since Arrow's writer would truncate them.
func appendNumber(b array.Builder, v int64) {
	switch b := b.(type) {
	case *array.Int8Builder:
		b.Append(int8(v))
	case *array.Uint8Builder:
		b.Append(uint8(v))
	case *array.Int16Builder:
		b.Append(int16(v))
	case *array.Uint16Builder:
		b.Append(uint16(v))
	case *array.Int32Builder:
		b.Append(int32(v))
	case *array.Uint32Builder:
		b.Append(uint32(v))
	case *array.Int64Builder:
		b.Append(v)
	case *array.Uint64Builder:
		b.Append(uint64(v))
	case *array.Float16Builder:
		b.Append(float16.New(float32(v % 1000)))
	case *array.Float32Builder:
		b.Append(float32(v) / 3)
	case *array.Float64Builder:
		b.Append(float64(v) / 3)
	case *array.Date32Builder:
		b.Append(arrow.Date32(v))
	case *array.Date64Builder:
		b.Append(arrow.Date64(v % 1e5 * 86400000))
	case *array.Time32Builder:
		b.Append(arrow.Time32(v % 1e5))
	case *array.Time64Builder:
		b.Append(arrow.Time64(v % 1e12))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(v % 1e9))
	case *array.Decimal256Builder:
		n := v % 1e9
		if b.Type().(*arrow.Decimal256Type).Precision < 76 {
			n = max(n, -n) // Arrow's package loses bits of shorter negative numbers: see TestDecimalsOfBytes
		}
		b.Append(decimal256.FromI64(n))
	default:
		panic(fmt.Sprintf("no values of %s", b.Type()))
	}
}
