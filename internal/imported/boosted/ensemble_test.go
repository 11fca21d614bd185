package boosted

import (
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/treeensemble"
	"google.golang.org/protobuf/proto"
)

func leafNode(v ...float32) *treeensemble.Node {
	l := &treeensemble.Leaf{Vector: &treeensemble.Vector{Value: v}}
	if len(v) == 1 {
		l = &treeensemble.Leaf{Scalar: v[0]}
	}
	return &treeensemble.Node{Node: &treeensemble.Node_Leaf{Leaf: l}}
}

func splitNode(s *treeensemble.BucketizedSplit) *treeensemble.Node {
	return &treeensemble.Node{Node: &treeensemble.Node_BucketizedSplit{BucketizedSplit: s}}
}

func serialized(t *testing.T, e *treeensemble.TreeEnsemble) []byte {
	t.Helper()
	data, err := proto.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestDamagedEnsembles: trees that would loop, leave their nodes or have no values are refused.
func TestDamagedEnsembles(t *testing.T) {
	one := []float32{1}
	for name, c := range map[string]struct {
		nodes   []*treeensemble.Node
		weights []float32
		want    string
	}{
		"no nodes":         {nil, one, "expected a root"},
		"no kind":          {[]*treeensemble.Node{{}}, one, "expected a leaf or a split"},
		"itself":           {[]*treeensemble.Node{splitNode(&treeensemble.BucketizedSplit{LeftId: 0, RightId: 1}), leafNode(1)}, one, "child 0: expected 1 to 1"},
		"beyond":           {[]*treeensemble.Node{splitNode(&treeensemble.BucketizedSplit{LeftId: 1, RightId: 2}), leafNode(1)}, one, "child 2"},
		"negative feature": {[]*treeensemble.Node{splitNode(&treeensemble.BucketizedSplit{FeatureId: -1, LeftId: 1, RightId: 2}), leafNode(1), leafNode(2)}, one, "got -1"},
		"widths":           {[]*treeensemble.Node{splitNode(&treeensemble.BucketizedSplit{LeftId: 1, RightId: 2}), leafNode(1), leafNode(1, 2)}, one, "expected a leaf of 1 values, got 2"},
		"no values":        {[]*treeensemble.Node{leafNode()}, one, "expected a leaf of 1 values, got 0"},
		"no weight":        {[]*treeensemble.Node{leafNode(1)}, nil, "expected a weight"},
	} {
		_, err := Parse(serialized(t, &treeensemble.TreeEnsemble{Trees: []*treeensemble.Tree{{Nodes: c.nodes}}, TreeWeights: c.weights}))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, expected %q", name, err, c.want)
		}
	}
	if _, err := Parse([]byte{0xff}); err == nil {
		t.Error("a damaged message was taken")
	}
	if e, err := Parse(nil); err != nil || e.Trees() != 0 || e.Width() != 0 {
		t.Errorf("no trees: got %v, %v", e, err)
	}
}

// TestCheck: splits on features that are not given are refused before any row is read.
func TestCheck(t *testing.T) {
	e, err := Parse(serialized(t, &treeensemble.TreeEnsemble{Trees: []*treeensemble.Tree{{Nodes: []*treeensemble.Node{
		splitNode(&treeensemble.BucketizedSplit{FeatureId: 1, DimensionId: 1, LeftId: 1, RightId: 2}), leafNode(1), leafNode(2)}}}, TreeWeights: []float32{1}}))
	if err != nil {
		t.Fatal(err)
	}
	two := Feature{Values: []int32{0, 5}, Columns: 2}
	if err := e.Check([]Feature{two, two}); err != nil {
		t.Error(err)
	}
	if err := e.Check([]Feature{two}); err == nil || !strings.Contains(err.Error(), "feature 1") {
		t.Errorf("a feature that is not given: %v", err)
	}
	if err := e.Check([]Feature{two, {Values: []int32{0}, Columns: 1}}); err == nil || !strings.Contains(err.Error(), "dimension 1") {
		t.Errorf("a dimension that is not given: %v", err)
	}
}

func TestBucket(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		boundaries []float32
		v          float32
		want       int32
	}{{nil, 3, 0}, {[]float32{1, 2}, 0, 0}, {[]float32{1, 2}, 1, 0}, {[]float32{1, 2}, 1.5, 1}, {[]float32{1, 2}, 2, 1}, {[]float32{1, 2}, inf, 1}, {[]float32{1, 2}, -inf, 0}, {[]float32{1, 2}, nan, 0}} {
		if got := Bucket(c.boundaries, c.v); got != c.want {
			t.Errorf("%v among %v: got bucket %d, expected %d", c.v, c.boundaries, got, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	data, err := proto.Marshal(&treeensemble.TreeEnsemble{Trees: []*treeensemble.Tree{{Nodes: []*treeensemble.Node{splitNode(&treeensemble.BucketizedSplit{LeftId: 1, RightId: 2}), leafNode(1), leafNode(2)}}}, TreeWeights: []float32{1}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := Parse(data)
		features := []Feature{{Values: []int32{1, 2}, Columns: 2}}
		if err == nil && e.Check(features) == nil {
			e.Logits(features, 0, make([]float32, e.Width()))
		}
	})
}
