package inputs

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/runconfig/violation"
	"github.com/goestimator/goestimator/tensor"
)

// TransformSpec is one step for the rows of an input. kind says which step it is, and which other keys it takes.
type TransformSpec struct {
	// project (keep columns), rename (a column), filter (keep rows by a condition), compute (a column), cast (numbers to another type), fill (replace NaN or empty text), window (runs of rows), unbatch (entries of a dimension as rows), pad (a ragged column), split (texts into lists), decode_raw (bytes that are numbers), decode_image (bytes of a PNG, JPEG, WebP, GIF or BMP file), dedupe, resample (classes), shuffle, take, skip, cache (in memory), snapshot (in a file), or a registered transform.
	Kind string `yaml:"kind"`
	// project: the columns to keep. unbatch: the columns to split into rows; empty: all. dedupe: the columns to compare; empty: all. cast: the columns to change. fill: the columns to change; empty: all columns of floats, or of text if value is a text.
	Columns []string `yaml:"columns,omitempty"`
	// rename, pad, split, decode_raw, decode_image: the column. compute: the column to add or replace. resample: the column of class numbers.
	Column string `yaml:"column,omitempty"`
	// rename: the new name.
	To string `yaml:"to,omitempty"`
	// window: number of rows per window. shuffle: number of rows in the buffer.
	Size int `yaml:"size,omitempty"`
	// window: number of rows from the start of one window to the start of the next. 0: size.
	Shift int `yaml:"shift,omitempty"`
	// window: number of rows from one row of a window to its next. 0: 1.
	Stride int `yaml:"stride,omitempty"`
	// window: all (the labels of all rows of the window) or last (the label of its last row). Default: all.
	Labels string `yaml:"labels,omitempty"`
	// pad: number of values in each list.
	Length int `yaml:"length,omitempty"`
	// pad: the value added at the end of shorter lists. Default: 0, or the empty text. fill: the value that replaces NaN or empty text.
	Value any `yaml:"value,omitempty"`
	// split: the text between two parts. White space around parts is removed, and empty parts are left out.
	Separator string `yaml:"separator,omitempty"`
	// pad: cut longer lists. false: they are an error.
	Truncate bool `yaml:"truncate,omitempty"`
	// resample: the wanted proportion of each class, in any unit.
	Target []float64 `yaml:"target,omitempty"`
	// resample: the proportion of each class in the data. Default: estimated from the rows seen so far.
	Initial []float64 `yaml:"initial,omitempty"`
	// take, skip: number of rows.
	Rows int64 `yaml:"rows,omitempty"`
	// snapshot: folder of the file. Relative to data_dir.
	Dir string `yaml:"dir,omitempty"`
	// filter: the condition of the rows to keep. compute: the value of the column. Expressions have Go's syntax and use columns by name: age > 18 && town != "Bern", log1p(price / rooms), year(date).
	Expression string `yaml:"expression,omitempty"`
	// The type to convert to. cast: float32, float64, int64, int32, uint8 or bool. compute: one of these or string. decode_raw: one of these except bool. Default of compute: the type of the column that it replaces, otherwise float32, string or bool.
	DType string `yaml:"dtype,omitempty"`
	// decode_raw, decode_image: shape of a value. For an image: height, width and channels (1 or 3), to which it is resized.
	Shape []int `yaml:"shape,omitempty"`
	// Parameters of a registered transform. Keys are converted to lower case.
	Params map[string]any `yaml:"params,omitempty"`
}

// A TransformFunc makes a registered transform from its params. The seed depends on its place in the input.
type TransformFunc func(params map[string]any, seed int64) (Transform, error)

// transformKind is a kind of step: the keys that it needs, and further keys that it takes.
type transformKind struct {
	needs, takes []string
	training     bool // left out for predictions
}

var transformKinds = map[string]transformKind{
	"filter": {needs: []string{"expression"}}, "compute": {needs: []string{"column", "expression"}, takes: []string{"dtype"}},
	"cast": {needs: []string{"columns", "dtype"}}, "fill": {needs: []string{"value"}, takes: []string{"columns"}},
	"project": {needs: []string{"columns"}}, "rename": {needs: []string{"column", "to"}},
	"window": {needs: []string{"size"}, takes: []string{"shift", "stride", "labels"}}, "unbatch": {takes: []string{"columns"}},
	"decode_raw": {needs: []string{"column", "dtype"}, takes: []string{"shape"}}, "decode_image": {needs: []string{"column", "shape"}},
	"pad": {needs: []string{"column", "length"}, takes: []string{"value", "truncate"}}, "dedupe": {takes: []string{"columns"}},
	"split":    {needs: []string{"column", "separator"}},
	"resample": {needs: []string{"column", "target"}, takes: []string{"initial"}, training: true},
	"shuffle":  {needs: []string{"size"}, training: true},
	"take":     {needs: []string{"rows"}}, "skip": {needs: []string{"rows"}}, "cache": {}, "snapshot": {needs: []string{"dir"}},
}

// step returns the step.
func (t TransformSpec) step(seed int64) Transform {
	switch t.Kind {
	case "filter", "compute", "cast", "fill":
		return t.columnStep()
	case "decode_raw", "decode_image":
		return t.decodeStep()
	case "project":
		return Project(t.Columns...)
	case "rename":
		return Rename(map[string]string{t.Column: t.To})
	case "window":
		return Window(Windows{Size: t.Size, Shift: t.Shift, Stride: t.Stride, Last: t.Labels == "last"})
	case "unbatch":
		return Unbatch(t.Columns...)
	case "pad":
		return Map(Pad(Padding{Column: t.Column, Length: t.Length, Value: t.Value, Truncate: t.Truncate}))
	case "split":
		return Map(SplitText(t.Column, t.Separator))
	case "dedupe":
		return Dedupe(t.Columns...)
	case "resample":
		return Resample(Classes{Column: t.Column, Target: t.Target, Initial: t.Initial, Seed: seed})
	case "shuffle":
		return Shuffle(t.Size, seed)
	case "take":
		return Take(t.Rows)
	case "skip":
		return Skip(t.Rows)
	case "snapshot":
		return Snapshot(t.Dir)
	}
	return Cache()
}

// TransformKinds returns the kinds of steps that input.transforms may name, sorted.
func TransformKinds() []string {
	return slices.Sorted(maps.Keys(transformKinds))
}

// given returns the keys of a step that are set, except kind.
func (t TransformSpec) given() map[string]any {
	all := map[string]any{"columns": t.Columns, "column": t.Column, "to": t.To, "size": t.Size, "shift": t.Shift, "stride": t.Stride, "labels": t.Labels,
		"length": t.Length, "value": t.Value, "separator": t.Separator, "truncate": t.Truncate, "target": t.Target, "initial": t.Initial, "rows": t.Rows, "dir": t.Dir,
		"expression": t.Expression, "dtype": t.DType, "shape": t.Shape}
	for key, v := range all {
		switch x := v.(type) {
		case nil, []string, []float64, []int:
			if fmt.Sprint(x) == "[]" || x == nil {
				delete(all, key)
			}
		case string, int, int64, bool:
			if key != "value" && (x == "" || x == 0 || x == int64(0) || x == false) { // as the key value, zero counts as set
				delete(all, key)
			}
		}
	}
	return all
}

// validate reports what is wrong with a step.
func (t TransformSpec) validate() error {
	vs := &violation.List{}
	kind, ok := transformKinds[t.Kind]
	given := t.given()
	if !ok { // perhaps a registered one, which Open knows
		vs.Require(t.Kind != "", "kind", t.Kind, "expected one of "+strings.Join(TransformKinds(), ", ")+", or a registered transform")
		for _, key := range slices.Sorted(maps.Keys(given)) {
			vs.Require(t.Kind == "", key, given[key], "expected params: kind "+t.Kind+" is a registered transform; the others are "+strings.Join(TransformKinds(), ", "))
		}
		return vs.Err()
	}
	vs.Require(len(t.Params) == 0, "params", t.Params, "expected none: kind "+t.Kind+" takes its own keys")
	for _, key := range kind.needs {
		vs.Require(given[key] != nil, key, nil, "expected it for kind "+t.Kind)
	}
	keys := append(slices.Clone(kind.needs), kind.takes...)
	bound := "expected none: kind " + t.Kind + " takes " + strings.Join(keys, ", ")
	if len(keys) == 0 {
		bound = "expected none: kind " + t.Kind + " takes no other key"
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		vs.Require(slices.Contains(keys, key), key, given[key], bound)
	}
	const positive = "expected > 0"
	vs.Require(t.Size >= 0, "size", t.Size, positive)
	vs.Require(t.Shift >= 0, "shift", t.Shift, positive)
	vs.Require(t.Stride >= 0, "stride", t.Stride, positive)
	vs.Require(t.Length >= 0, "length", t.Length, positive)
	vs.Require(t.Rows >= 0, "rows", t.Rows, positive)
	if t.Expression != "" {
		_, err := ParseExpression(t.Expression)
		vs.Require(err == nil, "expression", t.Expression, fmt.Sprint(err))
	}
	if t.Kind == "cast" || t.DType != "" {
		vs.OneOf("dtype", t.DType, castTypes(t.Kind)...)
	}
	vs.Require(t.Length <= maxSpan, "length", t.Length, "expected at most 16777216")
	if t.Kind == "window" {
		vs.Require(t.Shift <= maxSpan, "shift", t.Shift, "expected at most 16777216")
		vs.OneOf("labels", t.Labels, "", "all", "last")
	}
	return vs.Err()
}

// transforms returns the steps in order. For predictions, steps that select or order rows for training are left out, and so are
// labels, which are not read, from the other steps.
func (s Spec) transforms(ic Context) []Transform {
	var steps []Transform
	for i, t := range s.Transforms {
		kind := transformKinds[t.Kind]
		if ic.Mode == Predict {
			if kind.training || (t.Kind == "rename" || t.Kind == "compute" || t.Kind == "split") && ic.unlabeled() && s.isLabel(t.Column) {
				continue
			}
		}
		if ic.unlabeled() {
			t.Columns = slices.DeleteFunc(slices.Clone(t.Columns), s.isLabel)
		}
		step, err := t.made(ic, ic.Seed+int64(i))
		if err != nil {
			step = func(ds Dataset) Dataset { return adopt(ds).refuse("%w", err) }
		}
		steps = append(steps, func(ds Dataset) Dataset {
			out := step(ds)
			if n := adopt(out); n.err != nil && adopt(ds).err == nil {
				n.err = fmt.Errorf("transforms[%s]: %w", strconv.Itoa(i), n.err)
			}
			return out
		})
	}
	return steps
}

// isLabel reports whether a column of that name is declared as a label.
func (s Spec) isLabel(name string) bool {
	return slices.ContainsFunc(s.AllColumns(), func(c ColumnSpec) bool { return c.Name == name && c.Role == Label })
}

// made returns the step, which may be a registered one.
func (t TransformSpec) made(ic Context, seed int64) (Transform, error) {
	if _, ok := transformKinds[t.Kind]; ok {
		return t.step(seed), nil
	}
	if f := ic.Transforms[t.Kind]; f != nil {
		step, err := f(t.Params, seed)
		if err == nil && step == nil {
			err = errors.New("the registered transform is nil")
		}
		if err != nil {
			return nil, fmt.Errorf("kind %s: %w", t.Kind, err)
		}
		return step, nil
	}
	known := append(TransformKinds(), slices.Sorted(maps.Keys(ic.Transforms))...)
	return nil, fmt.Errorf("unknown kind %q: expected one of %s", t.Kind, strings.Join(known, ", "))
}

// castTypes returns the types to which a kind of step may convert columns.
func castTypes(kind string) []string {
	types := []string{"float32", "float64", "int64", "int32", "uint8", "bool"}
	switch kind {
	case "compute":
		types = append(types, "string")
	case "decode_raw":
		types = types[:len(types)-1]
	}
	return types
}

// decodeStep returns a step that decodes bytes, several images in parallel.
func (t TransformSpec) decodeStep() Transform {
	d := Decoding{Column: t.Column, Shape: t.Shape}
	if t.Kind == "decode_image" {
		return ParallelMap(Decode(d), runtime.GOMAXPROCS(0))
	}
	var err error
	if d.Raw, err = tensor.ParseDType(t.DType); err != nil {
		return func(ds Dataset) Dataset { return adopt(ds).refuse("%w", err) }
	}
	return Map(Decode(d))
}

// columnStep returns a step that computes columns.
func (t TransformSpec) columnStep() Transform {
	if t.Kind == "fill" {
		return Map(Fill(t.Value, t.Columns...))
	}
	refused := func(err error) Transform { return func(ds Dataset) Dataset { return adopt(ds).refuse("%w", err) } }
	dtype := tensor.Invalid
	if t.DType != "" {
		var err error
		if dtype, err = tensor.ParseDType(t.DType); err != nil {
			return refused(err)
		}
	}
	if t.Kind == "cast" {
		m, err := Cast(dtype, t.Columns...)
		if err != nil {
			return refused(err)
		}
		return Map(m)
	}
	x, err := ParseExpression(t.Expression)
	switch {
	case err != nil:
		return refused(err)
	case t.Kind == "filter":
		return Where(x)
	}
	return Map(Compute(Computed{Name: t.Column, Expression: x, DType: dtype}))
}
