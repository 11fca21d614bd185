package tfexample_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	example "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/format/tfexample"
)

// message returns an example with the given features.
func message(features map[string]*example.Feature) *example.Example {
	return &example.Example{Features: &example.Features{Feature: features}}
}

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func words(values ...string) *example.Feature {
	l := &example.BytesList{}
	for _, v := range values {
		l.Value = append(l.Value, []byte(v))
	}
	return &example.Feature{Kind: &example.Feature_BytesList{BytesList: l}}
}

func floats(values ...float32) *example.Feature {
	return &example.Feature{Kind: &example.Feature_FloatList{FloatList: &example.FloatList{Value: values}}}
}

func ints(values ...int64) *example.Feature {
	return &example.Feature{Kind: &example.Feature_Int64List{Int64List: &example.Int64List{Value: values}}}
}

// read reads a whole example, nil if it is malformed.
func read(b []byte) map[string]any {
	out := map[string]any{}
	ok := tfexample.EachFeature(context.Background(), b, func(name, feature []byte) bool {
		kind, data, ok := tfexample.List(context.Background(), feature)
		n := tfexample.Count(context.Background(), kind, data)
		if !ok || n < 0 {
			return false
		}
		switch kind {
		case tfexample.Bytes:
			dst := make([][]byte, n)
			tfexample.ReadBytes(dst, data)
			texts := make([]string, n)
			for i, s := range dst {
				texts[i] = string(s)
			}
			out[string(name)] = texts
		case tfexample.Floats:
			dst := make([]float32, n)
			tfexample.ReadFloats(dst, data)
			out[string(name)] = dst
		case tfexample.Ints:
			dst := make([]int64, n)
			tfexample.ReadInts(dst, data)
			out[string(name)] = dst
		default:
			out[string(name)] = nil
		}
		return true
	})
	if !ok {
		return nil
	}
	return out
}

func TestReadsWhatProtocolBuffersWrite(t *testing.T) {
	b := marshal(t, message(map[string]*example.Feature{
		"words": words("a", "", "bé"), "floats": floats(1, -2.5), "ints": ints(0, -1, 1<<40), "empty": ints(), "nothing": {},
	}))
	want := map[string]any{"words": []string{"a", "", "bé"}, "floats": []float32{1, -2.5}, "ints": []int64{0, -1, 1 << 40}, "empty": []int64{}, "nothing": nil}
	if d := cmp.Diff(want, read(b)); d != "" {
		t.Error(d)
	}
}

// TestMergesMessages: protocol buffers are merged by concatenation; of features
// with the same name the last one counts.
func TestMergesMessages(t *testing.T) {
	b := marshal(t, message(map[string]*example.Feature{"a": ints(1), "b": ints(2)}))
	b = append(b, 0x98, 0x06, 0x01) // unknown field 99
	b = append(b, marshal(t, message(map[string]*example.Feature{"a": floats(3)}))...)
	if d := cmp.Diff(map[string]any{"a": []float32{3}, "b": []int64{2}}, read(b)); d != "" {
		t.Error(d)
	}
	unpacked := []byte{0x0a, 10, 0x0a, 8, 0x0a, 0, 0x12, 4, 0x1a, 2, 0x08, 7}
	if d := cmp.Diff(map[string]any{"": []int64{7}}, read(unpacked)); d != "" {
		t.Error(d)
	}
}

func TestMalformed(t *testing.T) {
	whole := marshal(t, message(map[string]*example.Feature{"name": ints(300, 2)}))
	for n := 1; n < len(whole); n++ {
		if got := read(whole[:n]); got != nil {
			t.Errorf("first %d of %d bytes: got %v, expected an error", n, len(whole), got)
		}
	}
	if got := read(nil); got == nil || len(got) != 0 {
		t.Errorf("empty message: got %v, expected an example without features", got)
	}
}

func field(number protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), b)
}

// inParts returns an example whose only feature comes in n parts with one value each: parts of the feature, of its list,
// or of the example.
func inParts(of string, n int) []byte {
	list, name := field(3, []byte{0x08, 1}), field(1, []byte("a"))
	example := func(feature []byte) []byte { return field(1, field(1, append(bytes.Clone(name), feature...))) }
	switch of {
	case "list":
		return example(field(2, bytes.Repeat(list, n)))
	case "feature":
		return example(bytes.Repeat(field(2, list), n))
	}
	return bytes.Repeat(example(field(2, list)), n)
}

// TestPartsAreMerged: the cost is linear in the parts; with 350 thousand of them (0.7 to 4 MB), copying all for each would not end.
func TestPartsAreMerged(t *testing.T) {
	const n = 350_000
	for of, want := range map[string]int{"list": n, "feature": n, "example": 1} {
		if got, _ := read(inParts(of, n))["a"].([]int64); len(got) != want {
			t.Errorf("parts of the %s: got %d values, expected %d", of, len(got), want)
		}
	}
}

// TestPartsDoNotChangeTheExample: nothing is written to the memory after the first part.
func TestPartsDoNotChangeTheExample(t *testing.T) {
	for _, of := range []string{"list", "feature"} {
		b := inParts(of, 3)
		before := bytes.Clone(b)
		if got, _ := read(b)["a"].([]int64); len(got) != 3 || !bytes.Equal(b, before) {
			t.Errorf("parts of the %s: got %v, and the bytes changed: %v", of, got, !bytes.Equal(b, before))
		}
	}
}

// TestEndsWithItsContext: reading a message with many fields stops when the context ends.
func TestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	called := 0
	if tfexample.EachFeature(ctx, inParts("example", 100_000), func(_, _ []byte) bool { called++; return true }) || called > 10_000 {
		t.Errorf("%d features were read", called)
	}
	feature := bytes.Repeat(field(3, []byte{0x08, 1}), 100_000)
	kind, data, ok := tfexample.List(t.Context(), feature)
	if !ok || tfexample.Count(t.Context(), kind, data) != 100_000 {
		t.Fatal("the feature is not what it is meant to be")
	}
	if _, _, ok := tfexample.List(ctx, feature); ok || tfexample.Count(ctx, kind, data) >= 0 {
		t.Error("the feature was read")
	}
}

// FuzzExample compares the reader with the protobuf library.
func FuzzExample(f *testing.F) {
	f.Add(marshal(f, message(map[string]*example.Feature{"w": words("a", "b"), "f": floats(1, 2), "i": ints(-1, 300), "n": {}})))
	f.Add([]byte{0x0a, 10, 0x0a, 8, 0x0a, 0, 0x12, 4, 0x1a, 2, 0x08, 7})
	for _, of := range []string{"list", "feature", "example"} {
		f.Add(inParts(of, 3))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got := read(b)
		var m example.Example
		if got == nil || proto.Unmarshal(b, &m) != nil {
			return // the library may be stricter or laxer about damage
		}
		for name, feature := range m.GetFeatures().GetFeature() {
			switch v := got[name].(type) {
			case []int64:
				if w := feature.GetInt64List().GetValue(); !slices.Equal(v, w) {
					t.Errorf("%q: got %v, expected %v", name, v, w)
				}
			case []string:
				if w := feature.GetBytesList().GetValue(); len(v) != len(w) {
					t.Errorf("%q: got %d strings, expected %d", name, len(v), len(w))
				}
			case []float32:
				if w := feature.GetFloatList().GetValue(); len(v) != len(w) {
					t.Errorf("%q: got %d numbers, expected %d", name, len(v), len(w))
				}
			}
		}
	})
}

func ExampleEachFeature() {
	b, err := proto.Marshal(message(map[string]*example.Feature{"age": ints(41, 42)}))
	if err != nil {
		panic(err)
	}
	tfexample.EachFeature(context.Background(), b, func(name, feature []byte) bool {
		kind, list, _ := tfexample.List(context.Background(), feature)
		values := make([]int64, tfexample.Count(context.Background(), kind, list))
		tfexample.ReadInts(values, list)
		fmt.Printf("%s: %s %d\n", name, kind, values)
		return true
	})
	// Output: age: int64 [41 42]
}
