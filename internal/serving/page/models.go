package page

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/platform/printable"
	"github.com/goestimator/goestimator/internal/platform/statustext"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/status"
)

// Model is one model with its versions, the newest first.
type Model struct {
	Name     string    `json:"name"`
	Versions []Version `json:"versions"`
}

// Version describes the state of a version. Numbers are text, since JavaScript's numbers do not hold 64 bits.
type Version struct {
	Version string `json:"version"`
	State   string `json:"state"`
	Error   string `json:"error,omitempty"`
	Usage   *Usage `json:"usage,omitempty"` // of an available version
	Calls   *Calls `json:"calls,omitempty"` // that the version answered
}

// Usage is the resources that a version uses.
type Usage struct {
	Memory int64   `json:"memory_bytes"`
	Queue  int     `json:"queue"`
	Uptime int64   `json:"uptime_seconds"` // since it became available
	Share  float64 `json:"traffic_share"`
	Shadow float64 `json:"shadow_share"`
}

// Server identifies the server.
type Server struct {
	Build  string `json:"build"`
	Uptime int64  `json:"uptime_seconds"`
}

func (p *Page) server() Server {
	return Server{p.o.About.Build, int64(time.Since(p.o.About.Started).Seconds())}
}

// usage is what the versions of a model use.
func (p *Page) usage(name string) map[int64]servable.Usage {
	if p.o.Meter == nil {
		return nil
	}
	return p.o.Meter.Usage(name)
}

var states = map[servable.State]string{
	servable.Start: "START", servable.Loading: "LOADING", servable.Available: "AVAILABLE", servable.Unloading: "UNLOADING", servable.End: "END",
}

func (p *Page) models() []Model {
	models := []Model{}
	p.versions.keep(p.o.Catalog)
	for _, name := range p.o.Catalog.Models() {
		m := Model{Name: name, Versions: []Version{}}
		usage := p.usage(name)
		for _, s := range p.o.Catalog.Status(name) {
			v := Version{Version: strconv.FormatInt(s.ID.Version, 10), State: states[s.State]}
			if s.Err != nil {
				v.Error = status.Convert(s.Err).Message()
			}
			if u, ok := usage[s.ID.Version]; ok {
				v.Usage = &Usage{u.Memory, u.Queue, int64(time.Since(u.Since).Seconds()), u.Share, u.Shadow}
			}
			v.Calls = p.versions.of(s.ID)
			m.Versions = append(m.Versions, v)
		}
		models = append(models, m)
	}
	return models
}

// Signature is an entry of the form: a way to call the model, with a sample request.
type Signature struct {
	Key     string   `json:"key"`
	Verb    string   `json:"verb"` // predict, classify or regress
	Inputs  []string `json:"inputs"`
	Outputs []string `json:"outputs"`
	Body    string   `json:"body"`
}

// signatures answers a request for ?model=m&version=n with the signatures of the version; by default the latest.
func (p *Page) signatures(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query() // not r.FormValue, which reads a body and keeps a large one in files
	v := servable.Version{Main: true}
	if text := query.Get("version"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			http.Error(w, "the version is no number", http.StatusBadRequest)
			return
		}
		v = servable.Version{Number: n, Exact: true}
	}
	h, err := p.o.Models.Acquire(query.Get("model"), v)
	if err != nil {
		http.Error(w, printable.Text(statustext.Convert(err).Message()), http.StatusNotFound)
		return
	}
	defer h.Release()
	list := []Signature{}
	for key, def := range h.Model().Signatures() {
		if !strings.HasPrefix(key, "__") { // TensorFlow's own, such as __saved_model_init_op
			list = append(list, describe(key, def, servable.FeaturesOf(h.Model(), key)))
		}
	}
	slices.SortFunc(list, func(a, b Signature) int {
		first := func(s Signature) bool { return s.Key == inference.DefaultSignature }
		if first(a) != first(b) {
			if first(a) {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Key, b.Key)
	})
	send(w, list)
}

func describe(key string, def *pb.SignatureDef, features []servable.Feature) Signature {
	s := Signature{Key: key, Verb: "predict", Inputs: tensors(def.GetInputs()), Outputs: tensors(def.GetOutputs())}
	body := map[string]any{}
	if len(features) > 0 {
		s.Inputs = nil
	}
	for _, f := range features {
		s.Inputs = append(s.Inputs, featureLine(f))
	}
	switch def.GetMethodName() {
	case inference.ClassifyMethod:
		s.Verb = "classify"
		body["examples"] = []any{sampleExample(features)}
	case inference.RegressMethod:
		s.Verb = "regress"
		body["examples"] = []any{sampleExample(features)}
	default:
		inputs := map[string]any{}
		for name, t := range def.GetInputs() {
			inputs[name] = sample(t)
		}
		body["inputs"] = inputs
	}
	if key != inference.DefaultSignature {
		body["signature_name"] = key
	}
	if b, err := json.MarshalIndent(body, "", "  "); err == nil {
		s.Body = string(b)
	}
	return s
}

// featureLine is a line such as "age: float32 [1]" that describes a feature of examples.
func featureLine(f servable.Feature) string {
	line := "feature " + f.Name + ": " + f.DType.String()
	if f.Sparse {
		return line + ", any number of values"
	}
	var dims []string
	for _, d := range f.Shape {
		if d < 0 {
			dims = append(dims, "?")
		} else {
			dims = append(dims, strconv.Itoa(d))
		}
	}
	return line + " [" + strings.Join(dims, ", ") + "]"
}

// sampleExample has a value for each feature.
func sampleExample(features []servable.Feature) map[string]any {
	example := map[string]any{}
	for _, f := range features {
		info := &pb.TensorInfo{Dtype: types_go_proto.DataType(f.DType), TensorShape: &tensor_shape_go_proto.TensorShapeProto{}}
		n := 1
		for _, d := range f.Shape {
			n = min(n*max(d, 1), 1000)
		}
		if n > 1 {
			info.TensorShape.Dim = append(info.TensorShape.Dim, &tensor_shape_go_proto.TensorShapeProto_Dim{Size: int64(n)})
		}
		example[f.Name] = sample(info)
	}
	return example
}

// tensors are lines such as "x: float32 [?, 4]".
func tensors(all map[string]*pb.TensorInfo) []string {
	lines := []string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t := all[name]
		line := name + ": " + tensor.DType(t.GetDtype()).String()
		if shape := t.GetTensorShape(); shape != nil && !shape.GetUnknownRank() {
			var dims []string
			for _, d := range shape.GetDim() {
				if d.GetSize() < 0 {
					dims = append(dims, "?")
				} else {
					dims = append(dims, strconv.FormatInt(d.GetSize(), 10))
				}
			}
			line += " [" + strings.Join(dims, ", ") + "]"
		}
		lines = append(lines, line)
	}
	return lines
}

// sample is a small value of a tensor's shape, for editing; open sizes are 1.
func sample(t *pb.TensorInfo) any {
	var value any = 0
	switch d := tensor.DType(t.GetDtype()); {
	case d.Float():
		value = json.Number("0.0")
	case d == tensor.String:
		value = ""
	case d == tensor.Bool:
		value = false
	}
	const most = 1000
	elements := 1
	dims := t.GetTensorShape().GetDim()
	for i := len(dims) - 1; i >= 0; i-- {
		n := max(int(min(dims[i].GetSize(), most)), 1)
		if elements = min(elements*n, most+1); elements > most {
			n = 1
		}
		value = slices.Repeat([]any{value}, n)
	}
	return value
}
