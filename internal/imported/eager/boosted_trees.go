package eager

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/treeensemble"
	"github.com/goestimator/goestimator/internal/imported/boosted"
	"github.com/goestimator/goestimator/internal/platform/protocost"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc/mem"
)

// boostedOps restore tf.estimator's boosted trees, and predict with them. Ops that only training needs have no kernels.
var boostedOps = map[*ops.Def]maker{
	ops.BoostedTreesEnsembleResourceHandleOp: makeTreeResource(func(string) treeResource { return &ensemble{} }),
	ops.IsBoostedTreesEnsembleInitialized:    askTreeResource(func(c call, e *ensemble) error { return c.truth(e.state.Load() != nil) }),
	ops.BoostedTreesCreateEnsemble:           askTreeResource(func(c call, e *ensemble) error { return e.fill(c, true) }),
	ops.BoostedTreesDeserializeEnsemble:      askTreeResource(func(c call, e *ensemble) error { return e.fill(c, false) }),
	ops.BoostedTreesSerializeEnsemble:        askTreeResource(serializeEnsemble),
	ops.BoostedTreesPredict:                  predictEnsemble,

	ops.BoostedTreesQuantileStreamResourceHandleOp:            makeTreeResource(func(string) treeResource { return &boundaries{} }),
	ops.IsBoostedTreesQuantileStreamResourceInitialized:       askTreeResource(func(c call, b *boundaries) error { return c.truth(b.lists.Load() != nil) }),
	ops.BoostedTreesCreateQuantileStreamResource:              askTreeResource(createBoundaries),
	ops.BoostedTreesQuantileStreamResourceDeserialize:         askTreeResource(restoreBoundaries),
	ops.BoostedTreesQuantileStreamResourceGetBucketBoundaries: readBoundaries,
	ops.BoostedTreesBucketize:                                 intoBuckets,
}

// ensemble is a resource that holds trees.
type ensemble struct{ state atomic.Pointer[ensembleState] }

type ensembleState struct {
	*boosted.Ensemble
	stamp      int64
	serialized []byte
}

func (e *ensemble) fork() treeResource {
	f := &ensemble{}
	f.state.Store(e.state.Load())
	return f
}

// fill parses the stamp and the trees in inputs 1 and 2. With create, an existing ensemble stays.
func (e *ensemble) fill(c call, create bool) error {
	stamp, text := c.t(1), c.t(2)
	if stamp.DType != tensor.Int64 || stamp.Len() != 1 || text.DType != tensor.String || len(text.Strings) != 1 {
		return errors.New("expected a stamp token and a serialized ensemble, each a scalar")
	}
	data := text.Strings[0]
	if err := c.pay(2*protocost.Of(mem.BufferSlice{mem.SliceBuffer(data)}, &treeensemble.TreeEnsemble{}, 0) + len(data)); err != nil {
		return err
	}
	trees, err := boosted.Parse(data)
	if err != nil {
		return err
	}
	state := &ensembleState{trees, tensor.Values[int64](stamp)[0], append([]byte(nil), data...)}
	if create {
		e.state.CompareAndSwap(nil, state)
	} else {
		e.state.Store(state)
	}
	return nil
}

func (e *ensemble) loaded() (*ensembleState, error) {
	s := e.state.Load()
	if s == nil {
		return nil, fmt.Errorf("the ensemble of trees is %w", ErrUninitialized)
	}
	return s, nil
}

func serializeEnsemble(c call, e *ensemble) error {
	s, err := e.loaded()
	if err != nil {
		return err
	}
	c.set(0, tensor.Scalar(s.stamp))
	text, err := c.output(1, tensor.String)
	if err == nil {
		text.Strings[0] = s.serialized
	}
	return err
}

// predictEnsemble returns the logits of rows.
func predictEnsemble(s *site) (kernel, error) {
	width := s.count("logits_dimension", 1, 1<<20)
	return func(c call) error {
		e, err := treeResourceOf[*ensemble](c)
		if err != nil {
			return err
		}
		trees, err := e.loaded()
		if err != nil {
			return err
		}
		features, rows, err := c.bucketedFeatures()
		if err != nil {
			return err
		}
		out, err := outputOf[float32](c, 0, rows, width)
		if err != nil || trees.Trees() == 0 {
			return err
		}
		if trees.Width() != width {
			return fmt.Errorf("logits_dimension %d: the leaves of the ensemble have %d values", width, trees.Width())
		}
		if err := trees.Check(features); err != nil {
			return err
		}
		for row := range rows {
			if row%rowsPerLook == 0 && c.ctx.Err() != nil {
				return c.ctx.Err()
			}
			trees.Logits(features, row, out[row*width:][:width])
		}
		return nil
	}, nil
}

// rowsPerLook is the number of rows between checks whether the step has ended.
const rowsPerLook = 1024

// bucketedFeatures reads the inputs after the handle: [rows] or [rows, columns] each.
func (c call) bucketedFeatures() (features []boosted.Feature, rows int, err error) {
	for i := range c.in[1:] {
		t := c.t(1 + i)
		if t == nil || t.DType != tensor.Int32 || len(t.Shape) < 1 || len(t.Shape) > 2 || i > 0 && t.Shape[0] != rows {
			return nil, 0, fmt.Errorf("bucketized_features %d: expected a vector or a matrix of the same rows as the first, of int32", i)
		}
		f := boosted.Feature{Values: tensor.Values[int32](t), Columns: 1}
		if rows = t.Shape[0]; len(t.Shape) == 2 {
			f.Columns = t.Shape[1]
		}
		features = append(features, f)
	}
	return features, rows, nil
}

// boundaries is a resource with the bucket boundaries of features, one list per feature.
type boundaries struct{ lists atomic.Pointer[[][]float32] }

func (b *boundaries) fork() treeResource {
	f := &boundaries{}
	f.lists.Store(b.lists.Load())
	return f
}

// maxStreams bounds the number of features in a boundaries resource.
const maxStreams = 1 << 20

func createBoundaries(c call, b *boundaries) error {
	epsilon, streams := c.t(1), c.t(2)
	if epsilon.DType != tensor.Float32 || epsilon.Len() != 1 || !(epsilon.Float(0) > 0) {
		return errors.New("An epsilon value of zero is not allowed.")
	}
	if streams.DType != tensor.Int64 || streams.Len() != 1 || streams.Float(0) < 0 || streams.Float(0) > maxStreams {
		return fmt.Errorf("num_streams: expected a scalar from 0 to %d", maxStreams)
	}
	n := int(tensor.Values[int64](streams)[0])
	if err := c.pay(n * stringHeader); err != nil {
		return err
	}
	lists := make([][]float32, n)
	b.lists.CompareAndSwap(nil, &lists)
	return nil
}

func restoreBoundaries(c call, b *boundaries) error {
	now := b.lists.Load()
	if now == nil {
		return fmt.Errorf("the boundaries of buckets are %w", ErrUninitialized)
	}
	if len(c.in)-1 != len(*now) {
		return fmt.Errorf("bucket_boundaries: expected %d lists, got %d", len(*now), len(c.in)-1)
	}
	lists := make([][]float32, len(*now))
	for i := range lists {
		t := c.t(1 + i)
		if t == nil || t.DType != tensor.Float32 || len(t.Shape) != 1 {
			return fmt.Errorf("bucket_boundaries %d: expected a vector of float32", i)
		}
		if err := c.pay(len(t.Bytes)); err != nil {
			return err
		}
		lists[i] = append([]float32(nil), tensor.Values[float32](t)...)
	}
	b.lists.Store(&lists)
	return nil
}

func readBoundaries(s *site) (kernel, error) {
	n := s.count("num_features", 0, maxStreams)
	s.outputs = n
	return func(c call) error {
		b, err := treeResourceOf[*boundaries](c)
		if err != nil {
			return err
		}
		lists := b.lists.Load()
		if lists == nil {
			return fmt.Errorf("the boundaries of buckets are %w", ErrUninitialized)
		}
		if len(*lists) != n {
			return fmt.Errorf("num_features %d: the resource has %d", n, len(*lists))
		}
		for i, l := range *lists {
			out, err := outputOf[float32](c, i, len(l))
			if err != nil {
				return err
			}
			copy(out, l)
		}
		return nil
	}, nil
}

// intoBuckets returns the bucket of each value: a vector for values [rows] or [rows, 1].
func intoBuckets(s *site) (kernel, error) {
	n := s.count("num_features", 0, maxStreams)
	s.outputs = n
	return func(c call) error {
		if len(c.in) != 2*n {
			return fmt.Errorf("expected %d features and as many boundaries, got %d inputs", n, len(c.in))
		}
		for i := range n {
			values, bounds := c.t(i), c.t(n+i)
			if values == nil || values.DType != tensor.Float32 || len(values.Shape) == 0 || values.Len() < values.Shape[0] {
				return fmt.Errorf("float_values %d: expected a value for each row, of float32", i)
			}
			if bounds == nil || bounds.DType != tensor.Float32 || len(bounds.Shape) != 1 {
				return errors.New("Buckets should be flat vectors.")
			}
			out, err := outputOf[int32](c, i, values.Shape[0])
			if err != nil {
				return err
			}
			for row := range out {
				out[row] = boosted.Bucket(tensor.Values[float32](bounds), tensor.Values[float32](values)[row])
			}
		}
		return nil
	}, nil
}
