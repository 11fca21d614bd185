package eager

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

// session runs nodes of one environment in a test.
type session struct {
	t   *testing.T
	env *Env
}

func newSession(t *testing.T) session {
	return session{t, &Env{Resources: NewResources()}}
}

func (s session) try(op string, attrs graph.Attrs, in ...any) ([]Value, error) {
	s.t.Helper()
	return Run(context.Background(), &graph.Node{Name: "node", Op: op, Attrs: attrs}, s.values(in...), s.env)
}

// values returns inputs.
func (s session) values(in ...any) (values []Value) {
	s.t.Helper()
	for _, x := range in {
		switch x := x.(type) {
		case Value:
			values = append(values, x)
		case *tensor.Tensor:
			values = append(values, Value{T: x})
		case string:
			t, _ := tensor.FromStrings([][]byte{[]byte(x)})
			values = append(values, Value{T: t})
		case []string:
			values = append(values, Value{T: texts(x...)})
		case int64:
			values = append(values, Value{T: tensor.Scalar(x)})
		case []int64:
			values = append(values, Value{T: tensorOf(x, len(x))})
		case int32:
			values = append(values, Value{T: tensor.Scalar(x)})
		case float32:
			values = append(values, Value{T: tensor.Scalar(x)})
		case []uint64:
			values = append(values, Value{T: tensorOf(x, len(x))})
		case []float64:
			values = append(values, Value{T: tensorOf(x, len(x))})
		case []float32:
			values = append(values, Value{T: tensorOf(x, len(x))})
		default:
			s.t.Fatalf("input of type %T", x)
		}
	}
	return values
}

func (s session) run(op string, attrs graph.Attrs, in ...any) Value {
	s.t.Helper()
	out, err := s.try(op, attrs, in...)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(out) == 0 {
		return Value{}
	}
	return out[0]
}

func tensorOf[T tensor.Element](v []T, shape ...int) *tensor.Tensor {
	t, err := tensor.FromSlice(v, shape...)
	if err != nil {
		panic(err)
	}
	return t
}

func texts(s ...string) *tensor.Tensor {
	t := tensor.New(tensor.String, len(s))
	for i := range s {
		t.Strings[i] = []byte(s[i])
	}
	return t
}

func (s session) table(op string, key, value tensor.DType) Value {
	return s.run(op, graph.Attrs{"key_dtype": key, "value_dtype": value, "shared_name": []byte(op)})
}

func (s session) expect(v Value, want string) {
	s.t.Helper()
	if got := describe(v.T); got != want {
		s.t.Errorf("got %s, expected %s", got, want)
	}
}

func (s session) refuse(part, op string, attrs graph.Attrs, in ...any) {
	s.t.Helper()
	_, err := s.try(op, attrs, in...)
	if err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), `node "node" (`+op+`)`) {
		s.t.Errorf("got error %v, expected one of %s with %q", err, op, part)
	}
}

func TestHashTable(t *testing.T) {
	s := newSession(t)
	words := s.table("HashTableV2", tensor.String, tensor.Int64)
	if _, err := s.try("LookupTableFindV2", nil, words, "a", int64(-1)); !errors.Is(err, ErrUninitialized) {
		t.Errorf("got %v, expected ErrUninitialized", err)
	}
	s.refuse("different value for same key", "InitializeTableV2", nil, words, []string{"a", "a"}, []int64{1, 2})
	s.run("InitializeTableV2", nil, words, []string{"a", "b", "a"}, []int64{1, 2, 1})
	s.run("InitializeTableV2", nil, words, []string{"c"}, []int64{3}) // the second time does nothing
	s.expect(s.run("LookupTableSizeV2", nil, words), "int64[] 2")
	s.expect(s.run("LookupTableFindV2", nil, words, []string{"b", "c", "\xff", "a"}, int64(-1)), "int64[4] 2 -1 -1 1")
	s.refuse("maps string to int64", "LookupTableFindV2", nil, words, []int64{1}, int64(-1))
	s.refuse("maps string to int64", "LookupTableFindV2", nil, words, "a", "x")
	own := s.run("AnonymousHashTable", graph.Attrs{"key_dtype": tensor.String, "value_dtype": tensor.Int64})
	s.run("LookupTableImportV2", nil, own, []string{"a"}, []int64{1})
	s.run("LookupTableImportV2", nil, own, []string{"a"}, []int64{1}) // as another client does
	s.refuse("cannot be changed", "LookupTableInsertV2", nil, words, []string{"z"}, []int64{1})
	s.refuse("elsewhere", "HashTableV2", graph.Attrs{"key_dtype": tensor.Int64, "shared_name": []byte("HashTableV2")})

	names := s.run("HashTableV2", graph.Attrs{"key_dtype": tensor.Int64, "value_dtype": tensor.String})
	s.run("InitializeTableV2", nil, names, []int64{7, -1}, []string{"seven", "minus"})
	s.expect(s.run("LookupTableFindV2", nil, names, []int64{-1, 0, 7}, "UNK"), `string[3] "minus" "UNK" "seven"`)
}

func TestMutableTable(t *testing.T) {
	s := newSession(t)
	m := s.run("MutableHashTableOfTensorsV2", graph.Attrs{"key_dtype": tensor.Int64, "value_dtype": tensor.Float32, "value_shape": graph.ShapeOf(2)})
	zero := tensorOf([]float32{0, 0}, 2)
	s.expect(s.run("LookupTableFindV2", nil, m, []int64{3}, zero), "float32[1 2] 0 0")
	s.run("LookupTableInsertV2", nil, m, []int64{3, 4}, tensorOf([]float32{1, 2, 3, 4}, 2, 2))
	s.run("LookupTableInsertV2", nil, m, []int64{3, 5}, tensorOf([]float32{9, 9, 5, 6}, 2, 2))
	s.expect(s.run("LookupTableFindV2", nil, m, []int64{5, 3, 8, 4}, zero), "float32[4 2] 5 6 9 9 0 0 3 4")
	out, err := s.try("LookupTableExportV2", nil, m)
	if err != nil {
		t.Fatal(err)
	}
	s.expect(out[0], "int64[3] 3 4 5")
	s.expect(out[1], "float32[3 2] 9 9 3 4 5 6")
	s.refuse("keys of type", "LookupTableRemoveV2", nil, m, []string{"3"})
	for range 2 { // the second time, they are gone
		s.run("LookupTableRemoveV2", nil, m, []int64{4, 9, 4})
		s.expect(s.run("LookupTableFindV2", nil, m, []int64{5, 3, 8, 4}, zero), "float32[4 2] 5 6 9 9 0 0 0 0")
		s.expect(s.run("LookupTableSizeV2", nil, m), "int64[] 2")
	}
	s.run("LookupTableRemoveV2", nil, m, []int64{3, 5})
	s.expect(s.run("LookupTableSizeV2", nil, m), "int64[] 0")
	s.run("LookupTableImportV2", nil, m, []int64{1}, tensorOf([]float32{7, 7}, 1, 2))
	s.expect(s.run("LookupTableSizeV2", nil, m), "int64[] 1")
}

// TestDenseTable: the keys that mark free rows are refused, and are skipped in a checkpoint.
func TestDenseTable(t *testing.T) {
	s := newSession(t)
	attrs := graph.Attrs{"key_dtype": tensor.String, "value_dtype": tensor.Int64}
	s.refuse("cannot be equal", "MutableDenseHashTableV2", attrs, "", "")
	s.refuse("deleted_key: expected one key of type string", "MutableDenseHashTableV2", attrs, "", int64(1))
	m := s.run("MutableDenseHashTableV2", attrs, "", "$")
	s.run("LookupTableImportV2", nil, m, []string{"", "a", "", "$", "b"}, []int64{9, 1, 9, 9, 2})
	s.expect(s.run("LookupTableSizeV2", nil, m), "int64[] 2")
	s.expect(s.run("LookupTableFindV2", nil, m, []string{"b", "c", "a"}, int64(-1)), "int64[3] 2 -1 1")
	s.refuse("Using the empty_key as a table key is not allowed", "LookupTableInsertV2", nil, m, []string{"c", ""}, []int64{3, 4})
	s.refuse("Using the deleted_key as a table key is not allowed", "LookupTableFindV2", nil, m, []string{"$"}, int64(-1))
	s.refuse("Using the deleted_key as a table key is not allowed", "LookupTableRemoveV2", nil, m, []string{"$"})
	s.refuse("expected values of shape", "LookupTableImportV2", nil, m, []string{"a"}, []int64{1, 2})
	s.expect(s.run("LookupTableSizeV2", nil, m), "int64[] 2")
	column, err := tensor.FromStrings([][]byte{nil, []byte("z"), []byte("$")}, 3, 1) // as TensorFlow writes the keys
	if err != nil {
		t.Fatal(err)
	}
	s.run("LookupTableImportV2", nil, m, column, []int64{9, 3, 9})
	s.expect(s.run("LookupTableFindV2", nil, m, []string{"b", "z"}, int64(-1)), "int64[2] -1 3")
	s.run("LookupTableImportV2", nil, m, column, tensorOf([]int64{9, 4, 9}, 3, 1)) // as are the values
	s.expect(s.run("LookupTableFindV2", nil, m, []string{"z"}, int64(-1)), "int64[1] 4")
	s.run("LookupTableImportV2", nil, m, column, []int64{9, 3, 9})
	s.expect(s.run("LookupTableFindV2", nil, m, []string{"b", "z"}, int64(-1)), "int64[2] -1 3")
	s.run("LookupTableImportV2", nil, m, []string{""}, []int64{9})
	s.expect(s.run("LookupTableSizeV2", nil, m), "int64[] 0")
}

// TestTriangularBroadcast: batches of matrices and of right-hand sides are broadcast.
func TestTriangularBroadcast(t *testing.T) {
	s := newSession(t)
	two := tensorOf([]float32{2, 0, 1, 1, 4, 0, 0, 8}, 2, 1, 2, 2)
	s.expect(s.run("MatrixTriangularSolve", nil, two, tensorOf([]float32{8, 16, 24, 32}, 2, 2, 1)), "float32[2 2 2 1] 4 12 12 20 2 2 6 4")
	s.refuse("incompatible shapes", "MatrixTriangularSolve", nil, two, tensorOf(make([]float32, 6), 3, 1, 2, 1))
	s.refuse("at least matrices", "MatrixTriangularSolve", nil, two, tensorOf([]float32{1, 2}, 2))
	s.refuse("as many rows", "MatrixTriangularSolve", nil, two, tensorOf([]float32{1, 2, 3}, 3, 1))
}

func TestTableFromFile(t *testing.T) {
	s := newSession(t)
	files := map[string]string{"words": "a\r\nb\n\nlast", "pairs": "x;1\ny;-2\n", "bad": "x;1\ny\n", "twice": "a\na\n"}
	s.env.Open = func(path string) (io.ReadCloser, error) {
		f, ok := files[path]
		if !ok {
			return nil, errors.New("no such file")
		}
		return io.NopCloser(strings.NewReader(f)), nil
	}
	lines := graph.Attrs{"key_index": int64(wholeLine), "value_index": int64(lineNumber), "vocab_size": int64(-1)}
	table := func() Value {
		return s.run("AnonymousHashTable", graph.Attrs{"key_dtype": tensor.String, "value_dtype": tensor.Int64})
	}
	words := table()
	s.run("InitializeTableFromTextFileV2", lines, words, "words")
	s.expect(s.run("LookupTableFindV2", nil, words, []string{"a", "b", "", "last", "c"}, int64(-1)), "int64[5] 0 1 2 3 -1")

	pairs := graph.Attrs{"key_index": int64(0), "value_index": int64(1), "delimiter": []byte(";"), "vocab_size": int64(2)}
	p := table()
	s.run("InitializeTableFromTextFileV2", pairs, p, "pairs")
	s.expect(s.run("LookupTableFindV2", nil, p, []string{"y", "x"}, int64(0)), "int64[2] -2 1")
	s.refuse("Invalid number of columns", "InitializeTableFromTextFileV2", pairs, table(), "bad")
	s.refuse("different value", "InitializeTableFromTextFileV2", lines, table(), "twice")
	s.refuse("no such file", "InitializeTableFromTextFileV2", lines, table(), "elsewhere")
	lines["vocab_size"] = int64(9)
	s.refuse("Invalid vocab_size", "InitializeTableFromTextFileV2", lines, table(), "words")
	s.env.Open = nil
	s.refuse("may read no files", "InitializeTableFromTextFileV2", lines, table(), "words")
}

// TestTableOnServer: a server reads vocabularies from where its ops may read files.
func TestTableOnServer(t *testing.T) {
	s, dir := newSession(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "words"), []byte("a\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.env.Files = func(path string) (atomicfile.FS, error) {
		if filepath.Dir(path) != dir {
			return nil, fs.ErrPermission
		}
		return atomicfile.OS{}, nil
	}
	words := s.run("HashTableV2", graph.Attrs{"key_dtype": tensor.String, "value_dtype": tensor.Int64})
	lines := graph.Attrs{"key_index": int64(-2), "value_index": int64(-1)}
	s.refuse(fs.ErrPermission.Error(), "InitializeTableFromTextFileV2", lines, words, "elsewhere")
	s.run("InitializeTableFromTextFileV2", lines, words, filepath.Join(dir, "words"))
	s.expect(s.run("LookupTableFindV2", nil, words, []string{"b", "c"}, int64(-1)), "int64[2] 1 -1")
}
