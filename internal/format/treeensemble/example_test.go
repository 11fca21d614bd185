package treeensemble_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/format/treeensemble"
	"google.golang.org/protobuf/proto"
)

func Example() {
	leaf := &treeensemble.Node{Node: &treeensemble.Node_Leaf{Leaf: &treeensemble.Leaf{Scalar: 0.5}}}
	data, err := proto.Marshal(&treeensemble.TreeEnsemble{Trees: []*treeensemble.Tree{{Nodes: []*treeensemble.Node{leaf}}}, TreeWeights: []float32{1}})
	fmt.Printf("%x %v\n", data, err)
	// Output: 0a090a070a051d0000003f12040000803f <nil>
}
