package savedmodel

import (
	"maps"
	"slices"

	"github.com/goestimator/goestimator/internal/imported/fingerprint"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/versions_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// fingerprintVersion is the version of the fingerprint algorithm.
const fingerprintVersion = 1

// fingerprintOf returns the fingerprint of a model, as TensorFlow computes it
// (tensorflow/cc/saved_model/fingerprinting.cc): hashes of its file, of its first graph without what
// varies between platforms, of the signatures, sorted by name, and of the variables' index.
func fingerprintOf(file []byte, g *pb.MetaGraphDef, index []byte) ([]byte, error) {
	program, err := programHash(g.GetGraphDef())
	if err != nil {
		return nil, err
	}
	signatures, err := signatureHash(g.GetSignatureDef())
	if err != nil {
		return nil, err
	}
	def := &pb.FingerprintDef{SavedModelChecksum: fingerprint.Hash64(file), GraphDefProgramHash: program, SignatureDefHash: signatures,
		Version: &versions_go_proto.VersionDef{Producer: fingerprintVersion}}
	if index != nil {
		def.CheckpointHash = fingerprint.Hash64(index)
	}
	return deterministic.Marshal(def)
}

// programHash leaves out string values, the functions, and versions.
func programHash(gd *graph_go_proto.GraphDef) (uint64, error) {
	plain := &graph_go_proto.GraphDef{Library: &function_go_proto.FunctionDefLibrary{}, Versions: &versions_go_proto.VersionDef{}}
	for _, n := range gd.GetNode() {
		if n.GetOp() == "Const" && n.GetAttr()["dtype"].GetType() == types_go_proto.DataType_DT_STRING {
			attrs := maps.Clone(n.GetAttr())
			attrs["value"] = &attr_value_go_proto.AttrValue{}
			n = &node_def_go_proto.NodeDef{Name: n.GetName(), Op: n.GetOp(), Input: n.GetInput(), Device: n.GetDevice(), Attr: attrs}
		}
		plain.Node = append(plain.Node, n)
	}
	b, err := deterministic.Marshal(plain)
	return fingerprint.Hash64(b), err
}

func signatureHash(signatures map[string]*pb.SignatureDef) (uint64, error) {
	h := uint64(0)
	for _, key := range slices.Sorted(maps.Keys(signatures)) {
		w := &wire{}
		if w.signature(signatures[key]); w.err != nil {
			return 0, w.err
		}
		h = fingerprint.Cat64(fingerprint.Cat64(h, fingerprint.Hash64([]byte(key))), fingerprint.Hash64(w.b))
	}
	return h, nil
}
