package boosted_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/format/treeensemble"
	"github.com/goestimator/goestimator/internal/imported/boosted"
	"google.golang.org/protobuf/proto"
)

func Example() {
	leaf := func(v float32) *treeensemble.Node {
		return &treeensemble.Node{Node: &treeensemble.Node_Leaf{Leaf: &treeensemble.Leaf{Scalar: v}}}
	}
	split := &treeensemble.Node{Node: &treeensemble.Node_BucketizedSplit{BucketizedSplit: &treeensemble.BucketizedSplit{Threshold: 2, LeftId: 1, RightId: 2}}}
	data, err := proto.Marshal(&treeensemble.TreeEnsemble{Trees: []*treeensemble.Tree{{Nodes: []*treeensemble.Node{split, leaf(-1), leaf(4)}}}, TreeWeights: []float32{0.5}})
	if err != nil {
		panic(err)
	}
	e, err := boosted.Parse(data)
	if err != nil {
		panic(err)
	}
	ages := []boosted.Feature{{Values: []int32{2, 3}, Columns: 1}}
	for row := range 2 {
		logits := make([]float32, e.Width())
		e.Logits(ages, row, logits)
		fmt.Println(logits)
	}
	// Output:
	// [-0.5]
	// [2]
}
