package eager

import (
	"context"
	"errors"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/tensor"
)

// twoDevices makes an iterator for two devices.
func (s session) twoDevices(op string, more graph.Attrs) Value {
	attrs := int64s(more)
	attrs["devices"] = [][]byte{[]byte("/cpu:0"), []byte("/cpu:0")}
	return s.run(op, attrs)
}

// TestMultiDeviceIterators: devices take elements in turn, by the iterator or by its string handle, and a restarted pass has a new number.
func TestMultiDeviceIterators(t *testing.T) {
	s := newSession(t)
	it := s.twoDevices("MultiDeviceIterator", graph.Attrs{"shared_name": []byte("it")})
	next := "MultiDeviceIteratorGetNextFromShard"
	s.refuse("has not been initialized", next, int64s(nil), it, int32(0), int64(0))
	for pass := range int64(2) {
		begun := s.run("MultiDeviceIteratorInit", nil, s.numbers(3), it, int64(1<<62))
		s.expect(begun, []string{"int64[] 1", "int64[] 2"}[pass])
		named := s.run("MultiDeviceIteratorFromStringHandle", int64s(nil), s.run("MultiDeviceIteratorToStringHandle", nil, it))
		s.expect(s.run(next, int64s(nil), named, int32(1), begun), "int64[] 1")
		s.expect(s.run(next, int64s(nil), it, int32(0), begun), "int64[] 0")
		s.expect(s.run(next, int64s(nil), it, int32(0), begun), "int64[] 2")
		s.refuse("End of sequence", next, int64s(nil), it, int32(0), begun)
		s.refuse("End of sequence", next, int64s(nil), it, int32(1), begun)
	}
	s.refuse("Invalid incarnation id. Provided: 1; Expected: 2", next, int64s(nil), it, int32(0), int64(1))
	s.refuse("shard_num 2: expected 0 to 1", next, int64s(nil), it, int32(2), int64(2))
	s.refuse("shard_num -1: expected 0 to 1", next, int64s(nil), it, int32(-1), int64(2))
	floats := graph.Attrs{"output_types": []tensor.DType{tensor.Float32}}
	s.refuse("Data type mismatch at component 0: expected float32 but got int64.", "MultiDeviceIteratorFromStringHandle", floats, s.run("MultiDeviceIteratorToStringHandle", nil, it))
	s.refuse("no multi device iterator has the handle", "MultiDeviceIteratorFromStringHandle", nil, s.run("IteratorToStringHandle", nil, s.run("AnonymousIteratorV3", int64s(nil))))
	s.refuse("expected a multi device iterator", next, int64s(nil), s.numbers(1), int32(0), int64(2))
	s.refuse("expected a multi device iterator", "MultiDeviceIteratorInit", nil, s.numbers(1), s.numbers(1), int64(1))
	s.refuse("attribute devices: expected a device", "AnonymousMultiDeviceIteratorV3", int64s(nil))
	s.refuse("expected a multi device iterator as resource", "MultiDeviceIterator", graph.Attrs{"devices": [][]byte{nil}, "shared_name": []byte("one")}, s.other("one")...)
}

// other makes an iterator of another kind with that name.
func (s session) other(name string) []any {
	s.run("IteratorV2", int64s(graph.Attrs{"shared_name": []byte(name)}))
	return nil
}

// TestMultiDeviceIteratorsEnd: they end with their session, with their container, and when they are deleted; so do waiting calls.
func TestMultiDeviceIteratorsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		op    string
		attrs graph.Attrs
		end   func(s session, it Value)
	}{
		"session":   {"MultiDeviceIterator", nil, func(s session, _ Value) { s.env.Resources.Forget("a") }},
		"container": {"MultiDeviceIterator", graph.Attrs{"container": []byte("c")}, func(s session, _ Value) { s.env.Resources.Clear("c") }},
		"deleted": {"AnonymousMultiDeviceIterator", nil, func(s session, it Value) {
			s.run("DeleteMultiDeviceIterator", nil, it, Value{Resource: deleter{}})
		}},
	} {
		s := newSession(t)
		s.env.Session = "a"
		it := s.twoDevices(c.op, c.attrs)
		begun := s.run("MultiDeviceIteratorInit", nil, s.numbers(1<<40), it, int64(1))
		text := s.run("MultiDeviceIteratorToStringHandle", nil, it)
		s.expect(s.run("MultiDeviceIteratorGetNextFromShard", int64s(nil), it, int32(1), begun), "int64[] 1")
		waits := make(chan error)
		go func() {
			_, err := it.Resource.(*multiDevice).Next(context.Background(), 1, 1)
			waits <- err
		}()
		c.end(s, it)
		if err := <-waits; !errors.Is(err, dataset.ErrClosed) {
			t.Errorf("%s: got %v", name, err)
		}
		s.refuse("no multi device iterator has the handle", "MultiDeviceIteratorFromStringHandle", int64s(nil), text)
		if held := s.env.Resources.things.room.Held(); held != 0 {
			t.Errorf("%s: %d bytes are still kept", name, held)
		}
	}
}

// TestRemoteCall: a function can be called on the task's devices, and on no others.
func TestRemoteCall(t *testing.T) {
	s := control(t)
	bad := errors.New("a bad name")
	s.env.Here = func(device string) (bool, error) {
		if device == "bad" {
			return false, bad
		}
		return device == "/cpu:0", nil
	}
	call := graph.Attrs{"f": graph.Func{Name: "add"}, "Tin": []tensor.DType{tensor.Int64, tensor.Int64}, "Tout": []tensor.DType{tensor.Int64}}
	s.expect(s.run("RemoteCall", call, "/cpu:0", int64(40), int64(2)), "int64[] 42")
	s.refuse("a device of another task, not supported", "RemoteCall", call, "/job:ps/task:1/cpu:0", int64(40), int64(2))
	s.refuse("a bad name", "RemoteCall", call, "bad", int64(40), int64(2))
	call["f"] = graph.Func{Name: "none"}
	s.refuse(`function "none": there is none`, "RemoteCall", call, "/cpu:0", int64(40), int64(2))
}
