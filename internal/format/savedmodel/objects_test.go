package savedmodel

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/encoding/prototext"
)

// objectGraphs reads the objects of a model and of its checkpoint.
func objectGraphs(t *testing.T, model, checkpoint string) ([]*pb.SavedObject, []*pb.TrackableObjectGraph_TrackableObject) {
	t.Helper()
	saved, stored := &pb.SavedObjectGraph{}, &pb.TrackableObjectGraph{}
	if err := prototext.Unmarshal([]byte(model), saved); err != nil {
		t.Fatal(err)
	}
	if err := prototext.Unmarshal([]byte(checkpoint), stored); err != nil {
		t.Fatal(err)
	}
	return saved.GetNodes(), stored.GetNodes()
}

// TestKeysOfObjects: graphs may have cycles, objects numbered differently on both sides, and missing children.
func TestKeysOfObjects(t *testing.T) {
	saved, stored := objectGraphs(t, `
		nodes { children { node_id: 2 local_name: "a" } children { node_id: 1 local_name: "b" } children { node_id: -1 local_name: "c" } }
		nodes { children { node_id: 3 local_name: "w" } children { node_id: 0 local_name: "up" } children { node_id: 9 local_name: "gone" } }
		nodes { children { node_id: 4 local_name: "w" } children { node_id: 1 local_name: "next" } }
		nodes { }
		nodes { children { node_id: 5 local_name: "unknown" } }
		nodes { }`, `
		nodes { children { node_id: 1 local_name: "a" } children { node_id: 2 local_name: "b" } children { node_id: 3 local_name: "c" } }
		nodes { children { node_id: 3 local_name: "w" } children { node_id: 2 local_name: "next" } }
		nodes { children { node_id: 4 local_name: "w" } children { node_id: 7 local_name: "up" } children { node_id: 1 local_name: "gone" } }
		nodes { attributes { name: "VARIABLE_VALUE" checkpoint_key: "a/w" } }
		nodes { attributes { name: "VARIABLE_VALUE" checkpoint_key: "b/w" } }`)
	got := keysOfObjects(saved, stored)
	maps.DeleteFunc(got, func(_ int32, key string) bool { return key == "" })
	if want := map[int32]string{3: "b/w", 4: "a/w"}; !maps.Equal(got, want) {
		t.Errorf("got %v, expected %v", got, want)
	}
	if got := keysOfObjects(saved, nil); len(got) > 0 {
		t.Errorf("a checkpoint without objects: got %v", got)
	}
}

// TestKeysOfManyObjects: an object that all others share is read once; reading it for each would take minutes.
func TestKeysOfManyObjects(t *testing.T) {
	testkit.NotConcurrent(t)
	const n = 50_000
	var model, checkpoint strings.Builder
	model.WriteString("nodes {")
	checkpoint.WriteString("nodes {")
	for i := range n {
		fmt.Fprintf(&model, " children { node_id: %d local_name: \"%d\" }", i+1, i)
		fmt.Fprintf(&checkpoint, " children { node_id: 1 local_name: \"%d\" }", i)
	}
	model.WriteString(" }" + strings.Repeat(" nodes { }", n))
	checkpoint.WriteString(" } nodes { " + strings.Repeat("children { node_id: 0 local_name: \"x\" }", n) + " attributes { name: \"VARIABLE_VALUE\" checkpoint_key: \"k\" } }")
	saved, stored := objectGraphs(t, model.String(), checkpoint.String())
	if got := keysOfObjects(saved, stored); got[n] != "k" {
		t.Errorf("got %q, expected k", got[n])
	}
}
