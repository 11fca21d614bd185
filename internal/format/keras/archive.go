package keras

import (
	"archive/zip"
	"encoding/json"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/format/hdf5"
	"github.com/goestimator/goestimator/internal/format/tensorfile"
)

// The members of an archive.
const (
	configFile  = "config.json"
	weightsFile = "model.weights.h5"
)

// Bounds on the description of a model. It takes much more memory than its bytes, and may be compressed.
const (
	maxConfig  = 8 << 20       // bytes
	maxParsed  = 8 * maxConfig // bytes, counting each layer again for each model that contains it, and its path
	maxLayers  = 1 << 16
	maxNesting = 32      // nested models
	maxName    = 1 << 10 // bytes of a layer's name, which each of its variables repeats
)

// IsArchive reports whether a ZIP file is a Keras model.
func IsArchive(z *zip.Reader) bool {
	return member(z, configFile) != nil && member(z, weightsFile) != nil
}

func member(z *zip.Reader, name string) *zip.File {
	for _, f := range z.File {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// ReadArchive lists the variables of a model in a ZIP file that r reads. Variables of layers of unknown classes keep their
// paths in the archive, such as "layers/my_layer/vars/0".
func ReadArchive(z *zip.Reader, r io.ReaderAt) ([]tensorfile.Entry, error) {
	f := member(z, weightsFile)
	at, err := f.DataOffset()
	if err != nil {
		return nil, tensorfile.Errorf("%w", err)
	}
	if f.Method != zip.Store {
		return nil, tensorfile.Errorf("%s is compressed in the archive: unpack it, and start from that file", weightsFile)
	}
	size := int64(min(f.UncompressedSize64, 1<<62))
	list, err := hdf5.Read(io.NewSectionReader(r, at, size), size)
	if err != nil {
		return nil, err
	}
	names, err := layerNames(member(z, configFile))
	if err != nil {
		return nil, err
	}
	return rename(list, names.variable), nil
}

// object is what config.json says about a model or a layer.
type object struct {
	Class  string          `json:"class_name"`
	Config json.RawMessage `json:"config"`
	settings
}

// settings are the relevant keys of a layer's config. A class may use the same keys for something else.
type settings struct {
	Name   string            `json:"name"`
	Scale  setting           `json:"scale"`
	Center setting           `json:"center"`
	Layers []json.RawMessage `json:"layers"`
}

// setting is a key that may be false. For values of other types it takes no memory.
type setting struct{ off bool }

// UnmarshalJSON implements json.Unmarshaler.
func (s *setting) UnmarshalJSON(text []byte) error {
	s.off = string(text) == "false"
	return nil
}

// parse parses an object; it ignores settings of other types than Keras uses.
func parse(text []byte) (object, error) {
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		return o, tensorfile.Errorf("%s: %w", configFile, err)
	}
	if json.Unmarshal(o.Config, &o.settings) != nil {
		o.settings = settings{}
	}
	return o, nil
}

// layers maps paths, such as "layers/conv2d_1", to the layers of an archive.
type layers map[string]object

func layerNames(f *zip.File) (layers, error) {
	body, err := f.Open()
	if err != nil {
		return nil, tensorfile.Errorf("%s: %w", configFile, err)
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxConfig+1))
	switch {
	case err != nil:
		return nil, tensorfile.Errorf("%s: %w", configFile, err)
	case len(text) > maxConfig:
		return nil, tensorfile.Errorf("%s has more than %d bytes, which is all that is read", configFile, maxConfig)
	}
	model, err := parse(text)
	if err != nil {
		return nil, err
	}
	out := layers{}
	return out, out.add("", model, &reading{bytes: len(text)}, 0)
}

// reading counts what was parsed.
type reading struct{ bytes, layers int }

// count counts a layer, whose text and path have the given bytes.
func (r *reading) count(bytes int) error {
	r.bytes, r.layers = r.bytes+bytes, r.layers+1
	if r.bytes > maxParsed || r.layers > maxLayers {
		return tensorfile.Errorf("%s has more than %d layers, too many nested ones, or too long names of classes", configFile, maxLayers)
	}
	return nil
}

// add adds the layers of the model at path prefix. Keras numbers layers by class.
func (l layers) add(prefix string, model object, r *reading, depth int) error {
	used := map[string]int{}
	for _, raw := range model.Layers {
		layer, err := parse(raw)
		if err != nil {
			return err
		}
		key := snake(layer.Class)
		if err := r.count(len(raw) + len(prefix) + len(key)); err != nil {
			return err
		}
		path := prefix + "layers/" + key
		if n := used[key]; n > 0 {
			path += "_" + strconv.Itoa(n)
		}
		used[key]++
		if len(layer.Layers) > 0 && depth < maxNesting {
			if err := l.add(path+"/", layer, r, depth+1); err != nil {
				return err
			}
		}
		layer.Config, layer.Layers = nil, nil // not needed any more
		l[path] = layer
	}
	return nil
}

var (
	beforeWord  = regexp.MustCompile(`(.)([A-Z][a-z]+)`)
	beforeUpper = regexp.MustCompile(`([a-z])([A-Z])`)
)

// snake returns a class's name as in Keras paths: "Conv2D" becomes "conv2d", "BatchNormalization" "batch_normalization".
func snake(class string) string {
	class = class[strings.LastIndexByte(class, '>')+1:] // "package>Class"
	return strings.ToLower(beforeUpper.ReplaceAllString(beforeWord.ReplaceAllString(class, "${1}_${2}"), "${1}_${2}"))
}

// kinds has the variables of Keras' layers in the order of their creation; optional variables come last.
var kinds = map[string][]string{
	"Dense": {"kernel", "bias"}, "Conv1D": {"kernel", "bias"}, "Conv2D": {"kernel", "bias"}, "Conv3D": {"kernel", "bias"},
	"Conv1DTranspose": {"kernel", "bias"}, "Conv2DTranspose": {"kernel", "bias"}, "Conv3DTranspose": {"kernel", "bias"},
	"DepthwiseConv1D": {"depthwise_kernel", "bias"}, "DepthwiseConv2D": {"depthwise_kernel", "bias"},
	"SeparableConv1D": {"depthwise_kernel", "pointwise_kernel", "bias"}, "SeparableConv2D": {"depthwise_kernel", "pointwise_kernel", "bias"},
	"Embedding": {"embeddings"}, "PReLU": {"alpha"},
	"BatchNormalization": {"gamma", "beta", "moving_mean", "moving_variance"},
	"LayerNormalization": {"gamma", "beta"}, "GroupNormalization": {"gamma", "beta"},
}

// cells has the scopes of the cells of recurrent layers.
var cells = map[string]string{"LSTM": "lstm_cell", "GRU": "gru_cell", "SimpleRNN": "simple_rnn_cell"}

// variable returns the name of the variable at a path, "" if the class of its layer is unknown.
func (l layers) variable(path string) string {
	at, number, ok := strings.Cut(path, "/vars/")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 0 {
		return ""
	}
	inner := ""
	if layer, found := strings.CutSuffix(at, "/cell"); found {
		at, inner = layer, cells[l[layer].Class]
		if inner == "" {
			return ""
		}
		return pick(l[at].Name+"/"+inner, []string{"kernel", "recurrent_kernel", "bias"}, n)
	}
	layer := l[at]
	list := kinds[layer.Class]
	if layer.Scale.off {
		list = without(list, "gamma")
	}
	if layer.Center.off {
		list = without(list, "beta")
	}
	return pick(layer.Name, list, n)
}

func pick(scope string, list []string, n int) string {
	if n >= len(list) || scope == "" || len(scope) > maxName {
		return ""
	}
	return scope + "/" + list[n]
}

func without(list []string, name string) (out []string) {
	for _, x := range list {
		if x != name {
			out = append(out, x)
		}
	}
	return out
}
