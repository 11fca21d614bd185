package wire

import (
	"errors"

	"github.com/goestimator/goestimator/internal/platform/budget"
	ex "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// unmarshalExamples reads a message with examples, which stay serialized: the Input keeps its bytes as unknown fields, which
// marshal to the same bytes. It returns false if the ordinary codec must read the message.
func unmarshalExamples(data mem.BufferSlice, v proto.Message, in **apis.Input) bool {
	b := data.Materialize()
	var rest, input []byte
	ok := each(b, func(num protowire.Number, field, content []byte) bool {
		if num != inputField {
			rest = append(rest, field...)
			return true
		}
		first := input == nil
		input = content
		return first && content != nil
	})
	if !ok || input == nil || proto.Unmarshal(rest, v) != nil {
		return false
	}
	raw := &apis.Input{}
	raw.ProtoReflect().SetUnknown(input)
	if _, _, ok = raws(raw); ok {
		*in = raw
	}
	return ok
}

// Examples are the serialized examples of an Input; Context precedes each of them.
type Examples struct {
	Serialized [][]byte
	Context    []byte
}

// ExamplesOf returns the examples of an input: the received bytes, or new ones, for which the account pays.
func ExamplesOf(in *apis.Input, a *budget.Account) (e Examples, err error) {
	if list, count, ok := raws(in); ok {
		if err := a.ReserveArray(count, stringHeader); err != nil {
			return e, err
		}
		e.Serialized = make([][]byte, 0, count)
		each(list, func(field protowire.Number, _, example []byte) bool {
			if field == 2 {
				e.Context = example
			} else {
				e.Serialized = append(e.Serialized, example)
			}
			return true
		})
		return e, nil
	}
	var list []*ex.Example
	switch k := in.GetKind().(type) {
	case *apis.Input_ExampleList:
		list = k.ExampleList.GetExamples()
	case *apis.Input_ExampleListWithContext:
		list = k.ExampleListWithContext.GetExamples()
		if c := k.ExampleListWithContext.GetContext(); c != nil {
			if e.Context, err = proto.Marshal(c); err != nil {
				return e, err
			}
		}
	}
	if err := errors.Join(a.ReserveArray(len(list), stringHeader), a.Reserve(proto.Size(in))); err != nil {
		return e, err
	}
	e.Serialized = make([][]byte, len(list))
	for i, x := range list {
		if e.Serialized[i], err = proto.Marshal(x); err != nil {
			return e, err
		}
	}
	return e, nil
}

// stringHeader is the size of a []byte.
const stringHeader = 24

// Input returns a message with the examples, which holds their bytes like one that was read. Examples that do not parse are
// left empty, for readers that can handle that.
func (e Examples) Input() *apis.Input {
	kind, room := protowire.Number(1), protowire.SizeBytes(len(e.Context))+1 // example_list
	for _, x := range e.Serialized {
		room += 1 + protowire.SizeBytes(len(x))
	}
	list := make([]byte, 0, room)
	var scratch ex.Example
	add := func(field protowire.Number, x []byte) {
		if proto.Unmarshal(x, &scratch) != nil {
			x = nil
		}
		list = protowire.AppendBytes(protowire.AppendTag(list, field, protowire.BytesType), x)
	}
	for _, x := range e.Serialized {
		add(1, x)
	}
	if len(e.Context) > 0 {
		kind = 2 // example_list_with_context
		add(2, e.Context)
	}
	in := &apis.Input{}
	in.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, kind, protowire.BytesType), list))
	return in
}

// raws returns the list of examples of an Input that holds its bytes, and their number. It returns false for other Inputs, and
// for forms that the ordinary codec must read.
func raws(in *apis.Input) (list []byte, count int, ok bool) {
	raw := in.ProtoReflect().GetUnknown()
	if in.GetKind() != nil || len(raw) == 0 {
		return nil, 0, false
	}
	kind := protowire.Number(0)
	ok = each(raw, func(num protowire.Number, _, content []byte) bool {
		if kind != 0 || content == nil || num != 1 && num != 2 {
			return false // a second kind merges or replaces
		}
		kind, list = num, content
		return true
	})
	if !ok || kind == 0 {
		return nil, 0, false
	}
	contexts := 0
	ok = each(list, func(field protowire.Number, _, example []byte) bool {
		switch {
		case example == nil:
			return false
		case field == 1:
			count++
		case field == 2 && kind == 2:
			contexts++
		default:
			return false
		}
		return contexts < 2
	})
	return list, count, ok
}

// each calls f for the fields of a message, with the whole field and, for bytes fields, their content (otherwise nil).
func each(b []byte, f func(num protowire.Number, field, content []byte) bool) bool {
	for len(b) > 0 {
		num, typ, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return false
		}
		n := protowire.ConsumeFieldValue(num, typ, b[tag:])
		if n < 0 {
			return false
		}
		var content []byte
		if typ == protowire.BytesType {
			content, _ = protowire.ConsumeBytes(b[tag:])
		}
		if !f(num, b[:tag+n], content) {
			return false
		}
		b = b[tag+n:]
	}
	return true
}
