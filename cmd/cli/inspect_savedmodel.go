package cli

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/platform/printable"
	"github.com/goestimator/goestimator/tensor"
	"github.com/spf13/cobra"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

func (a *app) inspectSavedModelCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "savedmodel DIR",
		Short: "list signatures, variables, assets and ops of a SavedModel",
		Long: `Reads a SavedModel, ours or TensorFlow's, and lists of each of its graphs the
signatures with their tensors, the variables, the assets and the ops. DIR is its
folder, or the folder of its versions: then the newest is meant. Of a folder with an
ONNX model it lists inputs, outputs, constants and operators.`,
		Example: `  goestimator inspect savedmodel exports/glyphs
  goestimator inspect savedmodel exports/glyphs/1795251262 --json`,
		Args: onePath,
		RunE: func(_ *cobra.Command, args []string) error {
			info, err := describeSavedModel(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(info)
			}
			_, err = fmt.Fprint(a.stdout, info)
			return err
		},
	}
	addJSONFlag(cmd, &asJSON)
	return cmd
}

// savedModelInfo describes a SavedModel, as printed.
type savedModelInfo struct {
	Path   string          `json:"path"`
	Bytes  int64           `json:"bytes"`            // of all files
	Format string          `json:"format,omitempty"` // "": a SavedModel
	Graphs []metaGraphInfo `json:"graphs"`
}

type metaGraphInfo struct {
	Tags       []string        `json:"tags"`
	Signatures []signatureInfo `json:"signatures"`
	Variables  []tensorInfo    `json:"variables"`
	Assets     []string        `json:"assets"`
	Nodes      int             `json:"nodes"` // without the nodes of functions
	Ops        map[string]int  `json:"ops"`
}

type signatureInfo struct {
	Key     string          `json:"key"`
	Method  string          `json:"method"`
	Inputs  []signatureSlot `json:"inputs"`
	Outputs []signatureSlot `json:"outputs"`
}

type signatureSlot struct {
	Name   string `json:"name"`
	DType  string `json:"dtype"`
	Shape  string `json:"shape"`
	Tensor string `json:"tensor"`
}

func describeSavedModel(path string) (*savedModelInfo, error) {
	dir, err := newestVersion(path)
	if err != nil {
		return nil, err
	}
	if session.IsONNX(dir) {
		return describeONNX(dir)
	}
	m, err := savedmodel.Read(dir, savedmodel.Limits{})
	if err != nil {
		return nil, err
	}
	info := &savedModelInfo{Path: dir, Graphs: []metaGraphInfo{}}
	if info.Bytes, err = folderSize(dir); err != nil {
		return nil, err
	}
	for _, p := range m.Proto.GetMetaGraphs() {
		g, err := m.MetaGraph(p.GetMetaInfoDef().GetTags()...)
		if err != nil {
			return nil, err
		}
		d, err := describeMetaGraph(g)
		if err != nil {
			return nil, err
		}
		info.Graphs = append(info.Graphs, d)
	}
	return info, nil
}

// newestVersion returns path itself, or its subfolder with the highest number.
func newestVersion(path string) (string, error) {
	for _, name := range []string{savedmodel.BinaryFile, savedmodel.TextFile, onnx.File} {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			return path, nil
		}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	newest, name := int64(-1), ""
	for _, f := range entries {
		if n, err := strconv.ParseInt(f.Name(), 10, 64); err == nil && n > newest && f.Name()[0] != '+' {
			newest, name = n, f.Name()
		}
	}
	if name == "" {
		return "", fmt.Errorf("%s is no SavedModel: expected %s in it, or folders of versions", path, savedmodel.BinaryFile)
	}
	return filepath.Join(path, name), nil
}

func folderSize(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}

func describeMetaGraph(g *savedmodel.MetaGraph) (metaGraphInfo, error) {
	d := metaGraphInfo{Tags: g.Tags, Signatures: []signatureInfo{}, Variables: []tensorInfo{}, Assets: []string{}, Ops: map[string]int{}}
	for _, n := range g.Graph.Nodes() {
		d.Nodes++
		d.Ops[n.Op]++
	}
	for _, a := range g.Assets {
		d.Assets = append(d.Assets, filepath.Base(a.Path))
	}
	for _, key := range slices.Sorted(maps.Keys(g.Signatures)) {
		s := g.Signatures[key]
		d.Signatures = append(d.Signatures, signatureInfo{Key: key, Method: s.GetMethodName(), Inputs: signatureSlots(s.GetInputs()), Outputs: signatureSlots(s.GetOutputs())})
	}
	r, err := g.Variables()
	if err != nil || r == nil {
		return d, err
	}
	defer r.Close()
	for _, i := range r.List() {
		d.Variables = append(d.Variables, tensorInfo{i.Name, i.DType.String(), i.Shape, i.Bytes})
	}
	return d, nil
}

func signatureSlots(tensors map[string]*pb.TensorInfo) []signatureSlot {
	out := []signatureSlot{}
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		t := tensors[name]
		shape := "unknown rank"
		if s := t.GetTensorShape(); s != nil && !s.GetUnknownRank() {
			dims := make([]string, len(s.GetDim()))
			for i, d := range s.GetDim() {
				dims[i] = fmt.Sprint(d.GetSize())
			}
			shape = "[" + strings.Join(dims, " ") + "]"
		}
		out = append(out, signatureSlot{Name: name, DType: typeName(tensor.DType(t.GetDtype())), Shape: shape, Tensor: t.GetName()})
	}
	return out
}

// refTypes is the offset of the enum values of reference types (variables of TensorFlow 1) from their element types.
const refTypes = 100

func typeName(d tensor.DType) string {
	if d > refTypes {
		return (d - refTypes).String() + "_ref"
	}
	return d.String()
}

// String shows the model as text.
func (i *savedModelInfo) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s, %s bytes\n", cmp.Or(i.Format, "SavedModel"), i.Path, group(i.Bytes))
	for _, g := range i.Graphs {
		fmt.Fprintf(&b, "\ngraph %s: %d nodes\n", printable.Text(strings.Join(g.Tags, ",")), g.Nodes)
		for _, s := range g.Signatures {
			fmt.Fprintf(&b, "\nsignature %s (%s)\n", printable.Text(s.Key), printable.Text(s.Method))
			t := newTextTable("", "name", "type", "shape", "tensor")
			for _, x := range s.Inputs {
				t.add("input", x.Name, x.DType, x.Shape, x.Tensor)
			}
			for _, x := range s.Outputs {
				t.add("output", x.Name, x.DType, x.Shape, x.Tensor)
			}
			b.WriteString(t.String())
		}
		if len(g.Variables) > 0 {
			b.WriteString("\n")
			t := newTextTable("variable", "type", "shape", "bytes")
			t.right(3)
			total := int64(0)
			for _, v := range g.Variables {
				total += v.Bytes
				t.add(v.Name, v.DType, shapeText(v.Shape), group(v.Bytes))
			}
			t.add(fmt.Sprintf("total: %d", len(g.Variables)), "", "", group(total))
			b.WriteString(t.String())
		}
		if len(g.Assets) > 0 {
			fmt.Fprintf(&b, "\nassets: %s\n", printable.Text(strings.Join(g.Assets, ", ")))
		}
		fmt.Fprintf(&b, "\nops: %s\n", printable.Text(countedOps(g.Ops)))
	}
	return b.String()
}

// countedOps is "Const 12, MatMul 3": the most frequent first.
func countedOps(ops map[string]int) string {
	names := slices.SortedFunc(maps.Keys(ops), func(a, b string) int {
		if d := ops[b] - ops[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for i, n := range names {
		names[i] = fmt.Sprintf("%s %d", n, ops[n])
	}
	return strings.Join(names, ", ")
}
