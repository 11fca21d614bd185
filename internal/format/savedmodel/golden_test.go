package savedmodel_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/testkit"
	"google.golang.org/protobuf/proto"
)

// Each SavedModel of TensorFlow is read, written and read again with all
// parts equal; its graphs are also converted to the intermediate representation and back.
func TestGoldens(t *testing.T) {
	root := testkit.Shared(t, "golden/tensorflow-serving")
	files, err := filepath.Glob(filepath.Join(root, "*", "*", savedmodel.BinaryFile))
	if err != nil || len(files) < 7 {
		t.Fatalf("%d SavedModels, %v: expected at least 7", len(files), err)
	}
	for _, f := range files {
		dir := filepath.Dir(f)
		t.Run(strings.TrimPrefix(dir, root+"/"), func(t *testing.T) { roundTrip(t, dir) })
	}
}

func roundTrip(t *testing.T, dir string) {
	m, err := savedmodel.Read(dir, savedmodel.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := m.MetaGraph("serve")
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Signatures) == 0 {
		t.Error("no signatures")
	}
	gd, err := graphdef.ToGraphDef(g.Graph)
	if err != nil || !proto.Equal(gd, g.Proto.GetGraphDef()) {
		t.Errorf("the graph is not the same after the intermediate representation (%v)", err)
	}
	w := savedmodel.Writing{MetaGraphs: m.Proto.GetMetaGraphs(), Assets: map[string][]byte{}}
	for _, a := range g.Assets {
		if w.Assets[filepath.Base(a.Path)], err = os.ReadFile(a.Path); err != nil {
			t.Error(err)
		}
	}
	r, err := g.Variables()
	if err != nil {
		t.Fatal(err)
	}
	if r != nil {
		defer r.Close()
		if err := r.Verify(); err != nil {
			t.Error(err)
		}
		w.Variables = func(b *bundle.Writer) error { return copyTensors(b, r) }
	}
	again, err := savedmodel.Write(atomicfile.OS{}, t.TempDir(), 123, w)
	if err != nil {
		t.Fatal(err)
	}
	m2, err := savedmodel.Read(again, savedmodel.Limits{})
	if err != nil || !proto.Equal(m2.Proto, m.Proto) {
		t.Fatalf("not the same after writing (%v)", err)
	}
	g2, err := m2.MetaGraph("serve")
	if err != nil || !slices.Equal(g2.InitOps, g.InitOps) || len(g2.Assets) != len(g.Assets) {
		t.Fatalf("init ops %v, assets %v (%v): want %v, %v", g2.InitOps, g2.Assets, err, g.InitOps, g.Assets)
	}
	for i, a := range g2.Assets {
		x, err1 := os.ReadFile(a.Path)
		y, err2 := os.ReadFile(g.Assets[i].Path)
		if err1 != nil || err2 != nil || !bytes.Equal(x, y) {
			t.Errorf("asset %s differs (%v, %v)", a.Path, err1, err2)
		}
	}
}

func copyTensors(b *bundle.Writer, r *bundle.Reader) error {
	for _, i := range r.List() {
		x, err := r.Tensor(i.Name)
		if err != nil {
			return err
		}
		if err := b.Add(i.Name, x); err != nil {
			return err
		}
	}
	return nil
}

// A file that is truncated anywhere is an error, or a smaller model.
func TestTruncated(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(testkit.Shared(t, "golden/tensorflow-serving"), "saved_model_half_plus_two_cpu", "00000123", savedmodel.BinaryFile))
	if err != nil {
		t.Fatal(err)
	}
	bad := 0
	for i := range 200 {
		if _, err := open(on(t, savedmodel.BinaryFile, b[:i*len(b)/200])); err != nil {
			bad++
		}
	}
	if bad < 190 {
		t.Errorf("%d of 200 parts of a file were taken for a whole", 200-bad)
	}
}
