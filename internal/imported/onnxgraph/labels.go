package onnxgraph

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/session/infer"
	"github.com/goestimator/goestimator/tensor"
)

// labelOperators map categories to numbers, names and columns.
var labelOperators = operators{
	"LabelEncoder": one(labelEncoder), "CategoryMapper": one(categoryMapper), "OneHotEncoder": one(oneHotEncoder), "FeatureVectorizer": one(featureVectorizer),
	"ZipMap": one(zipMap).but("a use of its result by other operators"),
}

// listedAs returns the attribute prefix_strings, prefix_int64s, prefix_floats or prefix_tensor as a constant vector; nil if all are absent.
func (x *site) listedAs(prefix string) *tensor.Tensor {
	if t := x.tensorOf(prefix + "_tensor"); t != nil {
		return t
	}
	if list := x.strList(prefix + "_strings"); len(list) > 0 {
		return x.texts(list...)
	}
	if list := x.intList(prefix+"_int64s", nil); len(list) > 0 {
		return x.longs(list...)
	}
	if list := x.floatList(prefix + "_floats"); len(list) > 0 {
		t, _ := tensor.FromSlice(list, len(list))
		return t
	}
	return nil
}

// texts returns a constant vector.
func (x *site) texts(list ...string) *tensor.Tensor {
	bytes := 0
	for _, s := range list {
		bytes += len(s) + sizeOfString
	}
	x.t.pay(bytes)
	all := make([][]byte, len(list))
	for i, s := range list {
		all[i] = []byte(s)
	}
	t, err := tensor.FromStrings(all, len(all))
	if err != nil {
		refuse("%d strings: %v", len(all), err)
	}
	return t
}

// sizeOfString is the memory of a tensor's string besides its bytes.
const sizeOfString = 24

// longs returns a constant vector.
func (x *site) longs(list ...int) *tensor.Tensor {
	x.t.pay(8 * len(list))
	t := tensor.New(tensor.Int64, len(list))
	for i, v := range list {
		tensor.Values[int64](t)[i] = int64(v)
	}
	return t
}

// otherwise returns the attribute default_tensor, default_string, default_int64 or default_float, depending on the element type, as a
// vector of one element.
func (x *site) otherwise(d tensor.DType) *value {
	name, number, real := x.str("default_string", "_Unused"), x.int("default_int64", -1), x.float("default_float", float32(math.Copysign(0, -1)))
	switch given := x.tensorOf("default_tensor"); {
	case given != nil:
		return x.cast(x.reshape(constant(given), 1), d)
	case d == tensor.String:
		return constant(x.texts(name))
	case d.Float():
		return x.reshape(x.scalar(d, real), 1)
	}
	return x.reshape(x.scalar(d, float64(number)), 1)
}

// labelEncoder only has names before version 2: it maps them to numbers, or back.
func labelEncoder(x *site) *value {
	if x.version < 2 {
		return x.numbered(x.strList("classes_strings"), nil)
	}
	keys, values := x.listedAs("keys"), x.listedAs("values")
	if keys == nil || values == nil || keys.Len() != values.Len() {
		refuse("keys and values: expected as many of both")
	}
	return x.mapped(firstOfEqual, keys, constant(values), x.otherwise(values.DType))
}

// categoryMapper maps numbers to names, or names to numbers.
func categoryMapper(x *site) *value {
	return x.numbered(x.strList("cats_strings"), x.intList("cats_int64s", nil))
}

// numbered maps names to numbers, or numbers to names; nil numbers count from 0.
func (x *site) numbered(names []string, numbers []int) *value {
	if numbers == nil {
		numbers = without(len(names))
	}
	if len(names) == 0 || len(names) != len(numbers) {
		refuse("%d names of %d numbers", len(names), len(numbers))
	}
	keys, values := x.texts(names...), x.longs(numbers...)
	if x.at(0).dtype != tensor.String {
		keys, values = values, keys
	}
	x.otherwise(tensor.Int64) // marks all as read
	return x.mapped(lastOfEqual, keys, constant(values), x.otherwise(values.DType))
}

// equals says which of several equal keys counts: depending on the operator, ONNX Runtime's table keeps the first or the last.
type equals bool

const (
	firstOfEqual equals = false
	lastOfEqual  equals = true
)

// mapped returns the value for each element's key, or otherwise for missing keys.
func (x *site) mapped(which equals, keys *tensor.Tensor, values, otherwise *value) *value {
	at := x.placed(x.at(0), which, keys)
	return x.op(ops.GatherV2, nil, x.concat(0, x.reshape(values, -1), otherwise), at, x.i32(0))
}

// placed returns the index of each element among the keys, in the shape of u; missing elements have the number of keys.
func (x *site) placed(u *value, which equals, keys *tensor.Tensor) *value {
	if u.dtype != keys.DType {
		if u.dtype == tensor.String || keys.DType == tensor.String {
			refuse("keys of type %v for %v", keys.DType, u.dtype)
		}
		u = x.cast(u, keys.DType)
	}
	own, place, lost := x.distinct(which, keys)
	n := own.Len()
	// Among keys and elements together, an element that equals a key gets the key's number.
	all := x.ops(ops.Unique, nil, x.concat(0, constant(own), x.reshape(u, -1)))[1]
	at := x.op(ops.StridedSlice, graph.Attrs{"end_mask": int64(1)}, all, x.ints(n), x.ints(0), x.ints(1))
	at = x.op(ops.GatherV2, nil, x.ints(append(place, keys.Len())...), x.op(ops.Minimum, nil, at, x.i32(n)), x.i32(0))
	at = x.op(ops.Reshape, nil, at, x.shape(u))
	for k, known := range u.known {
		if at.known[k].T == nil && known.Known { // the number of elements before the Reshape is not known
			at.known[k] = infer.Shaped(known.Shape...)
		}
	}
	if lost < 0 || x.version < 4 { // NaN is not a key
		return at
	}
	return x.op(ops.SelectV2, nil, x.op(ops.IsNan, nil, u), x.i32(lost), at)
}

// distinct returns the distinct keys without NaN, the indices of the keys that count, and the index of the first NaN, or -1.
func (x *site) distinct(which equals, keys *tensor.Tensor) (own *tensor.Tensor, place []int, nan int) {
	nan = -1
	seen := map[any]int{}
	for i := range keys.Len() {
		var key any
		switch {
		case keys.DType == tensor.String:
			key = string(keys.Strings[i])
		case keys.DType.Float():
			v := keys.Float(i)
			if math.IsNaN(v) {
				if nan < 0 {
					nan = i
				}
				continue
			}
			key = v
		default:
			key = keys.Int(i)
		}
		if at, again := seen[key]; !again {
			seen[key], place = len(place), append(place, i)
		} else if which == lastOfEqual {
			place[at] = i
		}
	}
	return x.taken(keys, place), place, nan
}

// taken returns the elements at the given indices, as a vector.
func (x *site) taken(t *tensor.Tensor, at []int) *tensor.Tensor {
	if t.DType == tensor.String {
		list := make([]string, len(at))
		for i, k := range at {
			list[i] = string(t.Strings[k])
		}
		return x.texts(list...)
	}
	size := t.DType.Size()
	x.t.pay(size * len(at))
	out := tensor.New(t.DType, len(at))
	for i, k := range at {
		copy(out.Bytes[i*size:(i+1)*size], t.Bytes[k*size:])
	}
	return out
}

// oneHotEncoder makes a column for each category. An unknown category has only zeros, or makes the request fail.
func oneHotEncoder(x *site) *value {
	names, numbers := x.strList("cats_strings"), x.intList("cats_int64s", nil)
	keys := x.longs(numbers...)
	if len(names) > 0 {
		keys = x.texts(names...)
	}
	n := keys.Len()
	if n == 0 {
		refuse("no categories")
	}
	at := x.placed(x.at(0), lastOfEqual, keys)
	if !x.flag("zeros", true) {
		at = x.op(ops.GatherV2, nil, x.op(ops.Range, nil, x.i32(0), x.i32(n), x.i32(1)), at, x.i32(0)) // refuses the index after the last
	}
	return x.op(ops.OneHot, graph.Attrs{"axis": int64(-1)}, at, x.i32(n), x.scalar(tensor.Float32, 1), x.scalar(tensor.Float32, 0))
}

// featureVectorizer joins the columns of all inputs, as float32.
func featureVectorizer(x *site) *value {
	sizes := x.intList("inputdimensions", nil)
	if len(x.in) == 0 || len(sizes) != len(x.in) {
		refuse("%d sizes of %d inputs", len(sizes), len(x.in))
	}
	var all []*value
	for i, n := range sizes {
		u := x.real(i)
		switch x.rank(i) {
		case 1:
			u = x.op(ops.ExpandDims, nil, u, x.i32(0))
		case 2:
		default:
			refuse("input %d: expected a matrix", i)
		}
		if have := u.dims()[1]; have != n {
			refuse("input %d has %d columns (-1: not known), expected %d", i, have, n)
		}
		all = append(all, u)
	}
	return x.concat(1, all...)
}

// zipMap returns each row as a map from names to scores: scores that carry their names. The model has both as outputs.
func zipMap(x *site) *value {
	ints, names := x.intList("classlabels_int64s", nil), x.strList("classlabels_strings")
	keys := x.longs(ints...)
	if len(names) > 0 {
		keys = x.texts(names...)
	}
	if keys.Len() == 0 {
		refuse("no names")
	}
	u := x.at(0)
	if x.rank(0) == 1 {
		u = x.op(ops.ExpandDims, nil, u, x.i32(0))
	}
	switch dims := u.dims(); {
	case len(dims) != 2 || dims[1] >= 0 && dims[1] != keys.Len():
		refuse("%d names for scores of shape %v", keys.Len(), dims)
	case dims[1] < 0:
		u = x.op(ops.EnsureShape, graph.Attrs{"shape": graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(keys.Len())}}}, u)
	}
	u = x.plain(u)
	return x.add(&value{dtype: u.dtype, out: u.out, t: u.t, known: u.known, keys: keys})
}
