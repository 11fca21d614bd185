package eager

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync/atomic"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/yggdrasil"
	"github.com/goestimator/goestimator/internal/imported/forest"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
)

// forestOps are the ops of TensorFlow Decision Forests: they load tree models, and predict with them.
var forestOps = map[*ops.Def]maker{
	ops.SimpleMLCreateModelResource:            makeTreeResource(newForest),
	ops.SimpleMLLoadModelFromPath:              loadForestByName,
	ops.SimpleMLLoadModelFromPathWithHandle:    loadForest,
	ops.SimpleMLInferenceOp:                    askForest(true, predictForest),
	ops.SimpleMLInferenceOpWithHandle:          askForest(false, predictForest),
	ops.SimpleMLInferenceLeafIndexOpWithHandle: askForest(false, forestLeaves),
}

// forestModel is a resource that a tree model is loaded into.
type forestModel struct {
	name   string
	loaded atomic.Pointer[loadedForest]
}

type loadedForest struct {
	*forest.Forest
	leaves bool // it was loaded for predicting leaves
}

func (m *forestModel) fork() treeResource {
	f := &forestModel{name: m.name}
	f.loaded.Store(m.loaded.Load())
	return f
}

var errNoForest = errors.New("model_handle: expected a model of trees")

// forestContainer is the library's container for models that are found by name.
const forestContainer = "simple_ml_model_serving"

// forest returns the model of that name, which may be a new one that is not loaded yet; nil if another kind of resource has the name.
func (r *Resources) forest(name string) *forestModel {
	m, _ := r.treeResource(name, newForest).(*forestModel)
	return m
}

func newForest(name string) treeResource { return &forestModel{name: name} }

func loadForestByName(s *site) (kernel, error) {
	key := ResourceKey(forestContainer, s.str("model_identifier", ""))
	return func(c call) error {
		if c.env == nil || c.env.Resources == nil {
			return errForests
		}
		m := c.env.Resources.forest(key)
		if m == nil {
			return errNoForest
		}
		if m.loaded.Load() != nil {
			return nil // as in the library, it stays
		}
		return m.load(c, c.t(0), "", false)
	}, nil
}

func loadForest(s *site) (kernel, error) {
	prefix, leaves := s.str("file_prefix", ""), false
	for _, kind := range list[[]byte](s, "output_types") {
		if string(kind) != "LEAVES" {
			s.fail("Unknown output types: %s", clip(kind))
		}
		leaves = true
	}
	return func(c call) error {
		m, ok := c.in[0].Resource.(*forestModel)
		if !ok {
			return fmt.Errorf("expected a model of trees, got %T", c.in[0].Resource)
		}
		return m.load(c, c.t(1), prefix, leaves)
	}, nil
}

// load reads the model in a directory. Its memory is paid for as long as it lives.
func (m *forestModel) load(c call, path *tensor.Tensor, prefix string, leaves bool) error {
	if path.DType != tensor.String || len(path.Strings) != 1 {
		return fmt.Errorf("path: expected one string, got %v of shape %v", path.DType, path.Shape)
	}
	folder, held := string(path.Strings[0]), 0
	model, err := yggdrasil.Read(yggdrasil.Source{
		Open: func(name string) (io.ReadCloser, error) { return c.modelFile(filepath.Join(folder, prefix+name)) },
		Reserve: func(n int) error {
			held += n
			return c.pay(n)
		}})
	var f *forest.Forest
	if err == nil {
		f, err = forest.New(model, leaves)
	}
	if err != nil {
		return fmt.Errorf("model of trees in %s: %w", folder, err)
	}
	if c.lent != nil && held >= leastPaid {
		budget.Lend(c.env.Payer.Account, model, held)
		*c.lent -= held
	}
	m.loaded.Store(&loadedForest{f, leaves})
	return nil
}

// askForest makes a kernel that predicts with a model: input 6, or a model found by name.
func askForest(byName bool, ask func(c call, s *site, f *loadedForest, b *forest.Batch) error) maker {
	return func(s *site) (kernel, error) {
		key := ResourceKey(forestContainer, s.str("model_identifier", ""))
		return func(c call) error {
			var m *forestModel
			switch {
			case c.env == nil || c.env.Resources == nil:
				return errForests
			case byName:
				m = c.env.Resources.forest(key)
			case len(c.in) == 7:
				m, _ = c.in[6].Resource.(*forestModel)
			}
			if m == nil {
				return errNoForest
			}
			f := m.loaded.Load()
			if f == nil {
				return fmt.Errorf("the model of trees %q is %w: its load op did not run", m.name, ErrUninitialized)
			}
			b, err := f.batch(c)
			if err != nil {
				return err
			}
			return ask(c, s, f, b)
		}, nil
	}
}

// batch reads the features.
func (f *loadedForest) batch(c call) (*forest.Batch, error) {
	n := f.Features()
	for i, name := range []string{"numerical_features", "boolean_features", "categorical_int_features"} {
		t := c.t(i)
		if t == nil || t.DType != []tensor.DType{tensor.Float32, tensor.Float32, tensor.Int32}[i] || len(t.Shape) != 2 {
			return nil, fmt.Errorf("%s: expected a matrix", name)
		}
		if t.Shape[1] != n[i] {
			return nil, fmt.Errorf("Unexpected dimension of %s bank: expected %d features, got %d", name, n[i], t.Shape[1])
		}
	}
	for i, d := range []tensor.DType{tensor.Int32, tensor.Int64, tensor.Int64} {
		if t := c.t(3 + i); t == nil || t.DType != d || len(t.Shape) != 1 {
			return nil, errors.New("categorical_set_int_features: expected vectors")
		}
	}
	b := &forest.Batch{Numbers: tensor.Values[float32](c.t(0)), Truths: tensor.Values[float32](c.t(1)), Categories: tensor.Values[int32](c.t(2)),
		Sets: tensor.Values[int32](c.t(3)), Splits: tensor.Values[int64](c.t(4))}
	rows := tensor.Values[int64](c.t(5))
	for _, size := range []int{c.t(0).Shape[0], c.t(1).Shape[0], c.t(2).Shape[0], len(rows) - 1} {
		if size > 0 && b.Rows > 0 && size != b.Rows {
			return nil, fmt.Errorf("The batch size of the input features are inconsistent: %d vs %d.", b.Rows, size)
		}
		b.Rows = max(b.Rows, size)
	}
	for i := 0; i < b.Rows && n[3] > 0; i++ {
		if i >= len(rows) || rows[i] != int64(i*n[3]) {
			return nil, errors.New("Unexpected features_row_splits_dim_2 size.")
		}
	}
	return b, nil
}

func predictForest(c call, s *site, f *loadedForest, b *forest.Batch) error {
	names, width := f.Names(), s.node.Int("dense_output_dim", 1)
	if len(names) != width || f.Outputs() != width {
		return fmt.Errorf("The \"dense_output_dim\"=%d attribute does not match the model output dimension=%d", width, max(len(names), f.Outputs()))
	}
	out, err := outputOf[float32](c, 0, b.Rows, width)
	if err != nil {
		return err
	}
	text, err := c.output(1, tensor.String, width)
	if err != nil {
		return err
	}
	for i, name := range names {
		text.Strings[i] = []byte(name)
	}
	return f.Predict(c.ctx, b, out)
}

func forestLeaves(c call, _ *site, f *loadedForest, b *forest.Batch) error {
	if !f.leaves {
		return errors.New("the model was not loaded to be asked for leaves: expected output_types with LEAVES")
	}
	out, err := outputOf[int32](c, 0, b.Rows, f.Trees())
	if err != nil {
		return err
	}
	return f.Leaves(c.ctx, b, out)
}
