package wire

import (
	ex "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// ExampleBytes returns e serialized: the bytes that came, or newly made ones.
func ExampleBytes(e *ex.Example) ([]byte, error) {
	if raw := e.ProtoReflect().GetUnknown(); e.GetFeatures() == nil && len(raw) > 0 {
		return raw, nil
	}
	return proto.Marshal(e)
}

// unmarshalExamples reads a message with examples; false where the ordinary codec must.
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
	*in, ok = inputFrom(input)
	return ok
}

// each calls f for the fields of a message, with the whole field and, of a field of bytes, its content (else nil).
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

// inputFrom reads an Input of one list of examples.
func inputFrom(b []byte) (in *apis.Input, ok bool) {
	ok = each(b, func(num protowire.Number, _, content []byte) bool {
		if in != nil || content == nil {
			return false // a second kind merges or replaces
		}
		var list [][]byte
		var context *ex.Example
		valid := each(content, func(field protowire.Number, _, example []byte) bool {
			switch {
			case example == nil:
				return false
			case field == 1:
				list = append(list, example)
			case field == 2 && num == 2 && context == nil:
				context = &kept([][]byte{example})[0]
			default:
				return false
			}
			return true
		})
		switch num {
		case 1:
			in = &apis.Input{Kind: &apis.Input_ExampleList{ExampleList: &apis.ExampleList{Examples: refs(kept(list))}}}
		case 2:
			in = &apis.Input{Kind: &apis.Input_ExampleListWithContext{ExampleListWithContext: &apis.ExampleListWithContext{Examples: refs(kept(list)), Context: context}}}
		}
		return valid
	})
	return in, ok && in != nil
}

// kept returns examples that are their serialized form.
func kept(list [][]byte) []ex.Example {
	all := make([]ex.Example, len(list))
	for i, b := range list {
		all[i].ProtoReflect().SetUnknown(b[:len(b):len(b)])
	}
	return all
}

func refs(all []ex.Example) []*ex.Example {
	out := make([]*ex.Example, len(all))
	for i := range all {
		out[i] = &all[i]
	}
	return out
}
