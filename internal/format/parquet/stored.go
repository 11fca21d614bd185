package parquet

import (
	"bytes"
	"encoding/base64"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet/metadata"
)

// storedKey is the key under which writers keep the schema of the written table, as an Arrow stream in base64.
const storedKey = "ARROW:schema"

// StoredSchema returns the bytes of the schema that a file's writer kept, nil if there is none.
func StoredSchema(meta metadata.KeyValueMetadata) []byte {
	text := meta.FindValue(storedKey)
	if text == nil {
		return nil
	}
	buf, err := base64.StdEncoding.DecodeString(*text)
	if err != nil || len(buf) == 0 {
		buf, _ = base64.RawStdEncoding.DecodeString(*text)
	}
	return buf
}

// storedSchema reads the schema that a file's writer kept. It is nil if there is none.
func storedSchema(meta metadata.KeyValueMetadata, mem memory.Allocator) (*arrow.Schema, error) {
	buf := StoredSchema(meta)
	if len(buf) == 0 {
		return nil, nil
	}
	r, err := ipc.NewReader(bytes.NewReader(buf), ipc.WithAllocator(mem))
	if err != nil {
		return nil, err
	}
	defer r.Release()
	return r.Schema(), nil
}

// restore gives f what Parquet's types cannot express: dictionaries, time zones, list sizes, 64-bit offsets, the width of decimals, and metadata.
func (f *field) restore(stored arrow.Field) {
	if e, ok := stored.Type.(arrow.ExtensionType); ok {
		stored.Type = e.StorageType()
	}
	switch t := stored.Type.(type) {
	case *arrow.StructType:
		f.restoreStruct(t)
	case arrow.ListLikeType:
		f.restoreList(t)
	case *arrow.TimestampType:
		if own, ok := f.Type.(*arrow.TimestampType); ok && own.Unit == t.Unit && own.TimeZone == "UTC" && t.TimeZone != "" {
			f.Type = t
		}
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		if arrow.IsBinaryLike(f.Type.ID()) {
			f.Type = t
		}
	case *arrow.DictionaryType:
		if arrow.IsBinaryLike(f.Type.ID()) {
			f.Type = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: f.Type, Ordered: t.Ordered}
		}
	case *arrow.Decimal256Type:
		if own, ok := f.Type.(*arrow.Decimal128Type); ok { // keeps the column's scale
			f.Type = &arrow.Decimal256Type{Precision: own.Precision, Scale: own.Scale}
		}
	}
	f.addMetadata(stored.Metadata)
}

func (f *field) restoreStruct(t *arrow.StructType) {
	if f.Type.ID() != arrow.STRUCT || len(f.children) != t.NumFields() {
		return
	}
	for i, c := range f.children {
		c.restore(t.Field(i))
	}
	f.Type = f.structType()
}

func (f *field) restoreList(t arrow.ListLikeType) {
	kinds := []arrow.Type{arrow.LIST, arrow.FIXED_SIZE_LIST}
	if f.Type.ID() == arrow.MAP {
		kinds = []arrow.Type{arrow.MAP}
	}
	if !f.isList() || !slices.Contains(kinds, t.ID()) {
		return
	}
	item := f.children[0]
	before := item.Type
	item.restore(arrow.Field{Type: t.Elem()})
	fixed, isFixed := t.(*arrow.FixedSizeListType)
	switch {
	case isFixed:
		f.Type = arrow.FixedSizeListOf(fixed.Len(), item.Type)
	case f.Type.ID() == arrow.MAP:
		f.Type = mapType(item)
	case !arrow.TypeEqual(before, item.Type):
		f.Type = arrow.ListOf(item.Type)
	}
}

// addMetadata adds metadata; existing keys keep their values.
func (f *field) addMetadata(stored arrow.Metadata) {
	if stored.Len() == 0 {
		return
	}
	all := map[string]string{}
	for _, m := range []arrow.Metadata{stored, f.Metadata} {
		for i, k := range m.Keys() {
			all[k] = m.Values()[i]
		}
	}
	f.Metadata = arrow.MetadataFrom(all)
}
