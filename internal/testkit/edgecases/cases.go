package edgecases

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

var record = flag.Bool("edge-cases", false, "ask TensorFlow again for the answers in testdata")

// File is the path of the answers, below a package's folder.
const File = "testdata/edge_cases.json.gz"

// Tensor is a tensor.Tensor in a file.
type Tensor struct {
	Name  string       `json:"name,omitempty"` // of a node that is fed
	DType tensor.DType `json:"dtype"`
	Shape []int        `json:"shape"`
	Bytes []byte       `json:"-"`
	At    int          `json:"bytes"` // index of the file's blob, from 1
}

// Of returns t as a Tensor with a name.
func Of(name string, t *tensor.Tensor) Tensor {
	return Tensor{Name: name, DType: t.DType, Shape: append([]int{}, t.Shape...), Bytes: bytes.Clone(t.Bytes)}
}

// Graph returns t as a tensor of the engine.
func (t Tensor) Graph() *tensor.Tensor {
	out := tensor.New(t.DType, t.Shape...)
	copy(out.Bytes, t.Bytes)
	return out
}

// Case is one computation.
type Case struct {
	Name     string   `json:"name"`
	Graph    []byte   `json:"-"`                  // a GraphDef; types of nodes that follow from their inputs may be missing
	Which    int      `json:"graph"`              // index of the file's blob, from 1; 0: none
	Function string   `json:"function,omitempty"` // of edge_cases.py, instead of Graph: its arguments are Feeds
	Feeds    []Tensor `json:"feeds"`
	Fetches  []string `json:"fetches"`             // tensors of the graph
	WRT      []string `json:"wrt,omitempty"`       // feeds for which the first fetch is differentiated,
	Cot      *Tensor  `json:"cotangent,omitempty"` // given its gradient

	Want  []Tensor `json:"want,omitempty"`  // for each fetch, then each gradient
	Error string   `json:"error,omitempty"` // why TensorFlow has no answer: it has no kernel
}

// contents is the content of a file: graphs and the elements of tensors, which many cases share, and cases.
type contents struct {
	Blobs [][]byte `json:"blobs"`
	Cases []Case   `json:"cases"`
}

// tensors are all tensors of a case.
func (c *Case) tensors() []*Tensor {
	var all []*Tensor
	for _, list := range [][]Tensor{c.Feeds, c.Want} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	if c.Cot != nil {
		all = append(all, c.Cot)
	}
	return all
}

// Answered returns the cases with TensorFlow's answers from the package's file. It fails the test if the file has no case of a name, or another
// computation. With the flag -edge-cases it asks TensorFlow for these answers, and the file then has exactly these cases.
func Answered(t *testing.T, cases []Case) []Case {
	t.Helper()
	recorded := map[string]*Case{}
	if _, err := os.Stat(File); err == nil || !*record {
		for _, c := range Read(t, File) {
			recorded[c.Name] = &c
		}
	}
	out := slices.Clone(cases)
	var missing []int
	for i := range out {
		c, r := &out[i], recorded[out[i].Name]
		if r != nil {
			c.Want, c.Error = r.Want, r.Error
		}
		if r == nil || !same(c, r) {
			missing = append(missing, i)
		}
	}
	switch {
	case *record:
		answer(t, out, missing)
	case len(missing) > 0:
		t.Fatalf("%s has no such case as %q: go test -run %s -edge-cases asks TensorFlow for it", File, out[missing[0]].Name, t.Name())
	}
	return out
}

// same reports whether two cases have the same computation.
func same(a, b *Case) bool {
	equal := func(x, y *Tensor) bool {
		return x.Name == y.Name && x.DType == y.DType && slices.Equal(x.Shape, y.Shape) && bytes.Equal(x.Bytes, y.Bytes)
	}
	return a.Name == b.Name && a.Function == b.Function && bytes.Equal(a.Graph, b.Graph) && slices.Equal(a.Fetches, b.Fetches) &&
		slices.Equal(a.WRT, b.WRT) && slices.EqualFunc(a.tensors(), b.tensors(), equal)
}

// answer asks TensorFlow for some of the cases and writes all of them to the file.
func answer(t *testing.T, cases []Case, which []int) {
	t.Helper()
	asked := make([]Case, len(which))
	for i, at := range which {
		asked[i] = cases[at]
		asked[i].Want, asked[i].Error = nil, ""
	}
	file := filepath.Join(t.TempDir(), filepath.Base(File))
	if err := write(file, asked); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(testkit.Root(), ".venv", "bin", "python"), filepath.Join(testkit.Root(), "interop", "python", "edge_cases.py"), "answer", file)
	cmd.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES=", "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("ask TensorFlow, which make peers installs: %v\n%s", err, out)
	}
	t.Logf("%s", out)
	for i, c := range Read(t, file) {
		cases[which[i]] = c
	}
	if err := os.MkdirAll(filepath.Dir(File), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := write(File, cases); err != nil {
		t.Fatal(err)
	}
}

// Read returns the cases of a file.
func Read(t testing.TB, file string) []Case {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	data, err = io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var c contents
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	for i := range c.Cases {
		if k := c.Cases[i].Which; k > 0 {
			c.Cases[i].Graph = c.Blobs[k-1]
		}
		for _, x := range c.Cases[i].tensors() {
			x.Bytes = c.Blobs[x.At-1]
		}
	}
	return c.Cases
}

func write(file string, cases []Case) error {
	c := contents{Cases: cases}
	places := map[string]int{}
	place := func(blob []byte) int {
		k, seen := places[string(blob)]
		if !seen {
			c.Blobs = append(c.Blobs, blob)
			k = len(c.Blobs)
			places[string(blob)] = k
		}
		return k
	}
	for i := range cases {
		if len(cases[i].Graph) > 0 {
			cases[i].Which = place(cases[i].Graph)
		}
		for _, x := range cases[i].tensors() {
			x.At = place(x.Bytes)
		}
	}
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("cases: %w", err)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}
