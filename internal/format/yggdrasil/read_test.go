package yggdrasil_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/yggdrasil"
)

func Example() {
	m, err := all().read()
	if err != nil {
		panic(err)
	}
	fmt.Println(len(m.Roots), "trees of", len(m.Nodes), "nodes; features:")
	for _, c := range m.Inputs {
		fmt.Println(m.Columns[c].Name)
	}
	// Output:
	// 7 trees of 21 nodes; features:
	// number
	// word
	// set
	// truth
	// bins
}

func TestRead(t *testing.T) {
	m, err := all().read()
	if err != nil {
		t.Fatal(err)
	}
	if m.Task != yggdrasil.Regression || m.Loss != yggdrasil.SquaredError || !m.Boosted || !slices.Equal(m.Initial, []float32{0.125}) {
		t.Errorf("got task %d, loss %d, initial predictions %v", m.Task, m.Loss, m.Initial)
	}
	want := []yggdrasil.Test{yggdrasil.Higher, yggdrasil.AnyOf, yggdrasil.AnyBit, yggdrasil.True, yggdrasil.HigherBin, yggdrasil.Oblique, yggdrasil.Missing}
	for i, root := range m.Roots {
		n := m.Nodes[root]
		if n.Test != want[i] || n.Positive != root+2 || !n.WhenNA || m.Nodes[root+1].Value != -1 || m.Nodes[root+2].Value != 1 {
			t.Errorf("tree %d: got %+v, expected test %d with leaves -1 and 1", i, n, want[i])
		}
	}
	if n := m.Nodes[m.Roots[1]]; !slices.Equal(m.Elements[n.First:n.End], []int32{1, 3, 7}) {
		t.Errorf("elements are %v, expected them in order", m.Elements[n.First:n.End])
	}
	if n := m.Nodes[m.Roots[4]]; n.Threshold != 2.5 {
		t.Errorf("bin 3 begins at %v, expected 2.5", n.Threshold)
	}
	if n := m.Nodes[m.Roots[5]]; !n.Replaces || m.Weights[n.FirstWeight] != 2 || m.Weights[n.FirstWeight+1] != 7 {
		t.Errorf("weights %v from %d, expected 2 and the replacement 7", m.Weights, n.FirstWeight)
	}
	if c := m.Columns[5]; !slices.Equal(c.Boundaries, []float32{-1, 0, 2.5}) || m.Columns[1].Mean != 0.5 || m.Columns[4].False != 4 || m.Columns[2].MostFrequent != 2 || m.Columns[2].Categories != 9 {
		t.Errorf("got columns %+v", m.Columns)
	}
}

// TestCompressed: a tree may continue in the next file, and files may be compressed.
func TestCompressed(t *testing.T) {
	m := all()
	m["gradient_boosted_trees_header.pb"] = message{}.int(1, 1).int(2, 1).int(3, 2).float(4, 0).bytes(7, []byte("BLOB_SEQUENCE_GZIP"))
	m["nodes-00000-of-00001"] = blobs(zipped, condition(1, 2, message{}.float(1, 1.5)), leaf(3), leaf(4))
	got, err := m.read()
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Nodes) != 3 || got.Nodes[2].Value != 4 {
		t.Errorf("got %+v", got.Nodes)
	}
	m["nodes-00000-of-00001"] = m["nodes-00000-of-00001"][:20]
	if _, err := m.read(); err == nil {
		t.Error("a compressed file that is cut off was read")
	}
}

// TestDamaged: a file with contradictions is refused, and the error says why.
func TestDamaged(t *testing.T) {
	nodes := func(n ...message) files {
		return edit("nodes-00000-of-00002", func([]byte) []byte { return blobs(plain, n...) })
	}
	header := func(h message) files { return edit("header.pb", func([]byte) []byte { return h }) }
	trees := func(h message) files {
		return edit("gradient_boosted_trees_header.pb", func([]byte) []byte { return h })
	}
	spec := func(s message) files {
		return edit("data_spec.pb", func(old []byte) []byte { return append(old, s...) })
	}
	abstract := message{}.bytes(1, []byte("GRADIENT_BOOSTED_TREES")).int(2, 2).int(3, 0)
	for want, m := range map[string]files{
		"ISOLATION_FOREST":    header(message{}.bytes(1, []byte("ISOLATION_FOREST"))),
		"label: column 9":     header(message{}.bytes(1, []byte("RANDOM_FOREST")).int(2, 2).int(3, 9)),
		"feature: column -1":  header(abstract.int(5, -1)),
		"twice a feature":     header(abstract.int(5, 1).int(5, 1)),
		"expected categories": header(message{}.bytes(1, []byte("RANDOM_FOREST")).int(2, 1).int(3, 0)),
		"task 9":              header(message{}.bytes(1, []byte("RANDOM_FOREST")).int(2, 9).int(3, 0)),
		"got categories":      header(message{}.bytes(1, []byte("RANDOM_FOREST")).int(2, 2).int(3, 2)),
		"kind 8 is not supported": func() files {
			m := spec(message{}.bytes(1, message{}.int(1, 8)))
			m["header.pb"] = abstract.int(5, 6)
			return m
		}(),
		"categories":                        spec(message{}.bytes(1, message{}.bytes(6, message{}.int(2, -5)))),
		"damaged message":                   edit("data_spec.pb", func(b []byte) []byte { return b[:len(b)-1] }),
		"file does not exist":               trees(message{}.int(1, 9).int(2, 1).int(3, 2).float(4, 0).bytes(7, []byte("BLOB_SEQUENCE"))),
		`format "TFE_RECORDIO"`:             trees(message{}.int(1, 1).int(2, 1).int(3, 2).float(4, 0)),
		"loss 1 of task 2":                  trees(message{}.int(1, 1).int(2, 1).int(3, 1).float(4, 0)),
		"no initial prediction":             trees(message{}.int(1, 1).int(2, 1).int(3, 2)),
		"-1 trees":                          trees(message{}.int(1, 1).int(2, -1).int(3, 2).float(4, 0).bytes(7, []byte("BLOB_SEQUENCE"))),
		"the nodes end within tree":         trees(message{}.int(1, 2).int(2, 70).int(3, 2).float(4, 0).bytes(7, []byte("BLOB_SEQUENCE"))),
		"version 7":                         edit("nodes-00000-of-00002", func(b []byte) []byte { b[2] = 7; return b }),
		"compression 3":                     edit("nodes-00000-of-00002", func(b []byte) []byte { b[2], b[4] = 1, 3; return b }),
		"expected a blob sequence":          edit("nodes-00000-of-00002", func(b []byte) []byte { b[0] = 'X'; return b }),
		"header of a blob sequence":         edit("nodes-00000-of-00002", func([]byte) []byte { return nil }),
		"unexpected EOF":                    edit("nodes-00001-of-00002", func(b []byte) []byte { return b[:len(b)-1] }),
		"blob of":                           edit("nodes-00000-of-00002", func(b []byte) []byte { b[11] = 0xff; return b }),
		"node 0: column 77":                 nodes(condition(77, 2, nil)),
		`column "label" is not a feature`:   nodes(condition(0, 2, nil)),
		"condition of kind 2 on column":     nodes(condition(2, 2, nil)),
		"condition of kind 6":               nodes(condition(5, 6, message{}.int(1, 4))),
		"condition of kind 0":               nodes(condition(1, 99, nil)),
		"has 1 weights and 0":               nodes(condition(1, 7, message{}.bytes(1, []byte{1, 1}).packed(2, 2))),
		"has 1 weights and 2 replacements":  nodes(condition(1, 7, message{}.bytes(1, []byte{1}).packed(2, 2).packed(4, 1, 2))),
		"oblique condition of column":       nodes(condition(1, 7, message{}.bytes(1, []byte{2}).packed(2, 2))),
		"column 100: expected less than 6":  nodes(condition(1, 7, message{}.bytes(1, []byte{100}).packed(2, 2))),
		"nodes-00000-of-00002: node 0: dam": nodes(message{0x1a, 5}),
	} {
		if _, err := m.read(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

// TestReserve: memory is reserved before it is taken, and a refusal ends reading.
func TestReserve(t *testing.T) {
	m, full := all(), errors.New("full")
	for name := range m {
		if strings.HasPrefix(name, "nodes") {
			many := make([]message, 0, 1<<13)
			for range 1 << 13 {
				many = append(many, leaf(1))
			}
			m[name] = blobs(plain, many...)
		}
	}
	m["gradient_boosted_trees_header.pb"] = message{}.int(1, 2).int(2, 1<<14).int(3, 2).float(4, 0).bytes(7, []byte("BLOB_SEQUENCE"))
	held := 0
	_, err := yggdrasil.Read(yggdrasil.Source{Open: m.open, Reserve: func(n int) error {
		if held += n; held > 1<<18 {
			return full
		}
		return nil
	}})
	if !errors.Is(err, full) {
		t.Errorf("got %v, expected that memory is full", err)
	}
}

func FuzzRead(f *testing.F) {
	m := all()
	names := []string{"header.pb", "data_spec.pb", "gradient_boosted_trees_header.pb", "nodes-00000-of-00002", "nodes-00001-of-00002"}
	f.Add(m[names[0]], m[names[1]], m[names[2]], m[names[3]], m[names[4]])
	f.Fuzz(func(t *testing.T, a, b, c, d, e []byte) {
		m := files{names[0]: a, names[1]: b, names[2]: c, "random_forest_header.pb": c, names[3]: d, names[4]: e}
		got, err := m.read()
		if err != nil {
			return
		}
		for i, n := range got.Nodes {
			if n.Test != yggdrasil.Leaf && (int(n.Positive) <= i || int(n.Positive) >= len(got.Nodes)) {
				t.Fatalf("node %d has its positive child at %d of %d", i, n.Positive, len(got.Nodes))
			}
		}
	})
}
