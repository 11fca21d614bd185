package eager

import (
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// unhex decodes hexadecimal digits.
func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// protoFile describes, in the syntax of proto2: enum E { A = 3; B = -1; } message M { repeated int32 i = 1 [packed]; optional sint64 s = 2 [default = -7];
// optional uint32 u = 3; repeated float f = 4; optional bool b = 5 [default = true]; optional E e = 6; optional string w = 7 [default = "none"];
// repeated M m = 8; optional fixed64 x = 9; optional sint32 z = 10; }.
const protoFile = "0ac4010a07742e70726f746f1201742291010a014d120d0a016918012003280542021001120d0a01731802200128123a022d3712090a017518032001280d12090a0166180420032802120f0a01621805200128083a0474727565120f0a016518062001280e32042e742e45120f0a01771807200128093a046e6f6e65120f0a016d18082003280b32042e742e4d12090a017818092001280612090a017a180a200128112a1a0a014512050a01411003120e0a014210ffffffffffffffffff01620670726f746f32"

// TestDecodeProto: a message with all fields, one with none, and one with an unknown field and repeated ones. The values are TensorFlow 2.15's.
func TestDecodeProto(t *testing.T) {
	s := newSession(t)
	messages := textVector([]string{
		string(unhex("0a10ffffffffffffffffff0105808080800410e9f0e0fd5b1880d0acf30e250000003f25000000c0280030ffffffffffffffffff013a02686942021801420049ffffffffffffffff5011")),
		"", string(unhex("080708083a01613a0162620378797a"))})
	attrs := func(name string, d tensor.DType) graph.Attrs {
		return graph.Attrs{"message_type": []byte("t.M"), "field_names": [][]byte{[]byte(name)}, "output_types": []tensor.DType{d}, "descriptor_source": append([]byte("bytes://"), unhex(protoFile)...)}
	}
	for _, c := range []struct {
		field       string
		dtype       tensor.DType
		sizes, want string
	}{
		{"i", tensor.Int32, "3 0 2", "int32[3 3] -1 5 1.073741824e+09 0 0 0 7 8 0"},
		{"i", tensor.Int64, "3 0 2", "int64[3 3] 4.294967295e+09 5 1.073741824e+09 0 0 0 7 8 0"},
		{"s", tensor.Int64, "1 0 0", "int64[3 1] -1.2345678901e+10 -7 -7"},
		{"u", tensor.Uint32, "1 0 0", "uint32[3 1] 4e+09 0 0"},
		{"u", tensor.Uint64, "1 0 0", "uint64[3 1] 4e+09 0 0"},
		{"f", tensor.Float32, "2 0 0", "float32[3 2] 0.5 -2 0 0 0 0"},
		{"f", tensor.Float64, "2 0 0", "float64[3 2] 0.5 -2 0 0 0 0"},
		{"b", tensor.Bool, "1 0 0", "bool[3 1] 0 1 1"},
		{"e", tensor.Int32, "1 0 0", "int32[3 1] -1 3 3"},
		{"w", tensor.String, "1 0 1", `string[3 1] "hi" "none" "b"`},
		{"m", tensor.String, "2 0 0", `string[3 2] "\x18\x01" "" "" "" "" ""`},
		{"x", tensor.Uint64, "1 0 0", "uint64[3 1] 1.8446744073709552e+19 0 0"},
		{"z", tensor.Int64, "1 0 0", "int64[3 1] -9 0 0"},
	} {
		s.all("DecodeProtoV2", attrs(c.field, c.dtype), []any{messages}, "int32[3 1] "+c.sizes, c.want)
	}
	for _, c := range []struct {
		why, field string
		dtype      tensor.DType
		in         string
	}{
		{"parse", "i", tensor.Int32, "\x08"}, {"parse", "i", tensor.Int32, "\x0a\x05\x01"}, {"parse", "i", tensor.Int32, "\x0a\x01\xff"},
		{"parse", "i", tensor.Int32, strings.Repeat("\x0b", 1<<20)}, {"parse", "i", tensor.Int32, "\x0c"}, {"parse", "i", tensor.Int32, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"}, // endless groups, a lone end, and more bytes than there are
		{"fits into", "u", tensor.Int64, ""}, {"not in message", "q", tensor.Int64, ""},
	} {
		s.refuse(c.why, "DecodeProtoV2", attrs(c.field, c.dtype), textVector([]string{c.in}))
	}
	local := graph.Attrs{"message_type": []byte("tensorflow.Example"), "field_names": [][]byte{[]byte("features")}, "output_types": []tensor.DType{tensor.String}}
	s.all("DecodeProtoV2", local, []any{textVector([]string{"\x0a\x02\x0a\x00"})}, "int32[1 1] 1", `string[1 1] "\n\x00"`)
	local["message_type"] = []byte("tensorflow.Nothing")
	s.refuse("not described", "DecodeProtoV2", local, messages)
}

// TestEncodeProto: the messages are TensorFlow 2.15's, in hexadecimal.
func TestEncodeProto(t *testing.T) {
	s := newSession(t)
	attrs := func(message, source string, fields ...string) graph.Attrs {
		names := make([][]byte, len(fields))
		for i, f := range fields {
			names[i] = []byte(f)
		}
		return graph.Attrs{"message_type": []byte(message), "field_names": names, "descriptor_source": []byte(source)}
	}
	own := "bytes://" + string(unhex(protoFile))
	one := tensorOf([]int32{1}, 1, 1)
	for name, c := range map[string]struct {
		message, source, field string
		sizes, values          *tensor.Tensor
		want                   []string
	}{
		"int32":        {"t.M", own, "i", tensorOf([]int32{3, 0, 2}, 3, 1), tensorOf([]int32{-1, 5, 7, 1, 1, 1, 8, 9, 0}, 3, 3), []string{"0a0cffffffffffffffffff010507", "", "0a020809"}},
		"int32 of 64":  {"t.M", own, "i", tensorOf([]int32{4}, 1, 1), tensorOf([]int64{4294967295, 5, -1, 1 << 40}, 1, 4), []string{"0a16ffffffffffffffffff0105ffffffffffffffffff0100"}},
		"negative":     {"t.M", own, "i", tensorOf([]int32{-1}, 1, 1), tensorOf([]int32{5, 6}, 1, 2), []string{"0a00"}},
		"sint64":       {"t.M", own, "s", one, tensorOf([]int64{-12345678901}, 1, 1), []string{"10e9f0e0fd5b"}},
		"sint32":       {"t.M", own, "z", one, tensorOf([]int32{-9}, 1, 1), []string{"5011"}},
		"sint32 of 64": {"t.M", own, "z", one, tensorOf([]int64{1 << 40}, 1, 1), []string{"5000"}},
		"uint32":       {"t.M", own, "u", one, tensorOf([]uint32{4000000000}, 1, 1), []string{"1880d0acf30e"}},
		"uint32 of 64": {"t.M", own, "u", one, tensorOf([]uint64{1<<33 | 5}, 1, 1), []string{"1805"}},
		"fixed64":      {"t.M", own, "x", one, tensorOf([]uint64{math.MaxUint64}, 1, 1), []string{"49ffffffffffffffff"}},
		"float":        {"t.M", own, "f", tensorOf([]int32{2}, 1, 1), tensorOf([]float32{0.5, -2}, 1, 2), []string{"250000003f25000000c0"}},
		"float of 64":  {"t.M", own, "f", tensorOf([]int32{2}, 1, 1), tensorOf([]float64{0.1, -2}, 1, 2), []string{"25cdcccc3d25000000c0"}},
		"bool":         {"t.M", own, "b", one, tensorOf([]bool{true}, 1, 1), []string{"2801"}},
		"enum":         {"t.M", own, "e", tensorOf([]int32{1, 1}, 2, 1), tensorOf([]int32{-1, 77}, 2, 1), []string{"30ffffffffffffffffff01", "304d"}},
		"string":       {"t.M", own, "w", one, textMatrix("\xff\x00"), []string{"3a02ff00"}},
		"message":      {"t.M", own, "m", tensorOf([]int32{2}, 1, 1), textMatrix("\x18\x01", ""), []string{"420218014200"}},
		"two optional": {"t.M", own, "u", tensorOf([]int32{2}, 1, 1), tensorOf([]uint32{5, 6}, 1, 2), []string{"18051806"}},
		"batch":        {"t.M", own, "i", tensorOf([]int32{1, 1, 0, 1}, 2, 2, 1), tensorOf([]int32{1, 2, 3, 4}, 2, 2, 1), []string{"0a0101", "0a0102", "", "0a0104"}},
		"nothing":      {"t.M", own, "i", tensorOf([]int32{}, 0, 1), tensorOf([]int32{}, 0, 2), nil},
		"proto3":       {"tensorflow.DebugTensorWatch", "local://", "output_slot", one, tensorOf([]int32{0}, 1, 1), []string{"1000"}},
		"packed":       {"tensorflow.Int64List", "local://", "value", tensorOf([]int32{3}, 1, 1), tensorOf([]int64{1, -1, 300}, 1, 3), []string{"0a0d01ffffffffffffffffff01ac02"}},
		"map":          {"tensorflow.Features", "local://", "feature", one, textMatrix("\x0a\x01a"), []string{"0a030a0161"}},
	} {
		a := attrs(c.message, c.source, c.field)
		a["Tinput_types"] = []tensor.DType{c.values.DType}
		got := s.run("EncodeProto", a, c.sizes, c.values).T.Strings
		if len(got) != len(c.want) {
			t.Errorf("%s: %d messages", name, len(got))
			continue
		}
		for i, m := range got {
			if hex.EncodeToString(m) != c.want[i] {
				t.Errorf("%s: got %x, expected %s", name, m, c.want[i])
			}
		}
	}
	a := attrs("t.M", own, "u", "s", "i")
	a["Tinput_types"] = []tensor.DType{tensor.Uint32, tensor.Int64, tensor.Int32}
	sizes, u, z, i := tensorOf([]int32{1, 1, 2}, 1, 3), tensorOf([]uint32{5}, 1, 1), tensorOf([]int64{1}, 1, 1), tensorOf([]int32{1, 2}, 1, 2)
	if got := hex.EncodeToString(s.run("EncodeProto", a, sizes, u, z, i).T.Strings[0]); got != "0a02010210021805" {
		t.Errorf("by the numbers of fields: got %s", got)
	}
	s.refuse("match up to the last dimension", "EncodeProto", a, sizes, u, z, tensorOf([]int32{1, 2}, 2, 1))
	s.refuse("Saw: [1,1] but expected: [1,3]", "EncodeProto", a, one, u, z, i)
	s.refuse("at least a matrix", "EncodeProto", a, sizes, u, z, tensorOf([]int32{1}, 1))
	s.refuse("3 > 2 at message 0 field 2", "EncodeProto", a, tensorOf([]int32{1, 1, 3}, 1, 3), u, z, i)
	for why, a := range map[string]graph.Attrs{"Unknown field: q": attrs("t.M", own, "q"), "Incompatible type for field f": attrs("t.M", own, "f"), "not described": attrs("t.Q", own, "f")} {
		a["Tinput_types"] = []tensor.DType{tensor.Int32}
		s.refuse(why, "EncodeProto", a, one, tensorOf([]int32{1}, 1, 1))
	}
}

// textMatrix is one row of strings.
func textMatrix(texts ...string) *tensor.Tensor {
	t := textVector(texts)
	return &tensor.Tensor{DType: t.DType, Shape: []int{1, len(texts)}, Strings: t.Strings}
}

// TestApproximateEqual: a difference equal to the tolerance is near, NaN and infinity are near nothing, and shapes must be equal.
func TestApproximateEqual(t *testing.T) {
	s, inf := newSession(t), float32(math.Inf(1))
	attrs := graph.Attrs{"tolerance": float32(0.5)}
	s.expect(s.run("ApproximateEqual", attrs, tensorOf([]float32{1, 1, 1, float32(math.NaN()), inf, -1}, 6), tensorOf([]float32{1.5, 0.5, 1.75, 0, inf, -1.5}, 6)), "bool[6] 1 1 0 0 0 1")
	s.expect(s.run("ApproximateEqual", graph.Attrs{"tolerance": float32(1.9)}, tensorOf([]int64{3, -3, 3}, 3), tensorOf([]int64{4, -4, 5}, 3)), "bool[3] 1 1 0")
	s.expect(s.run("ApproximateEqual", nil, tensorOf([]float32{1, 1}, 2), tensorOf([]float32{1.000009, 1.0001}, 2)), "bool[2] 1 0")
	s.refuse("same shape", "ApproximateEqual", attrs, tensorOf([]float32{1}, 1), tensorOf([]float32{1}))
}
