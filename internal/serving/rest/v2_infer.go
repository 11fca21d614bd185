package rest

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/openinference"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
)

// headerLength is the header with the number of a body's bytes that are JSON; raw tensors follow.
const headerLength = "Inference-Header-Content-Length"

// infer answers an inference request.
func (x *exchange) infer(model, version string) ([]byte, int, error) {
	out := x.s.out[:0]
	c := call{handler: x.handler, route: route{method: "predict", model: model, version: servable.Version{Label: version}}, start: time.Now()}
	if err := x.OpenInference.Find(model, version); err != nil {
		return out, 0, c.refuse(err)
	}
	x.s.open(x.Memory)
	out = x.s.out[:0]
	if err := x.s.readBody(x.w, x.r, &x.Options); err != nil {
		return out, 0, c.refuse(err)
	}
	ctx, cancel := context.WithTimeout(budget.With(routed(x.r), x.s.account), x.Timeout)
	defer cancel()
	q, err := x.readInfer()
	if err != nil {
		return out, 0, c.refuse(err)
	}
	p, err := x.OpenInference.Infer(ctx, openinference.Request{Model: model, Version: version, Signature: q.signature, Outputs: q.names, Inputs: len(q.given), Decode: q.inputs})
	if err != nil {
		return out, 0, err
	}
	out, err = x.result(out, q, model, p)
	return out, http.StatusOK, err
}

// inferBody is the body of an inference request.
type inferBody struct {
	s             *scratch
	raw           []byte // after the JSON
	id, signature string
	given         []inferInput
	names         []string // of the requested outputs
	binary        map[string]bool
	allBinary     bool // the default for outputs
}

// inferInput is an input, either in the JSON or in size bytes of the raw tensors.
type inferInput struct {
	openinference.Input
	data   cursor
	inJSON bool
	size   int
}

// readInfer reads a body, except for the elements of tensors.
func (x *exchange) readInfer() (*inferBody, error) {
	text := x.s.text
	q := &inferBody{s: x.s, binary: map[string]bool{}}
	if h := x.r.Header.Get(headerLength); h != "" {
		n, err := strconv.Atoi(h)
		if err != nil || n < 0 || n > len(text) {
			return nil, invalid("%s: got %q, expected a number up to the %d bytes of the body", headerLength, shown([]byte(h)), len(text))
		}
		if err := x.s.account.Reserve(n + padding); err != nil {
			return nil, err
		}
		q.raw = text[n:]
		text = append(make([]byte, 0, n+padding), text[:n]...) // the parser needs zeros after the text
	}
	if err := x.s.doc.parse(text); err != nil {
		return nil, err
	}
	root := x.s.doc.cursor()
	var err error
	if q.id, err = root.text1("id"); err != nil {
		return nil, err
	}
	if err := q.readParameters(root); err != nil {
		return nil, err
	}
	if err := root.objects("inputs", q.readInput); err != nil {
		return nil, err
	}
	return q, root.objects("outputs", q.readOutput)
}

// text1 is the string member of that name, or "".
func (c cursor) text1(name string) (string, error) {
	v, ok := c.member(name)
	if !ok {
		return "", nil
	}
	if !v.isString() {
		return "", invalid("JSON Value: %s: expected a string as %q", c.d.debug(v), name)
	}
	b, err := v.meaning()
	if err == nil {
		err = c.d.take(len(b))
	}
	return string(b), err
}

// flag is the boolean member of that name, or false.
func (c cursor) flag(name string) (bool, error) {
	v, ok := c.member(name)
	if !ok {
		return false, nil
	}
	if k := v.kind(); k != "True" && k != "False" {
		return false, invalid("JSON Value: %s: expected true or false as %q", c.d.debug(v), name)
	}
	return v.kind() == "True", nil
}

// objects calls f for each element of the member of that name, a list of objects; a missing member is an empty list.
func (c cursor) objects(name string, f func(cursor) error) error {
	v, ok := c.member(name)
	if !ok {
		return nil
	}
	if !v.isList() {
		return invalid("JSON Value: %s: expected a list as %q", c.d.debug(v), name)
	}
	count := v.count()
	v.enter()
	for range count {
		if !v.isObject() {
			return invalid("JSON Value: %s: expected an object in %q", c.d.debug(v), name)
		}
		if err := f(v); err != nil {
			return err
		}
		v.skip()
	}
	return nil
}

// parameters is the object "parameters"; ok reports whether it exists.
func (c cursor) parameters() (p cursor, ok bool, err error) {
	if p, ok = c.member("parameters"); ok && !p.isObject() {
		return p, false, invalid("JSON Value: %s: expected an object as \"parameters\"", c.d.debug(p))
	}
	return p, ok, nil
}

// parameter finds a member of the object "parameters".
func (c cursor) parameter(name string) (v cursor, ok bool, err error) {
	if v, ok, err = c.parameters(); ok {
		v, ok = v.member(name)
	}
	return v, ok, err
}

func (q *inferBody) readParameters(root cursor) error {
	p, ok, err := root.parameters()
	if err != nil || !ok {
		return err
	}
	if q.signature, err = p.text1(openinference.SignatureParameter); err != nil {
		return err
	}
	q.allBinary, err = p.flag("binary_data_output")
	return err
}

// inputCost and outputCost are the approximate sizes of an input and an output without their elements, in bytes.
const inputCost, outputCost = 768, 192

func (q *inferBody) readInput(c cursor) (err error) {
	if err := q.s.doc.take(inputCost); err != nil {
		return err
	}
	var in inferInput
	if in.Name, err = c.text1("name"); err != nil {
		return err
	}
	if in.Datatype, err = c.text1("datatype"); err != nil {
		return err
	}
	shape, ok := c.member("shape")
	if !ok || !shape.isList() || shape.count() > maxRank {
		return invalid("input %q: expected a shape of up to %d sizes", shown([]byte(in.Name)), maxRank)
	}
	count := shape.count()
	if err := q.s.doc.takeTimes(count, 16); err != nil { // as int64, and as int
		return err
	}
	in.Shape = make([]int64, count)
	shape.enter()
	if got := ints(&shape, in.Shape, 0, 1<<62); got != count {
		return invalid("input %q: expected sizes of at least 0 in its shape", shown([]byte(in.Name)))
	}
	size, raw, err := c.parameter("binary_data_size")
	if err != nil {
		return err
	}
	if in.data, in.inJSON = c.member("data"); in.inJSON == raw {
		return invalid("input %q: expected either data or the parameter binary_data_size", shown([]byte(in.Name)))
	}
	if raw {
		if in.size, err = strconv.Atoi(string(size.text())); err != nil || in.size < 0 {
			return invalid("input %q: binary_data_size: expected a number of bytes", shown([]byte(in.Name)))
		}
	}
	q.given = append(q.given, in)
	return nil
}

func (q *inferBody) readOutput(c cursor) error {
	name, err := c.text1("name")
	if err != nil {
		return err
	}
	q.names = append(q.names, name)
	if err := q.s.doc.take(outputCost); err != nil {
		return err
	}
	p, ok, err := c.parameters()
	if err != nil || !ok {
		return err
	}
	for _, refused := range openinference.RefusedOfOutputs {
		if _, ok := p.member(refused); ok {
			return invalid("output %q: parameter %s: the extension is not there", shown([]byte(name)), refused)
		}
	}
	if _, ok := p.member("binary_data"); ok {
		q.binary[name], err = p.flag("binary_data")
	}
	return err
}

// inputs makes the tensors.
func (q *inferBody) inputs() (map[string]*tensor.Tensor, error) {
	raw := q.raw
	in, err := openinference.Collect(len(q.given), func(i int) (string, *tensor.Tensor, error) {
		g := q.given[i]
		if g.inJSON {
			t, err := g.fromJSON()
			return g.Name, t, err
		}
		if g.size > len(raw) {
			return "", nil, invalid("input %q: binary_data_size is %d, but %d bytes are left in the body", shown([]byte(g.Name)), g.size, len(raw))
		}
		part := raw[:g.size:g.size]
		raw = raw[g.size:]
		t, err := g.Raw(part, q.s.account)
		return g.Name, t, err
	})
	if err == nil && len(raw) > 0 {
		return nil, invalid("%d bytes are left in the body after all inputs", len(raw))
	}
	return in, err
}

// result appends the reply, with raw tensors after the JSON.
func (x *exchange) result(out []byte, q *inferBody, model string, p *inference.Prediction) ([]byte, error) {
	w := outputs{names: p.Names, tensors: p.Tensors, account: x.s.account}.writer(out, 1)
	w.open('{')
	w.pair("model_name", model)
	w.pair("model_version", strconv.FormatInt(p.ID.Version, 10))
	if q.id != "" {
		w.pair("id", q.id)
	}
	w.quoted([]byte("outputs"))
	w.open('[')
	raw, size := []*tensor.Tensor(nil), 0
	for i, name := range p.Names {
		t := p.Tensors[i]
		w.open('{')
		w.pair("name", name)
		w.pair("datatype", openinference.Datatype(t.DType))
		w.shape(t.Shape)
		if binary, said := q.binary[name]; binary || !said && q.allBinary {
			w.quoted([]byte("parameters"))
			w.open('{')
			w.quoted([]byte("binary_data_size"))
			w.raw(strconv.Itoa(openinference.RawSize(t)))
			w.close('}')
			raw, size = append(raw, t), size+openinference.RawSize(t)
		} else if err := w.data(t, name); err != nil {
			return out, err
		}
		w.close('}')
	}
	w.close(']')
	w.close('}')
	if w.err != nil || raw == nil {
		return w.buf, w.err
	}
	header := len(w.buf)
	if err := x.s.account.ReserveModel(header + size); err != nil {
		return out, err
	}
	whole := append(make([]byte, 0, header+size), w.buf...)
	for _, t := range raw {
		whole = openinference.AppendRaw(whole, t)
	}
	x.w.Header().Set("Content-Type", "application/octet-stream")
	x.w.Header().Set(headerLength, strconv.Itoa(header))
	return whole, nil
}
