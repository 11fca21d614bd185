package eager

import (
	"fmt"
	"io"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/tensor"
)

// multiDeviceOps make iterators whose elements go to several devices in turn. They may wait: they end with the context of their run.
var multiDeviceOps = map[*ops.Def]maker{
	ops.MultiDeviceIterator:                 sharedShards,
	ops.AnonymousMultiDeviceIterator:        anonymousShards,
	ops.AnonymousMultiDeviceIteratorV3:      anonymousShards,
	ops.MultiDeviceIteratorInit:             beginShards,
	ops.MultiDeviceIteratorGetNextFromShard: nextFromShard,
	ops.MultiDeviceIteratorToStringHandle:   plain(shardsToString),
	ops.MultiDeviceIteratorFromStringHandle: shardsFromString,
	ops.DeleteMultiDeviceIterator:           plain(deleteShards),
}

// multiDevice is an iterator for several devices: each has a shard.
type multiDevice struct {
	*dataset.Shards
	types componentTypes
}

// newMultiDevice returns a function that makes the iterator of a node.
func newMultiDevice(s *site) func() lasting {
	devices, types := len(list[[]byte](s, "devices")), outputTypes(s)
	if devices == 0 {
		s.fail("attribute devices: expected a device")
	}
	return func() lasting { return &multiDevice{dataset.NewShards(devices), types} }
}

// sharedShards finds or creates an iterator that steps share.
func sharedShards(s *site) (kernel, error) {
	make, types, at := newMultiDevice(s), outputTypes(s), s.place()
	return func(c call) error {
		if c.env == nil || c.env.Resources == nil {
			return errInputs
		}
		found := c.env.Resources.lasting(c.env, at, make)
		it, ok := found.(*multiDevice)
		if !ok {
			return fmt.Errorf("expected a multi device iterator as resource %q, got %T", at.name, found)
		}
		c.out[0].Resource = it
		return it.types.fit(types)
	}, nil
}

func anonymousShards(s *site) (kernel, error) {
	make := newMultiDevice(s)
	return func(c call) error {
		c.out[0].Resource = make()
		if len(c.out) > 1 {
			c.out[1].Resource = deleter{}
		}
		return nil
	}, nil
}

// multiDevice returns an input that is an iterator for several devices.
func (in *inputs) multiDevice() *multiDevice {
	for _, v := range in.values("multi_device_iterator") {
		if it, ok := v.Resource.(*multiDevice); ok {
			return it
		}
	}
	in.fail("multi_device_iterator: expected a multi device iterator")
	return nil
}

func beginShards(s *site) (kernel, error) {
	l := s.layout()
	return func(c call) error {
		in := &inputs{c: c, l: l}
		d, it, most := in.dataset("dataset"), in.multiDevice(), in.int("max_buffer_size")
		if in.err != nil {
			return in.err
		}
		pass, err := c.pass()
		if err != nil {
			return err
		}
		begun, err := it.Begin(c.ctx, d, pass, most)
		c.set(0, tensor.Scalar(begun))
		return err
	}, nil
}

func nextFromShard(s *site) (kernel, error) {
	l, types := s.layout(), outputTypes(s)
	s.outputs = len(types)
	return func(c call) error {
		in := &inputs{c: c, l: l}
		it, shard, pass := in.multiDevice(), in.int("shard_num"), in.int("incarnation_id")
		if in.err != nil {
			return in.err
		}
		e, err := it.Next(c.ctx, int(shard), pass)
		if err == io.EOF {
			return errEnd{}
		}
		if err != nil {
			return err
		}
		return c.setElement(e, types)
	}, nil
}

// shardsPrefix begins the string handles of iterators for several devices.
const shardsPrefix = "multi_device_iterator"

func shardsToString(c call) error {
	it, ok := c.in[0].Resource.(*multiDevice)
	if !ok {
		return fmt.Errorf("expected a multi device iterator, got %T", c.in[0].Resource)
	}
	if c.env == nil || c.env.Resources == nil {
		return errInputs
	}
	c.set(0, textScalar(shardsPrefix+nameOf(c.env.Resources, it)))
	return nil
}

func shardsFromString(s *site) (kernel, error) {
	types := outputTypes(s)
	return func(c call) error {
		it, err := handled[multiDevice](c, shardsPrefix, "multi device iterator", "MultiDeviceIteratorToStringHandle")
		if err != nil {
			return err
		}
		c.out[0].Resource = it
		return it.types.fit(types)
	}, nil
}

// deleteShards closes an iterator; its devices' iterators end with their last user.
func deleteShards(c call) error {
	it, ok := c.in[0].Resource.(*multiDevice)
	if !ok {
		return fmt.Errorf("expected a multi device iterator, got %T", c.in[0].Resource)
	}
	if c.env != nil && c.env.Resources != nil {
		c.env.Resources.unname(weakly(it))
	}
	it.Close()
	return nil
}

// generatorDataset makes elements by functions, through which devices' iterators read their shards.
func generatorDataset(s *site) func(in *inputs) (dataset.Dataset, error) {
	begin, next, end := s.function("init_func"), s.function("next_func"), s.function("finalize_func")
	return func(in *inputs) (dataset.Dataset, error) {
		return dataset.Generate(dataset.Generator{
			Begin: in.function(begin, "init_func_other_args"),
			Next:  in.function(next, "next_func_other_args"),
			End:   in.function(end, "finalize_func_other_args"),
		}), nil
	}
}
