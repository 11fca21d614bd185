package savedmodel

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/format/bundle"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"
)

const (
	objectGraphKey = "_CHECKPOINTABLE_OBJECT_GRAPH" // in a checkpoint: a TrackableObjectGraph
	variableValue  = "VARIABLE_VALUE"               // the attribute of an object with a variable's value
)

// VariableKeys finds the values of variables through the objects of the program that saved the model, like TensorFlow 2. It returns
// checkpoint keys by the names of the nodes that hold the variables: these nodes are the captured inputs of functions, and the model names
// the object of each. A model without objects has no keys.
func (g *MetaGraph) VariableKeys(r *bundle.Reader) (map[string]string, error) {
	objects := g.Proto.GetObjectGraphDef()
	if _, ok := r.Lookup(objectGraphKey); !ok || len(objects.GetNodes()) == 0 {
		return nil, nil
	}
	t, err := r.Tensor(objectGraphKey)
	if err != nil {
		return nil, err
	}
	stored := &pb.TrackableObjectGraph{}
	if len(t.Strings) != 1 {
		return nil, fmt.Errorf("%s: expected one string, got %d", objectGraphKey, len(t.Strings))
	}
	if err := proto.Unmarshal(t.Strings[0], stored); err != nil {
		return nil, fmt.Errorf("%s: %w", objectGraphKey, err)
	}
	keys := keysOfObjects(objects.GetNodes(), stored.GetNodes())
	out := map[string]string{}
	for node, object := range g.capturedObjects() {
		if key := keys[object]; key != "" {
			out[node] = key
		}
	}
	return out, nil
}

// capturedObjects returns the objects that nodes of the graph stand for, as far as function calls tell: their last inputs are the
// captured ones.
func (g *MetaGraph) capturedObjects() map[string]int32 {
	functions, out := g.Proto.GetObjectGraphDef().GetConcreteFunctions(), map[string]int32{}
	for _, n := range g.Proto.GetGraphDef().GetNode() {
		captured := functions[n.GetAttr()["f"].GetFunc().GetName()].GetBoundInputs()
		inputs := n.GetInput()
		for len(inputs) > 0 && strings.HasPrefix(inputs[len(inputs)-1], "^") {
			inputs = inputs[:len(inputs)-1]
		}
		if len(captured) > len(inputs) {
			continue
		}
		for i, input := range inputs[len(inputs)-len(captured):] {
			out[strings.TrimSuffix(input, ":0")] = captured[i]
		}
	}
	return out
}

// keysOfObjects follows the names of children from the roots of both graphs, and returns the keys of the objects' values.
func keysOfObjects(saved []*pb.SavedObject, stored []*pb.TrackableObjectGraph_TrackableObject) map[int32]string {
	if len(stored) == 0 {
		return nil
	}
	keys, partner, queue := map[int32]string{}, map[int32]int32{0: 0}, []int32{0}
	read := make([]*storedObject, len(stored)) // each is read once: many objects may map to the same one
	for ; len(queue) > 0; queue = queue[1:] {
		object := queue[0]
		at := partner[object]
		if read[at] == nil {
			read[at] = readStored(stored[at])
		}
		keys[object] = read[at].key
		for _, c := range saved[object].GetChildren() {
			id := c.GetNodeId()
			to, named := read[at].children[c.GetLocalName()]
			if _, known := partner[id]; known || !named || id < 0 || int(id) >= len(saved) || to < 0 || int(to) >= len(stored) {
				continue
			}
			partner[id] = to
			queue = append(queue, id)
		}
	}
	return keys
}

// storedObject is an object of a checkpoint.
type storedObject struct {
	key      string // of a variable's value
	children map[string]int32
}

func readStored(object *pb.TrackableObjectGraph_TrackableObject) *storedObject {
	out := &storedObject{children: map[string]int32{}}
	for _, a := range object.GetAttributes() {
		if a.GetName() == variableValue {
			out.key = a.GetCheckpointKey()
		}
	}
	for _, c := range object.GetChildren() {
		out.children[c.GetLocalName()] = c.GetNodeId()
	}
	return out
}
