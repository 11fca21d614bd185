package parquet

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/decimal128"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// leafType returns the type of a column: its physical type, as interpreted by its annotation.
func leafType(n *schema.PrimitiveNode) (arrow.DataType, error) {
	logical := n.LogicalType()
	if !logical.IsValid() || logical.Equals(schema.NullLogicalType{}) {
		return arrow.Null, nil
	}
	var t arrow.DataType
	switch n.PhysicalType() {
	case parquet.Types.Boolean:
		t = arrow.FixedWidthTypes.Boolean
	case parquet.Types.Int96:
		t = arrow.FixedWidthTypes.Timestamp_ns
	case parquet.Types.Float:
		t = arrow.PrimitiveTypes.Float32
	case parquet.Types.Double:
		t = arrow.PrimitiveTypes.Float64
	case parquet.Types.Int32:
		t = int32Type(logical)
	case parquet.Types.Int64:
		t = int64Type(logical)
	case parquet.Types.ByteArray:
		t = bytesType(logical)
	case parquet.Types.FixedLenByteArray:
		t = fixedType(logical, n.TypeLength())
	}
	if t == nil {
		return nil, fmt.Errorf("%s annotated as %s is not read", n.PhysicalType(), logical)
	}
	return t, nil
}

// int32Type returns the type of 32-bit values, nil if the annotation does not fit.
func int32Type(logical schema.LogicalType) arrow.DataType {
	switch l := logical.(type) {
	case schema.NoLogicalType:
		return arrow.PrimitiveTypes.Int32
	case schema.DateLogicalType:
		return arrow.FixedWidthTypes.Date32
	case *schema.DecimalLogicalType:
		return decimalType(l)
	case *schema.TimeLogicalType:
		if l.TimeUnit() == schema.TimeUnitMillis {
			return arrow.FixedWidthTypes.Time32ms
		}
	case *schema.IntLogicalType:
		switch {
		case l.BitWidth() == 8 && l.IsSigned():
			return arrow.PrimitiveTypes.Int8
		case l.BitWidth() == 8:
			return arrow.PrimitiveTypes.Uint8
		case l.BitWidth() == 16 && l.IsSigned():
			return arrow.PrimitiveTypes.Int16
		case l.BitWidth() == 16:
			return arrow.PrimitiveTypes.Uint16
		case l.BitWidth() == 32 && l.IsSigned():
			return arrow.PrimitiveTypes.Int32
		case l.BitWidth() == 32:
			return arrow.PrimitiveTypes.Uint32
		}
	}
	return nil
}

// int64Type returns the type of 64-bit values, nil if the annotation does not fit.
func int64Type(logical schema.LogicalType) arrow.DataType {
	switch l := logical.(type) {
	case schema.NoLogicalType:
		return arrow.PrimitiveTypes.Int64
	case *schema.DecimalLogicalType:
		return decimalType(l)
	case *schema.IntLogicalType:
		if l.BitWidth() == 64 && l.IsSigned() {
			return arrow.PrimitiveTypes.Int64
		} else if l.BitWidth() == 64 {
			return arrow.PrimitiveTypes.Uint64
		}
	case *schema.TimeLogicalType:
		switch l.TimeUnit() {
		case schema.TimeUnitMicros:
			return arrow.FixedWidthTypes.Time64us
		case schema.TimeUnitNanos:
			return arrow.FixedWidthTypes.Time64ns
		}
	case *schema.TimestampLogicalType:
		return timestampType(l)
	}
	return nil
}

// timestampType returns a timestamp type. Old annotations have no time zone.
func timestampType(l *schema.TimestampLogicalType) arrow.DataType {
	units := map[schema.TimeUnitType]arrow.TimeUnit{
		schema.TimeUnitMillis: arrow.Millisecond, schema.TimeUnitMicros: arrow.Microsecond, schema.TimeUnitNanos: arrow.Nanosecond,
	}
	unit, ok := units[l.TimeUnit()]
	if !ok {
		return nil
	}
	t := &arrow.TimestampType{Unit: unit, TimeZone: "UTC"}
	if l.IsFromConvertedType() {
		t.TimeZone = ""
	}
	return t
}

func decimalType(l *schema.DecimalLogicalType) arrow.DataType {
	if l.Precision() <= decimal128.MaxPrecision {
		return &arrow.Decimal128Type{Precision: l.Precision(), Scale: l.Scale()}
	}
	return &arrow.Decimal256Type{Precision: l.Precision(), Scale: l.Scale()}
}

// bytesType returns the type of variable-length bytes, nil if the annotation does not fit.
func bytesType(logical schema.LogicalType) arrow.DataType {
	switch l := logical.(type) {
	case schema.StringLogicalType:
		return arrow.BinaryTypes.String
	case *schema.DecimalLogicalType:
		return decimalType(l)
	case schema.NoLogicalType, schema.EnumLogicalType, schema.JSONLogicalType, schema.BSONLogicalType:
		return arrow.BinaryTypes.Binary
	}
	return nil
}

// fixedType returns the type of fixed-length bytes, nil if the annotation does not fit.
func fixedType(logical schema.LogicalType, length int) arrow.DataType {
	switch l := logical.(type) {
	case *schema.DecimalLogicalType:
		return decimalType(l)
	case schema.NoLogicalType, schema.IntervalLogicalType, schema.UUIDLogicalType:
		return &arrow.FixedSizeBinaryType{ByteWidth: length}
	case schema.Float16LogicalType:
		if length == arrow.Float16SizeBytes {
			return arrow.FixedWidthTypes.Float16
		}
	}
	return nil
}
