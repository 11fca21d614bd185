package parquet

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// nodesOf returns the schema of a file with the given fields.
func nodesOf(s *arrow.Schema, props *parquet.WriterProperties) (*schema.GroupNode, error) {
	nodes := make(schema.FieldList, s.NumFields())
	for i, f := range s.Fields() {
		var err error
		if nodes[i], err = nodeOf(f); err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
	}
	return schema.NewGroupNode(props.RootName(), props.RootRepetition(), nodes, -1)
}

// nodeOf returns the node of a field. Items of lists are optional.
func nodeOf(f arrow.Field) (schema.Node, error) {
	repetition := parquet.Repetitions.Required
	if f.Nullable {
		repetition = parquet.Repetitions.Optional
	}
	switch t := f.Type.(type) {
	case *arrow.ListType, *arrow.FixedSizeListType:
		item, err := primitive(f.Name, t.(arrow.ListLikeType).Elem(), parquet.Repetitions.Optional)
		if err != nil {
			return nil, err
		}
		return schema.ListOf(item, repetition, -1)
	}
	return primitive(f.Name, f.Type, repetition)
}

// stored describes how values of a type are stored.
type stored struct {
	physical parquet.Type
	logical  schema.LogicalType
	length   int // for bytes of a fixed length
}

// storedAs has the types that tensors have.
var storedAs = map[arrow.Type]stored{
	arrow.BOOL: {parquet.Types.Boolean, schema.NoLogicalType{}, -1},
	arrow.INT8: {parquet.Types.Int32, schema.NewIntLogicalType(8, true), -1}, arrow.UINT8: {parquet.Types.Int32, schema.NewIntLogicalType(8, false), -1},
	arrow.INT16: {parquet.Types.Int32, schema.NewIntLogicalType(16, true), -1}, arrow.UINT16: {parquet.Types.Int32, schema.NewIntLogicalType(16, false), -1},
	arrow.INT32: {parquet.Types.Int32, schema.NewIntLogicalType(32, true), -1}, arrow.UINT32: {parquet.Types.Int32, schema.NewIntLogicalType(32, false), -1},
	arrow.INT64: {parquet.Types.Int64, schema.NewIntLogicalType(64, true), -1}, arrow.UINT64: {parquet.Types.Int64, schema.NewIntLogicalType(64, false), -1},
	arrow.FLOAT16: {parquet.Types.FixedLenByteArray, schema.Float16LogicalType{}, arrow.Float16SizeBytes},
	arrow.FLOAT32: {parquet.Types.Float, schema.NoLogicalType{}, -1}, arrow.FLOAT64: {parquet.Types.Double, schema.NoLogicalType{}, -1},
	arrow.STRING: {parquet.Types.ByteArray, schema.StringLogicalType{}, -1}, arrow.BINARY: {parquet.Types.ByteArray, schema.NoLogicalType{}, -1},
}

func primitive(name string, t arrow.DataType, repetition parquet.Repetition) (schema.Node, error) {
	s, ok := storedAs[t.ID()]
	if !ok {
		return nil, fmt.Errorf("%s is not written", t)
	}
	return schema.NewPrimitiveNodeLogical(name, repetition, s.logical, s.physical, s.length, -1)
}
