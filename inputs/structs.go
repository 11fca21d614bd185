package inputs

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/tensor"
)

// structTag is the key of field tags, which have encoding/json's form.
const structTag = "input"

// structField is a field of a struct, as a column.
type structField struct {
	textField
	index  []int
	column Column
	put    func(b array.Builder, v reflect.Value) error // one element
	many   func(b array.Builder, v reflect.Value) bool  // all elements of a slice or array at once, if possible
}

// structPlan turns structs into records.
type structPlan struct {
	fields []structField
	schema *Schema
	bytes  int // a record ends after this many bytes of text in a column
}

// recordBytes is far enough below 2 GiB, the limit of a text column's offsets.
const recordBytes = 1 << 30

// planStruct returns the plan of a struct type, or of a pointer to one.
func planStruct(t reflect.Type, o ArrowOptions) (*structPlan, error) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("rows are of type %s, expected a struct or a pointer to one: for maps use Generator, for slices Slices", t)
	}
	specs, err := structSpecs(t, nil, nil)
	if err != nil {
		return nil, err
	}
	if specs, err = chooseFields(t, specs, o); err != nil {
		return nil, err
	}
	p := &structPlan{bytes: recordBytes}
	var columns []Column
	for _, s := range specs {
		f, err := s.field()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
		p.fields, columns = append(p.fields, f), append(columns, f.column)
	}
	if len(columns) == 0 {
		return nil, fmt.Errorf("%s has no field to read: export fields, and do not tag all with %s:\"-\"", t, structTag)
	}
	p.schema, err = NewSchema(columns...)
	return p, err
}

// chooseFields applies the options to the columns of the fields of a struct.
func chooseFields(t reflect.Type, specs []structSpec, o ArrowOptions) ([]structSpec, error) {
	if len(o.Columns) > 0 {
		var chosen []structSpec
		for _, c := range kept(o.Columns) {
			i := slices.IndexFunc(specs, func(s structSpec) bool { return s.Name == c.Name })
			if i < 0 {
				return nil, fmt.Errorf("unknown column %q: %s has %s", c.Name, t, specNames(specs))
			}
			chosen = append(chosen, specs[i].with(c))
		}
		specs = chosen
	}
	if o.Unlabeled {
		specs = slices.DeleteFunc(specs, func(s structSpec) bool { return s.Role == Label })
	}
	return specs, nil
}

func specNames(specs []structSpec) string {
	names := make([]string, len(specs))
	for i, s := range specs {
		names[i] = s.Name
	}
	return strings.Join(names, ", ")
}

// structSpec is a field of a struct whose column is not known yet.
type structSpec struct {
	ColumnSpec
	index []int
	typ   reflect.Type
}

// with returns s with the settings that c has.
func (s structSpec) with(c ColumnSpec) structSpec {
	if c.Role == "" {
		c.Role = s.Role
	}
	if c.Default == nil {
		c.Default = s.Default
	}
	if len(c.Shape) == 0 {
		c.Shape = s.Shape
	}
	s.ColumnSpec = c
	return s
}

// structSpecs lists the fields of a struct and of the structs embedded in it, in order. As in Go, a field hides fields of the same
// name in embedded structs, so a struct that embeds itself adds nothing. around are the enclosing structs of t.
func structSpecs(t reflect.Type, index []int, around []reflect.Type) ([]structSpec, error) {
	around = append(slices.Clone(around), t)
	var specs []structSpec
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clone(index), i)
		tag, tagged := f.Tag.Lookup(structTag)
		if !tagged {
			tag, _, _ = strings.Cut(f.Tag.Get("json"), ",") // options of encoding/json do not matter here
			if f.Tag.Get("json") == "-," {
				tag = "-,"
			}
		}
		name, options, _ := strings.Cut(tag, ",")
		if tag == "-" {
			continue
		}
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if f.Anonymous && name == "" && inner.Kind() == reflect.Struct {
			if slices.Contains(around, inner) {
				continue
			}
			embedded, err := structSpecs(inner, at, around)
			if err != nil {
				return nil, err
			}
			specs = append(specs, embedded...)
			continue
		}
		if !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		s := structSpec{ColumnSpec: ColumnSpec{Name: name, Role: Feature}, index: at, typ: f.Type}
		if err := s.options(options); err != nil {
			return nil, fmt.Errorf("%s: field %s: %w", t, f.Name, err)
		}
		specs = append(specs, s)
	}
	return slices.DeleteFunc(slices.Clone(specs), func(s structSpec) bool {
		return slices.ContainsFunc(specs, func(o structSpec) bool { return o.Name == s.Name && len(o.index) < len(s.index) })
	}), nil
}

// options reads what follows the name in a tag.
func (s *structSpec) options(text string) error {
	for text != "" {
		var option string
		if strings.HasPrefix(text, "default=") { // the last option: a default may contain commas
			option, text = text, ""
		} else {
			option, text, _ = strings.Cut(text, ",")
		}
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case string(Label), string(Weight), string(Feature):
			s.Role = Role(key)
		case "default":
			s.Default = value
		case "shape":
			shape, err := parseShape(strings.ReplaceAll(value, "x", ","))
			if err != nil {
				return fmt.Errorf("option %q of its tag: %w: expected such as shape=28x28x1", option, err)
			}
			s.Shape = shape
		default:
			return fmt.Errorf("unknown option %q of its tag: expected label, weight, feature, shape=2x3 or default=value", option)
		}
	}
	return nil
}

var bytesType = reflect.TypeFor[[]byte]()

// shapeOf strips arrays and slices from a field's type, and returns their lengths as a shape.
func (s structSpec) shapeOf() (elem reflect.Type, shape []int, ragged bool) {
	elem = s.typ
	if elem.Kind() == reflect.Pointer {
		elem = elem.Elem()
	}
	for elem.Kind() == reflect.Array {
		shape = append(shape, elem.Len())
		elem = elem.Elem()
	}
	if elem.Kind() == reflect.Slice && len(shape) == 0 && (elem != bytesType || len(s.Shape) > 0) {
		return elem.Elem(), s.Shape, len(s.Shape) == 0
	}
	return elem, shape, false
}

var dtypeOfKind = map[reflect.Kind]tensor.DType{
	reflect.Int: tensor.Int64, reflect.Int8: tensor.Int8, reflect.Int16: tensor.Int16, reflect.Int32: tensor.Int32, reflect.Int64: tensor.Int64,
	reflect.Uint: tensor.Uint64, reflect.Uint8: tensor.Uint8, reflect.Uint16: tensor.Uint16, reflect.Uint32: tensor.Uint32, reflect.Uint64: tensor.Uint64,
	reflect.Float32: tensor.Float32, reflect.Float64: tensor.Float64, reflect.Bool: tensor.Bool, reflect.String: tensor.String,
}

// field returns the field as a column.
func (s structSpec) field() (structField, error) {
	f := structField{index: s.index}
	elem, shape, ragged := s.shapeOf()
	natural := dtypeOfKind[elem.Kind()]
	if elem == bytesType {
		natural = tensor.String
	}
	if natural == tensor.Invalid {
		return f, fmt.Errorf("column %q: a field of type %s has no tensor form: expected numbers, bool, string, []byte, arrays or slices of these; "+
			"convert it, embed a struct without a name, or tag it %s:\"-\"", s.Name, s.typ, structTag)
	}
	if len(s.Shape) > 0 && tensor.NumElements(s.Shape) != tensor.NumElements(shape) {
		return f, fmt.Errorf("column %q: shape %v does not fit a field of type %s", s.Name, s.Shape, s.typ)
	}
	if len(s.Shape) == 0 {
		s.Shape = shape
	}
	s.Ragged = ragged
	f.spec = s.ColumnSpec
	f.put, f.many = elementPutters(natural)
	var err error
	if f.column, err = s.column(natural); err != nil {
		return f, err
	}
	f.size = f.column.Size()
	if s.Default == nil && len(s.Vocabulary) == 0 && f.column.DType == natural {
		return f, nil
	}
	spec := s.ColumnSpec
	if spec.DType == "" && len(spec.Vocabulary) == 0 {
		spec.DType = natural.String()
	}
	if f.textField, f.column, err = newTextField(spec); err != nil || len(s.Vocabulary) == 0 && f.column.DType == natural {
		return f, err
	}
	f.many = nil
	f.put = func(b array.Builder, v reflect.Value) error { return f.write(b, valueText(v)) }
	return f, nil
}

// valueText returns a value as a cell of a text file would have it.
func valueText(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Float32:
		return floatValue(v.Float(), 32).String()
	case reflect.Float64:
		return floatValue(v.Float(), 64).String()
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Slice:
		return string(v.Bytes())
	case reflect.String:
		return v.String()
	}
	return fmt.Sprint(v)
}

// record returns structs as one record; rows[0] is row first of the pass, from 0. The error is a
// *DataError. done is the number of rows in rec: all rows before one that fails, or before a column has too much text.
func (p *structPlan) record(mem memory.Allocator, rows []reflect.Value, first int64) (rec arrow.Record, done int, err error) {
	b := array.NewRecordBuilder(mem, p.schema.Arrow())
	defer b.Release()
	for done < len(rows) && err == nil && !p.full(b) {
		if err = p.append(b, rows[done], first+int64(done)); err == nil {
			done++
		}
	}
	if done == 0 {
		return nil, 0, err
	}
	return completeRows(b, done), done, err
}

// records returns structs as records.
func (p *structPlan) records(mem memory.Allocator, rows []reflect.Value) (recs []arrow.Record, err error) {
	for first := 0; first < len(rows) && err == nil; {
		var rec arrow.Record
		var done int
		if rec, done, err = p.record(mem, rows[first:], int64(first)); rec != nil {
			recs = append(recs, rec)
		}
		first += done
	}
	if err != nil {
		for _, rec := range recs {
			rec.Release()
		}
		return nil, err
	}
	return recs, nil
}

// full reports whether a column has as much text as a record may hold.
func (p *structPlan) full(b *array.RecordBuilder) bool {
	return slices.ContainsFunc(b.Fields(), func(f array.Builder) bool {
		switch list := f.(type) {
		case *array.ListBuilder:
			f = list.ValueBuilder()
		case *array.FixedSizeListBuilder:
			f = list.ValueBuilder()
		}
		text, ok := f.(interface{ DataLen() int })
		return ok && text.DataLen() >= p.bytes
	})
}

func (p *structPlan) append(b *array.RecordBuilder, row reflect.Value, at int64) error {
	if row.Kind() == reflect.Pointer {
		if row.IsNil() {
			return &DataError{Row: at + 1, Err: fmt.Errorf("the row is a nil pointer: leave such rows out")}
		}
		row = row.Elem()
	}
	for i := range p.fields {
		f := &p.fields[i]
		v, err := row.FieldByIndexErr(f.index)
		if err != nil {
			v = reflect.Value{} // the embedded struct is nil
		}
		if err := f.append(b.Field(i), v); err != nil {
			return &DataError{Row: at + 1, Name: f.column.Name, Err: err}
		}
	}
	return nil
}

// append writes the value of one row.
func (f *structField) append(b array.Builder, v reflect.Value) error {
	if v.Kind() == reflect.Pointer {
		v = v.Elem() // not valid if it is nil
	}
	if !v.IsValid() {
		if f.fallback == nil && !f.column.Ragged {
			return fmt.Errorf(`value is missing, its pointer is nil: give the field a default such as %s:"%s,default=0", or set it`, structTag, f.column.Name)
		}
		return f.json(b, nil)
	}
	switch list := b.(type) {
	case *array.FixedSizeListBuilder:
		list.Append(true)
		b = list.ValueBuilder()
	case *array.ListBuilder:
		list.Append(true)
		return f.elements(list.ValueBuilder(), v, v.Len())
	}
	if len(f.column.Shape) == 0 {
		return f.put(b, v)
	}
	return f.elements(b, v, f.size)
}

// elements writes the elements of nested arrays or of a slice. There must be want elements.
func (f *structField) elements(b array.Builder, v reflect.Value, want int) error {
	if v.Kind() != reflect.Array && v.Kind() != reflect.Slice || v.Type() == bytesType && f.column.DType == tensor.String {
		return f.put(b, v)
	}
	nested := v.Type().Elem().Kind() == reflect.Array
	if v.Kind() == reflect.Slice && v.Len() != want {
		return fmt.Errorf("value has %d elements, expected %d (shape %v)", v.Len(), want, f.column.Shape)
	}
	if !nested && f.many != nil && f.many(b, v) {
		return nil
	}
	for i := range v.Len() {
		if err := f.elements(b, v.Index(i), 1); err != nil {
			return err
		}
	}
	return nil
}
