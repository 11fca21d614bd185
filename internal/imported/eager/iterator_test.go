package eager

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
)

func int64s(more graph.Attrs) graph.Attrs {
	a := graph.Attrs{"output_types": []tensor.DType{tensor.Int64}, "output_shapes": []graph.Shape{graph.ShapeOf()}}
	for k, v := range more {
		a[k] = v
	}
	return a
}

// numbers is a dataset of the integers below n.
func (s session) numbers(n int64) Value {
	return s.run("RangeDataset", int64s(nil), int64(0), n, int64(1))
}

// TestIterators: steps take elements in turn, by the iterator or by its string handle, and can restart it.
func TestIterators(t *testing.T) {
	s := newSession(t)
	it := s.run("IteratorV2", int64s(graph.Attrs{"shared_name": []byte("it")}))
	s.refuse("has not been initialized", "IteratorGetNext", int64s(nil), it)
	for range 2 {
		s.run("MakeIterator", nil, s.numbers(2), it)
		s.expect(s.run("IteratorGetNext", int64s(nil), it), "int64[] 0")
		named := s.run("IteratorFromStringHandleV2", int64s(nil), s.run("IteratorToStringHandle", nil, it))
		s.expect(s.run("IteratorGetNext", int64s(nil), named), "int64[] 1")
		s.refuse("End of sequence", "IteratorGetNext", int64s(nil), it)
	}
	floats := graph.Attrs{"output_types": []tensor.DType{tensor.Float32}}
	s.refuse("Data type mismatch at component 0: expected float32 but got int64.", "IteratorFromStringHandleV2", floats, s.run("IteratorToStringHandle", nil, it))
	s.refuse("no iterator has the handle", "IteratorFromStringHandleV2", floats, Value{T: textScalar("iterator_77")})
	s.run("MakeIterator", nil, s.numbers(2), it)
	s.refuse("Data type mismatch", "IteratorGetNext", floats, it)
	s.refuse("expected an iterator", "IteratorGetNext", floats, s.numbers(1))
	s.refuse("expected a dataset", "MakeIterator", nil, it, it)
}

// TestLostNames: a string handle does not keep an iterator alive.
func TestLostNames(t *testing.T) {
	s := newSession(t)
	for range 3 {
		it := s.run("AnonymousIteratorV3", int64s(nil))
		text := s.run("IteratorToStringHandle", nil, it)
		if again := s.run("IteratorFromStringHandleV2", int64s(nil), text); again.Resource != it.Resource {
			t.Errorf("got %v, expected %v", again, it)
		}
		devices := s.run("AnonymousMultiDeviceIteratorV3", int64s(graph.Attrs{"devices": [][]byte{[]byte("CPU:0")}}))
		s.run("MultiDeviceIteratorToStringHandle", nil, devices)
	}
	names := func() int {
		s.env.Resources.mu.Lock()
		defer s.env.Resources.mu.Unlock()
		return len(s.env.Resources.things.named) + len(s.env.Resources.things.names)
	}
	for names() > 0 {
		runtime.GC()
		select {
		case <-t.Context().Done():
			t.Fatalf("%d names are kept", names())
		case <-time.After(time.Millisecond):
		}
	}
}

// TestIteratorsEnd: iterators end with their session, with their container, and when they are deleted.
func TestIteratorsEnd(t *testing.T) {
	s := newSession(t)
	end := func(attrs graph.Attrs, end func(it Value)) {
		t.Helper()
		s.env.Session = "a"
		it := s.run("IteratorV2", int64s(attrs))
		s.run("MakeIterator", nil, s.run("PrefetchDataset", int64s(nil), s.numbers(1<<40), int64(100)), it)
		s.expect(s.run("IteratorGetNext", int64s(nil), it), "int64[] 0")
		text := s.run("IteratorToStringHandle", nil, it)
		end(it)
		if _, err := it.Resource.(*iterator).Next(context.Background()); !errors.Is(err, dataset.ErrClosed) {
			t.Errorf("got %v", err)
		}
		s.refuse("no iterator has the handle", "IteratorFromStringHandleV2", int64s(nil), text)
		if held := s.env.Resources.things.room.Held(); held != 0 {
			t.Errorf("%d bytes are still kept", held)
		}
	}
	end(nil, func(Value) { s.env.Resources.Forget("a") })
	end(graph.Attrs{"container": []byte("c")}, func(Value) { s.env.Resources.Clear("c") })
	end(nil, func(it Value) { s.run("DeleteIterator", nil, it, Value{Resource: deleter{}}) })
}

// TestDatasetFiles: files that are not allowed are refused, and the error names what would allow them.
func TestDatasetFiles(t *testing.T) {
	s := newSession(t)
	it := s.run("IteratorV2", int64s(graph.Attrs{"output_types": []tensor.DType{tensor.String}}))
	s.run("MakeIterator", nil, s.run("TextLineDataset", nil, Value{T: texts("/etc/passwd")}, Value{T: textScalar("")}, int64(0)), it)
	s.refuse("no files may be", "IteratorGetNext", graph.Attrs{"output_types": []tensor.DType{tensor.String}}, it)
}

// TestDatasetFunctionsPay: the session, whose account is lasting, pays for what a dataset's function makes.
func TestDatasetFunctionsPay(t *testing.T) {
	memory := budget.NewServer(budget.Limits{Server: 1 << 30, Request: 1 << 20})
	defer memory.Close()
	s := newSession(t)
	s.env.Payer = Payer{Account: memory.OpenLasting(), Lasting: true}
	s.env.Functions = map[string]*Function{"fill": function(t, 1, func(b *graph.Builder, in outputs) outputs {
		return outputs{b.Op("Fill", "large", graph.Type{DType: tensor.Int64, Shape: graph.ShapeOf(1 << 20)}, nil, b.Const("n", tensorOf([]int64{1 << 20}, 1)), in[0])}
	})}
	it := s.run("IteratorV2", int64s(nil))
	s.run("MakeIterator", nil, s.run("MapDataset", int64s(graph.Attrs{"f": graph.Func{Name: "fill"}}), s.numbers(1)), it)
	var short *budget.Error
	if _, err := s.try("IteratorGetNext", int64s(nil), it); !errors.As(err, &short) {
		t.Errorf("8 MiB where a session may have 1 MiB: got %v", err)
	}
	s.env.Resources.Close()
}

// TestCardinality: the elements of a dataset that contains another one twice, and so on, are counted quickly.
func TestCardinality(t *testing.T) {
	s := newSession(t)
	d := s.numbers(3)
	for range 60 {
		d = s.run("ZipDataset", int64s(graph.Attrs{"N": int64(2)}), d, d)
	}
	s.expect(s.run("DatasetCardinality", nil, d), "int64[] 3")
	it := s.run("IteratorV2", int64s(nil))
	s.refuse("at the same time", "MakeIterator", nil, d, it)
	s.env.Resources.Close()
}
