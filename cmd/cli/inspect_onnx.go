package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
)

// describeONNX describes an ONNX model like a SavedModel with one graph, whose variables are the model's constants.
func describeONNX(dir string) (*savedModelInfo, error) {
	m, err := onnx.Read(dir)
	if err != nil {
		return nil, err
	}
	info := &savedModelInfo{Path: dir, Format: "ONNX model"}
	if info.Bytes, err = folderSize(dir); err != nil {
		return nil, err
	}
	g := metaGraphInfo{Tags: []string{}, Variables: []tensorInfo{}, Assets: []string{}, Ops: map[string]int{}, Nodes: len(m.Graph.Nodes)}
	for _, d := range slices.Sorted(maps.Keys(m.Opsets)) {
		name := d
		if d == "" {
			name = onnx.DefaultDomain
		}
		g.Tags = append(g.Tags, fmt.Sprintf("%s %d", name, m.Opsets[d]))
	}
	constants := map[string]bool{}
	for _, i := range m.Graph.Initializers {
		constants[i.Name] = true
		g.Variables = append(g.Variables, tensorInfo{i.Name, i.Tensor.DType.String(), i.Tensor.Shape, int64(i.Tensor.MemoryBytes())})
	}
	for _, n := range m.Graph.Nodes {
		g.Ops[strings.TrimPrefix(n.Domain+"."+n.Op, ".")]++
	}
	inputs := slices.DeleteFunc(slices.Clone(m.Graph.Inputs), func(v onnx.Value) bool { return constants[v.Name] })
	g.Signatures = []signatureInfo{{Key: savedmodel.DefaultSignature, Method: savedmodel.MethodPredict, Inputs: onnxSlots(inputs), Outputs: onnxSlots(m.Graph.Outputs)}}
	info.Graphs = []metaGraphInfo{g}
	return info, nil
}

func onnxSlots(values []onnx.Value) []signatureSlot {
	out := []signatureSlot{}
	for _, v := range values {
		shape := "unknown rank"
		if !v.Unranked {
			dims := make([]string, len(v.Dims))
			for i, d := range v.Dims {
				if dims[i] = fmt.Sprint(d.Size); d.Symbol != "" {
					dims[i] = d.Symbol
				}
			}
			shape = "[" + strings.Join(dims, " ") + "]"
		}
		kind := v.DType.String()
		if v.Kind != "" {
			kind, shape = v.Kind, ""
		}
		out = append(out, signatureSlot{Name: v.Name, DType: kind, Shape: shape, Tensor: v.Name})
	}
	return out
}
