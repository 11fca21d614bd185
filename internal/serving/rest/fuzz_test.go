package rest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

// addBodies adds the bodies of the golden cases to the corpus.
func addBodies(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "\n\n") {
			if body, _, ok := strings.Cut(part, "\n-- "); ok {
				f.Add([]byte(body))
			}
		}
	}
}

var fuzzTypes = []map[string]tensor.DType{
	{"x": tensor.Float32}, {"x": tensor.Float64}, {"x": tensor.Int8}, {"x": tensor.Uint64}, {"x": tensor.Bool}, {"x": tensor.String}, {"x": tensor.Float16},
	{"i": tensor.Int32, "s": tensor.String, "f": tensor.Float32},
}

func FuzzPredict(f *testing.F) {
	addBodies(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		var d document
		q, err := readPredict(&d, bytes.Clone(body))
		// Everything that encoding/json accepts is accepted, except too big numbers, lone surrogates, and values that are not objects.
		if json.Valid(body) && d.b != nil && d.b[d.root] == '{' && err != nil {
			if s := err.Error(); strings.Contains(s, "Parse error") && !strings.Contains(s, errTooBig) && !strings.Contains(s, errSurrogate) {
				t.Fatalf("refused: %v", err)
			}
		}
		if err != nil {
			return
		}
		for _, types := range fuzzTypes {
			in, err := q.tensors(types)
			if err != nil {
				continue
			}
			for name, x := range in {
				if n := x.Len(); n > len(body) && len(x.Bytes)+len(x.Strings) > 0 {
					t.Fatalf("%s: %d elements of %d bytes", name, n, len(body))
				}
				if x.DType != tensor.String && len(x.Bytes) != x.Len()*x.DType.Size() {
					t.Fatalf("%s: shape %v, %d bytes", name, x.Shape, len(x.Bytes))
				}
			}
		}
	})
}

func FuzzExamples(f *testing.F) {
	addBodies(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		_, e, err := readExamples(new(document), bytes.Clone(body), nil)
		if err != nil {
			return
		}
		total := 0
		for _, x := range e.Serialized {
			total += len(x)
		}
		if total > 64*len(body) {
			t.Fatalf("%d bytes of examples from %d", total, len(body))
		}
	})
}

func FuzzRoute(f *testing.F) {
	f.Add("POST", "/v1/models/m/versions/1:predict")
	f.Add("GET", "/v1/models/m%2/labels/%zz/metadata")
	f.Fuzz(func(t *testing.T, verb, target string) {
		r, err := routeOf(verb, target)
		if err == nil && r.method != "" && !strings.HasPrefix(strings.ToLower(target), "/v1/models") {
			t.Fatalf("%+v", r)
		}
	})
}

// TestMemoryIsBounded sends bodies whose first rows claim far more elements than there are.
func TestMemoryIsBounded(t *testing.T) {
	ones := "[1" + strings.Repeat(",1", 50_000) + "]"
	empties := strings.Repeat(",[]", 50_000)
	square := "[" + ones + empties + "]"
	types := map[string]tensor.DType{}
	row := "{"
	for i := range 100 {
		name := "x" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		types[name] = tensor.Float64
		row += `"` + name + `":[1` + strings.Repeat(",1", 500) + `],`
	}
	wide := `{"instances":[` + strings.TrimSuffix(row, ",") + "}" + strings.Repeat(",1", 100_000) + "]}"
	x := map[string]tensor.DType{"x": tensor.Float64}
	for _, c := range []struct {
		name, body string
		types      map[string]tensor.DType
	}{
		{"columns", `{"inputs":` + square + "}", x},
		{"rows", `{"instances":` + square + "}", x},
		{"nested rows", `{"instances":[` + square + strings.Repeat(",[]", 50_000) + "]}", x},
		{"many inputs", wide, types},
		{"brackets", `{"inputs":` + strings.Repeat("[", 200_000), x},
		{"very many brackets", `{"inputs":` + strings.Repeat("[", 4*deepest), x},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		q, err := readPredict(new(document), []byte(c.body))
		if err == nil {
			_, err = q.tensors(c.types)
		}
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: accepted", c.name)
		}
		limit := uint64(40 * min(len(c.body), deepest))
		if used := after.TotalAlloc - before.TotalAlloc; used > limit {
			t.Errorf("%s: %d bytes allocated for a body of %d", c.name, used, len(c.body))
		}
	}
}
