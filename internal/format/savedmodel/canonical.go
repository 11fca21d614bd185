package savedmodel

import (
	"maps"
	"slices"

	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// TensorFlow computes fingerprints of messages with their fields in order, as C++
// writes them. Go writes the fields of a oneof last; in SavedModels this affects the
// TensorInfos of signatures and assets.

var deterministic = proto.MarshalOptions{Deterministic: true}

// wire is a message being built; the first error sticks.
type wire struct {
	b   []byte
	err error
}

func (w *wire) bytes(field protowire.Number, b []byte) {
	w.b = protowire.AppendBytes(protowire.AppendTag(w.b, field, protowire.BytesType), b)
}

// message adds the fields of m.
func (w *wire) message(m proto.Message) {
	if w.err == nil {
		w.b, w.err = deterministic.MarshalAppend(w.b, m)
	}
}

// canonicalModel returns a SavedModel's bytes.
func canonicalModel(graphs []*pb.MetaGraphDef) ([]byte, error) {
	w := &wire{}
	w.message(&pb.SavedModel{SavedModelSchemaVersion: schemaVersion})
	for _, g := range graphs {
		inner := &wire{}
		inner.message(&pb.MetaGraphDef{MetaInfoDef: g.MetaInfoDef, GraphDef: g.GraphDef, SaverDef: g.SaverDef, CollectionDef: g.CollectionDef})
		for _, key := range slices.Sorted(maps.Keys(g.SignatureDef)) {
			inner.entry(5, key, func(e *wire) { e.signature(g.SignatureDef[key]) })
		}
		for _, a := range g.AssetFileDef {
			asset := &wire{}
			if a.TensorInfo != nil {
				info := &wire{}
				info.tensorInfo(a.TensorInfo)
				asset.bytes(1, info.b)
			}
			asset.message(&pb.AssetFileDef{Filename: a.Filename})
			inner.bytes(6, asset.b)
		}
		inner.message(&pb.MetaGraphDef{ObjectGraphDef: g.ObjectGraphDef})
		if inner.err != nil {
			return nil, inner.err
		}
		w.bytes(2, inner.b)
	}
	return w.b, w.err
}

// entry adds an entry of a map of messages.
func (w *wire) entry(field protowire.Number, key string, value func(*wire)) {
	entry, v := &wire{}, &wire{}
	entry.bytes(1, []byte(key))
	if value(v); v.err != nil && w.err == nil {
		w.err = v.err
	}
	entry.bytes(2, v.b)
	w.bytes(field, entry.b)
}

func (w *wire) signature(s *pb.SignatureDef) {
	for i, tensors := range []map[string]*pb.TensorInfo{s.GetInputs(), s.GetOutputs()} {
		for _, key := range slices.Sorted(maps.Keys(tensors)) {
			w.entry(protowire.Number(i+1), key, func(e *wire) { e.tensorInfo(tensors[key]) })
		}
	}
	w.message(&pb.SignatureDef{MethodName: s.GetMethodName(), Defaults: s.GetDefaults()})
}

// tensorInfo adds a TensorInfo, with a name first if that is its encoding.
func (w *wire) tensorInfo(t *pb.TensorInfo) {
	rest := &pb.TensorInfo{Dtype: t.GetDtype(), TensorShape: t.GetTensorShape()}
	if _, ok := t.GetEncoding().(*pb.TensorInfo_Name); ok {
		w.message(&pb.TensorInfo{Encoding: t.Encoding})
		w.message(rest)
		return
	}
	w.message(rest)
	w.message(&pb.TensorInfo{Encoding: t.GetEncoding()})
}
