package eager

import (
	"fmt"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestCSV: lines are split as in TensorFlow, and what it refuses is refused.
func TestCSV(t *testing.T) {
	for line, want := range map[string]string{
		"a,b": `["a" "b"]`, "a,": `["a" ""]`, ",": `["" ""]`, "": `[]`, `"a,""b""",c`: `["a,\"b\"" "c"]`, `"",x`: `["" "x"]`, "\r\na\n": "Unquoted fields cannot have quotes/CRLFs inside",
		`a"b`: "Unquoted fields cannot have quotes/CRLFs inside", `"a`: "Quoted field has to end with quote followed by delim or end", `"a"b,c`: "Quote inside a string has to be escaped by another quote",
		`"`: "Quoted field has to end with quote followed by delim or end",
	} {
		fields, err := (&csvFormat{delim: ',', quotes: true}).fields([]byte(line))
		got := fmt.Sprintf("%q", fields)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %s, expected %s", line, got, want)
		}
	}
	s := newSession(t)
	types := func(more graph.Attrs) graph.Attrs {
		a := graph.Attrs{"OUT_TYPE": []tensor.DType{tensor.Int64, tensor.String}}
		for k, v := range more {
			a[k] = v
		}
		return a
	}
	s.expect(s.run("DecodeCSV", types(nil), []string{"1,a", " 2 ,b", ",c"}, []int64{7}, "x"), "int64[3] 1 2 7")
	s.expect(s.run("DecodeCSV", types(graph.Attrs{"select_cols": []int64{1, 3}}), []string{"1,5,3,a,4"}, []int64{7}, "x"), "int64[1] 5")
	s.refuse("Field 0 in record 1 is not a valid int64: x", "DecodeCSV", types(nil), []string{"1,a", "x,b"}, []int64{7}, "x")
	s.refuse("Field 0 in record 0 is required but missing", "DecodeCSV", types(nil), []string{",a"}, []int64{}, "x")
	s.refuse("Expect 2 fields but have 3 in record 0", "DecodeCSV", types(nil), []string{"1,2,3"}, []int64{7}, "x")
	s.refuse("strictly increasing", "DecodeCSV", types(graph.Attrs{"select_cols": []int64{3, 1}}), []string{"1"}, []int64{7}, "x")
	s.refuse("only 1 char", "DecodeCSV", types(graph.Attrs{"field_delim": []byte(";;")}), []string{"1"}, []int64{7}, "x")
}

// FuzzCSV: parsing any line terminates.
func FuzzCSV(f *testing.F) {
	f.Add([]byte("a,\"b\"\"\",c\n"), true)
	f.Fuzz(func(t *testing.T, line []byte, quotes bool) {
		fields, err := (&csvFormat{delim: ',', quotes: quotes}).fields(line)
		if err == nil && len(fields) > len(line)+1 {
			t.Errorf("%q has %d fields", line, len(fields))
		}
	})
}
