package remote

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Check returns an error for a tensor whose number of elements does not fit its shape and type.
func Check(t *tensor.Tensor) error {
	if t == nil {
		return errors.New("expected a tensor, got nil")
	}
	n, err := elements(t.Shape)
	if err != nil {
		return err
	}
	if t.DType == tensor.String {
		if len(t.Strings) != n {
			return fmt.Errorf("a tensor of shape %v has %d strings, expected %d: make it by tensor.FromStrings", t.Shape, len(t.Strings), n)
		}
		return nil
	}
	if size := t.DType.Size(); size == 0 || len(t.Bytes) != n*size {
		return fmt.Errorf("a tensor %v%v has %d bytes, expected %d: make it by tensor.New or tensor.FromSlice", t.DType, t.Shape, len(t.Bytes), n*size)
	}
	return nil
}

// headerOf describes a tensor and appends its elements to a body.
func headerOf(t *tensor.Tensor, body [][]byte) (*wire.TensorHeader, [][]byte) {
	h := &wire.TensorHeader{Dtype: int64(t.DType)}
	for _, d := range t.Shape {
		h.Shape = append(h.Shape, int64(d))
	}
	if t.DType != tensor.String {
		return h, append(body, t.Bytes)
	}
	for _, s := range t.Strings {
		h.Lengths = append(h.Lengths, uint64(len(s)))
	}
	return h, append(body, t.Strings...)
}

// reader reads tensors from the body of a frame.
type reader struct {
	frame *cluster.Frame
	at    int
}

// tensor reads the next tensor. Its header h is not trusted.
func (r *reader) tensor(h *wire.TensorHeader) (*tensor.Tensor, error) {
	left := r.frame.Len() - r.at
	shape, n, err := shapeOf(h.GetShape())
	if err != nil {
		return nil, err
	}
	d := tensor.DType(h.GetDtype())
	if d == tensor.String {
		return r.strings(shape, n, h.Lengths)
	}
	size := d.Size()
	if size == 0 || n > left/size {
		return nil, fmt.Errorf("a tensor %v%v in %d bytes", d, shape, left)
	}
	t := tensor.New(d, shape...)
	r.take(t.Bytes)
	if d == tensor.Bool {
		tensor.NormalizeBools(t.Bytes)
	}
	return t, nil
}

// strings reads strings with these lengths.
func (r *reader) strings(shape []int, n int, lengths []uint64) (*tensor.Tensor, error) {
	if n != len(lengths) {
		return nil, fmt.Errorf("%d lengths of %d strings", len(lengths), n)
	}
	values := make([][]byte, n)
	for i, length := range lengths {
		if left := r.frame.Len() - r.at; length > uint64(left) {
			return nil, fmt.Errorf("a string of %d bytes in %d", length, left)
		}
		values[i] = make([]byte, length)
		r.take(values[i])
	}
	return tensor.FromStrings(values, shape...)
}

func (r *reader) take(p []byte) { r.at += r.frame.CopyTo(p, r.at) }

// maxElements bounds the elements of a tensor.
const maxElements = 1 << 40

// shapeOf checks a shape and counts its elements.
func shapeOf(dims []int64) (shape []int, n int, err error) {
	if n, err = elements(dims); err != nil {
		return nil, 0, err
	}
	shape = make([]int, len(dims))
	for i, d := range dims {
		shape[i] = int(d)
	}
	return shape, n, nil
}

// elements counts the elements of an untrusted shape.
func elements[D int | int64](dims []D) (int, error) {
	n := 1
	for _, d := range dims {
		if d < 0 || d > maxElements || d > 0 && n > maxElements/int(d) {
			return 0, fmt.Errorf("a shape of %d dimensions, with one of %d", len(dims), d)
		}
		n *= int(d)
	}
	return n, nil
}

// requestOf is the frame that requests a run.
func requestOf(number uint64, c Call) *cluster.Frame {
	m := &wire.FunctionRequest{Kind: wire.FunctionRequestKind_FUNCTION_REQUEST_KIND_RUN, Number: number, Name: c.Function}
	var body [][]byte
	for _, a := range c.Args {
		arg := &wire.FunctionArg{Resource: int64(a.Resource)}
		if a.Resource == 0 {
			arg.Tensor, body = headerOf(a.Tensor, body)
		}
		m.Args = append(m.Args, arg)
	}
	return &cluster.Frame{Header: wire.Encode(m), Body: body}
}

// Limits on the content of a message: its header takes more memory when decoded.
const (
	maxHeader  = 8 << 20 // bytes: 8 million strings
	maxTensors = 1 << 16
)

// fieldTensors is the number of the repeated field: args of a FunctionRequest, results of a FunctionReply.
const fieldTensors = 4

// checkHeader limits a message before it is decoded, and before it is sent.
func checkHeader(b []byte) error {
	if len(b) > maxHeader {
		return fmt.Errorf("the shapes and lengths of tensors take %d bytes, expected at most %d: send strings in parts", len(b), maxHeader)
	}
	for tensors := 0; len(b) > 0; {
		number, _, n := protowire.ConsumeField(b)
		if n < 0 {
			return fmt.Errorf("%w: %w", wire.ErrMalformed, protowire.ParseError(n))
		}
		if number == fieldTensors {
			tensors++
		}
		if b = b[n:]; tensors > maxTensors {
			return fmt.Errorf("more than %d tensors", maxTensors)
		}
	}
	return nil
}

// decode is wire.Decode with these limits.
func decode(b []byte, m proto.Message) error {
	if err := checkHeader(b); err != nil {
		return err
	}
	return wire.Decode(b, m)
}

// replyIn reads an untrusted reply.
func replyIn(f *cluster.Frame) (*wire.FunctionReply, []*tensor.Tensor, error) {
	m := &wire.FunctionReply{}
	if err := decode(f.Header, m); err != nil {
		return nil, nil, err
	}
	results, err := resultsOf(m, f)
	return m, results, err
}

// callOf reads the call in a request.
func callOf(m *wire.FunctionRequest, f *cluster.Frame) (c Call, err error) {
	c.Function = m.Name
	r := reader{frame: f}
	for _, a := range m.Args {
		arg := Arg{Resource: int(a.Resource)}
		if arg.Resource == 0 {
			if arg.Tensor, err = r.tensor(a.Tensor); err != nil {
				return c, fmt.Errorf("arguments of %s: %w", c.Function, err)
			}
		}
		c.Args = append(c.Args, arg)
	}
	return c, nil
}

// resultsOf reads the results of a reply.
func resultsOf(m *wire.FunctionReply, f *cluster.Frame) ([]*tensor.Tensor, error) {
	r := reader{frame: f}
	var out []*tensor.Tensor
	for _, h := range m.Results {
		t, err := r.tensor(h)
		if err != nil {
			return nil, fmt.Errorf("results: %w", err)
		}
		out = append(out, t)
	}
	return out, nil
}
