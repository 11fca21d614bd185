package parquet

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// field is an Arrow field that is made of one or more columns of the file, its leaves.
type field struct {
	arrow.Field
	children []*field // lists and maps have one
	leaf     int      // the column of the file, if there are no children
	lead     *field   // the leaf at or below f whose levels tell where f is null; if possible, one without a list in between, which has the fewest levels
	levels   file.LevelInfo
}

// leaves appends the file's columns below f.
func (f *field) leaves(to []int) []int {
	if len(f.children) == 0 {
		return append(to, f.leaf)
	}
	for _, c := range f.children {
		to = c.leaves(to)
	}
	return to
}

// repeats reports whether there is a list between f and its lead.
func (f *field) repeats() bool { return f.lead.levels.RepLevel > f.levels.RepLevel }

func (f *field) isList() bool { return len(f.children) > 0 && f.Type.ID() != arrow.STRUCT }

// tree makes fields from the nodes of a file's schema.
type tree struct{ schema *schema.Schema }

// field returns the field of a node; levels are its parents'.
func (t tree) field(n schema.Node, levels file.LevelInfo) (*field, error) {
	if n.RepetitionType() != parquet.Repetitions.Repeated {
		levels.Increment(n)
		return t.once(n, levels)
	}
	// A repeated node that is not in the form of a list or map is a list of required items.
	before := levels.IncrementRepeated()
	if g, ok := n.(*schema.GroupNode); ok && (isList(g) || isMap(g)) {
		return nil, fmt.Errorf("group %q is repeated and a list or map: expected one or the other", n.Name())
	}
	item, err := t.once(n, levels)
	if err != nil {
		return nil, err
	}
	item.Nullable = false
	return listOf(n, arrow.ListOf(item.Type), item, levels, before), nil
}

// once returns the field of a node as if it were not repeated; levels are its own.
func (t tree) once(n schema.Node, levels file.LevelInfo) (*field, error) {
	switch n := n.(type) {
	case *schema.GroupNode:
		switch {
		case isList(n):
			return t.list(n, levels)
		case isMap(n):
			return t.mapping(n, levels)
		}
		return t.structure(n, levels)
	case *schema.PrimitiveNode:
		typ, err := leafType(n)
		if err != nil {
			return nil, err
		}
		out := &field{Field: fieldOf(n, typ), leaf: t.schema.ColumnIndexByNode(n), levels: levels}
		out.lead = out
		return out, nil
	}
	return nil, fmt.Errorf("node %q is neither a group nor a column", n.Name())
}

func isList(g *schema.GroupNode) bool { return g.LogicalType().Equals(schema.NewListLogicalType()) }
func isMap(g *schema.GroupNode) bool  { return g.LogicalType().Equals(schema.MapLogicalType{}) }

// fieldOf returns the field of a node without children.
func fieldOf(n schema.Node, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: n.Name(), Type: t, Nullable: n.RepetitionType() == parquet.Repetitions.Optional, Metadata: idOf(n)}
}

// idOf returns the metadata in which Arrow keeps the ID of a field.
func idOf(n schema.Node) arrow.Metadata {
	return arrow.NewMetadata([]string{"PARQUET:field_id"}, []string{strconv.Itoa(int(n.FieldID()))})
}

// structure returns the struct field of a group.
func (t tree) structure(n *schema.GroupNode, levels file.LevelInfo) (*field, error) {
	if n.NumFields() == 0 {
		return nil, fmt.Errorf("group %q has no columns", n.Name())
	}
	out := &field{levels: levels, leaf: -1}
	for i := range n.NumFields() {
		c, err := t.field(n.Field(i), levels)
		if err != nil {
			return nil, err
		}
		out.children = append(out.children, c)
		if i == 0 || out.repeats() && c.lead.levels.RepLevel == levels.RepLevel {
			out.lead = c.lead
		}
	}
	out.Field = fieldOf(n, out.structType())
	return out, nil
}

// structType returns the struct type of f's children.
func (f *field) structType() arrow.DataType {
	fields := make([]arrow.Field, len(f.children))
	for i, c := range f.children {
		fields[i] = c.Field
	}
	return arrow.StructOf(fields...)
}

// list returns the field of a group with Parquet's list annotation, including the legacy forms that the format allows.
func (t tree) list(n *schema.GroupNode, levels file.LevelInfo) (*field, error) {
	repeated, err := onlyRepeated(n)
	if err != nil {
		return nil, err
	}
	before := levels.IncrementRepeated()
	var item *field
	g, isGroup := repeated.(*schema.GroupNode)
	if isGroup && g.NumFields() == 1 && g.Name() != "array" && g.Name() != n.Name()+"_tuple" {
		item, err = t.field(g.Field(0), levels)
	} else if isGroup {
		item, err = t.structure(g, levels)
	} else {
		item, err = t.once(repeated, levels)
	}
	if err != nil {
		return nil, err
	}
	element := arrow.Field{Name: repeated.Name(), Type: item.Type, Nullable: true}
	return listOf(n, arrow.ListOfField(element), item, levels, before), nil
}

// onlyRepeated returns the repeated node of a list or a map.
func onlyRepeated(n *schema.GroupNode) (schema.Node, error) {
	if n.NumFields() != 1 {
		return nil, fmt.Errorf("list or map %q has %d nodes, expected 1", n.Name(), n.NumFields())
	}
	if n.Field(0).RepetitionType() != parquet.Repetitions.Repeated {
		return nil, fmt.Errorf("node %q of list or map %q is not repeated", n.Field(0).Name(), n.Name())
	}
	return n.Field(0), nil
}

// listOf returns the field of a list or map node. levels are its items', before is the definition level of the closest list
// above it.
func listOf(n schema.Node, t arrow.DataType, item *field, levels file.LevelInfo, before int16) *field {
	levels.RepeatedAncestorDefLevel = before
	return &field{Field: fieldOf(n, t), children: []*field{item}, leaf: -1, lead: item.lead, levels: levels}
}

// mapping returns the field of a group with Parquet's map annotation. A map with only keys is a list.
func (t tree) mapping(n *schema.GroupNode, levels file.LevelInfo) (*field, error) {
	repeated, err := onlyRepeated(n)
	if err != nil {
		return nil, err
	}
	pair, ok := repeated.(*schema.GroupNode)
	if !ok || pair.NumFields() != 1 && pair.NumFields() != 2 {
		return nil, fmt.Errorf("node %q of map %q is no group of a key and a value", repeated.Name(), n.Name())
	}
	if pair.Field(0).RepetitionType() != parquet.Repetitions.Required {
		return nil, errors.New("keys of map " + strconv.Quote(n.Name()) + " are not required")
	}
	if pair.NumFields() == 1 {
		return t.list(n, levels)
	}
	before := levels.IncrementRepeated()
	item, err := t.structure(pair, levels)
	if err != nil {
		return nil, err
	}
	item.Name, item.Nullable = n.Name(), false
	return listOf(n, mapType(item), item, levels, before), nil
}

// mapType returns the map type for a struct of keys and values.
func mapType(pair *field) arrow.DataType {
	return arrow.MapOf(pair.children[0].Type, pair.children[1].Type)
}
