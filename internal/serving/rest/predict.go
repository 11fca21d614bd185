package rest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/statustext"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// predictBody is the body of a predict request.
type predictBody struct {
	d         *document
	signature string // "" if the body names none
	row       bool   // whether it has "instances"; known after inputs
}

// readPredict checks the syntax of a body and reads the signature's name.
func readPredict(d *document, text []byte) (*predictBody, error) {
	if err := d.parse(text); err != nil {
		return nil, err
	}
	sig, err := d.signature()
	return &predictBody{d: d, signature: sig}, err
}

// signature returns the value of signature_name, "" if there is none.
func (d *document) signature() (string, error) {
	v, ok := d.cursor().member("signature_name")
	if !ok {
		return "", nil
	}
	if !v.isString() {
		return "", invalid("JSON Value: %s not formatted correctly. 'signature_name' key must be a string value.", d.debug(d.cursor()))
	}
	return string(unquote(v.text())), nil
}

// inputs makes the tensors that the signature takes.
func (q *predictBody) inputs(sigs map[string]*pb.SignatureDef) (map[string]*tensor.Tensor, error) {
	name := q.signature
	if name == "" {
		name = "serving_default"
	}
	def, ok := sigs[name]
	if !ok {
		return nil, invalid("Serving signature name: \"%s\" not found in signature def", name)
	}
	types := make(map[string]tensor.DType, len(def.GetInputs()))
	for alias, info := range def.GetInputs() {
		types[alias] = tensor.DType(info.GetDtype())
	}
	return q.tensors(types)
}

// tensors makes a tensor of each of the types.
func (q *predictBody) tensors(types map[string]tensor.DType) (map[string]*tensor.Tensor, error) {
	if len(types) == 0 {
		name := q.signature
		if name == "" {
			name = "DEFAULT"
		}
		return nil, invalid("Failed to get input map for signature: %s", name)
	}
	root := q.d.cursor()
	refuse := func(why string) error { return invalid("JSON Value: %s %s", q.d.debug(root), why) }
	instances, byRow := root.member("instances")
	inputs, byColumn := root.member("inputs")
	switch {
	case byRow && byColumn:
		return nil, refuse("Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist ")
	case byRow && !instances.isList():
		return nil, refuse("Expecting 'instances' to be an list/array")
	case byRow && instances.count() == 0:
		return nil, refuse("No values in 'instances' array")
	case byRow:
		q.row = true
		return readRows(instances, types)
	case byColumn:
		return readColumns(inputs, types)
	}
	return nil, invalid("Missing 'inputs' or 'instances' key")
}

func sortedNames(types map[string]tensor.DType) []string {
	names := make([]string, 0, len(types))
	for n := range types {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// readColumns reads "inputs": a tensor for each name, or for the only one.
func readColumns(v cursor, types map[string]tensor.DType) (map[string]*tensor.Tensor, error) {
	names := sortedNames(types)
	out := make(map[string]*tensor.Tensor, len(names))
	values := map[string]cursor{}
	if _, ok := v.base64(); ok || !v.isObject() {
		if len(names) > 1 {
			return nil, invalid("inputs is a plain value/list, but expecting an object as multiple input tensors required as per tensorinfo_map")
		}
		values[names[0]] = v
	} else {
		values = v.members(types)
	}
	for _, name := range names {
		c, ok := values[name]
		if !ok {
			return nil, invalid("Missing named input: %s in 'inputs' object.", name)
		}
		shape, err := shapeOf(c, nil)
		if err != nil {
			return nil, err
		}
		s, err := c.d.newSink(types[name], room(c.end()-c.p, shape, types[name]))
		if err != nil {
			return nil, err
		}
		if err := s.fill(&c, shape, 0); err != nil {
			return nil, err
		}
		out[name] = s.tensor(shape)
	}
	return out, nil
}

// members returns the first value of each of the names in an object.
func (c cursor) members(names map[string]tensor.DType) map[string]cursor {
	out := make(map[string]cursor, len(names))
	count := c.count()
	c.enter()
	for range count {
		name := c.name()
		if _, known := names[string(name)]; known {
			if _, again := out[string(name)]; !again {
				out[string(name)] = c
			}
		}
		c.skip()
	}
	return out
}

// room is the number of elements of a shape, or the most that a text of that size can hold if that is less.
func room(size int, shape []int, d tensor.DType) int {
	most := size/2 + 1 // a digit and a comma
	if d == tensor.String {
		most = size/3 + 1 // two quotes and a comma
	}
	n := 1
	for _, d := range shape {
		if n *= d; n > most {
			return most
		}
	}
	return n
}

// column collects the values of the instances for one input.
type column struct {
	dtype tensor.DType
	sink  *sink
	shape []int // of the first instance
	row   int   // the last instance that had a value, from 1 on
}

// rows reads "instances".
type rows struct {
	list    cursor
	names   []string
	columns map[string]*column
	shape   []int // scratch
}

// readRows reads "instances": a list of values for the only input, or a list of objects with a value for each input.
func readRows(list cursor, types map[string]tensor.DType) (map[string]*tensor.Tensor, error) {
	r := &rows{list: list, names: sortedNames(types), columns: make(map[string]*column, len(types))}
	for name, d := range types {
		r.columns[name] = &column{dtype: d}
	}
	c, count := list, list.count()
	c.enter()
	if !c.isObject() && len(types) > 1 {
		return nil, invalid("instances is a plain list, but expecting list of objects as multiple input tensors required as per tensorinfo_map")
	}
	objects := c.isNamed()
	for i := range count {
		if err := r.read(&c, i, objects); err != nil {
			return nil, err
		}
	}
	out := make(map[string]*tensor.Tensor, len(types))
	for name, col := range r.columns {
		if col.sink != nil {
			out[name] = col.sink.tensor(append([]int{count}, col.shape...))
		}
	}
	return out, nil
}

// isNamed reports whether the value is an object that is not base64 data.
func (c cursor) isNamed() bool {
	if !c.isObject() {
		return false
	}
	_, b64 := c.base64()
	return !b64
}

// read reads instance i.
func (r *rows) read(c *cursor, i int, objects bool) error {
	switch named := c.isNamed(); {
	case objects && !named:
		return invalid("Expecting object but got list at item %d of input list", i)
	case named && !objects:
		return invalid("Expecting value/list but got object at item %d of input list", i)
	case objects:
		return r.object(c, i)
	}
	if err := r.add(c, r.columns[r.names[0]], i); spent(err) {
		return err
	} else if err != nil {
		return invalid("Failed to process element: %d of 'instances' list. Error: %s", i, statusText(err))
	}
	return nil
}

// object reads the values of one instance by name; if a name is given twice, the first one counts.
func (r *rows) object(c *cursor, i int) error {
	whole, seen := *c, 0
	count := c.count()
	c.enter()
	for range count {
		name := c.name()
		col, ok := r.columns[string(name)]
		var err error
		switch {
		case !ok:
			err = invalid("JSON object: does not have named input: %s", shown(name))
		case col.row == i+1:
			c.skip()
		default:
			seen++
			err = r.add(c, col, i)
		}
		if spent(err) {
			return err
		}
		if err != nil {
			return invalid("Failed to process element: %d key: %s of 'instances' list. Error: %s", i, shown(name), statusText(err))
		}
	}
	if seen != len(r.names) {
		return invalid("Failed to process element: %d of 'instances' list. JSON object: %s keys must be equal to: %s",
			i, whole.d.debug(whole), strings.Join(r.names, ","))
	}
	c.separator(c.p + 1)
	return nil
}

// add adds the value at c to a column as the value of instance i.
func (r *rows) add(c *cursor, col *column, i int) error {
	shape, err := shapeOf(*c, r.shape)
	if err != nil {
		return err
	}
	r.shape = shape
	if col.sink == nil {
		col.shape = slices.Clone(shape)
		// With several inputs, each begins with its share of what the text can hold, and grows.
		size := (r.list.end() - r.list.p) / len(r.names)
		if col.sink, err = r.list.d.newSink(col.dtype, room(size, append([]int{r.list.count()}, shape...), col.dtype)); err != nil {
			return err
		}
	}
	before := col.sink.n
	if err := col.sink.fill(c, shape, 0); err != nil {
		return err
	}
	col.row = i + 1
	if size, want := col.sink.n-before, tensor.NumElements(col.shape); size != want {
		return invalid("Expecting tensor size: %d but got: %d", want, size)
	}
	if !slices.Equal(shape, col.shape) {
		return invalid("Expecting shape %s but got: %s", shapeText(col.shape), shapeText(shape))
	}
	return nil
}

// shapeText is TensorFlow's "[2,3]".
func shapeText(shape []int) string {
	out := []byte{'['}
	for i, d := range shape {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, int64(d), 10)
	}
	return string(append(out, ']'))
}

// statusText is an error as absl::Status prints it.
func statusText(err error) string {
	st := statustext.Convert(err)
	return codeName(st.Code()) + ": " + st.Message()
}
