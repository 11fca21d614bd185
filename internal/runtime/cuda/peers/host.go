package peers

import (
	"errors"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/tensor"
)

// Host sums through the host's memory, for drivers that cannot copy between GPUs. It waits for the work.
type Host struct {
	contexts []driver.Context
	pinned   []driver.Pinned // one per GPU
	size     int
}

// NewHost returns a Reducer for GPUs of any drivers.
func NewHost(contexts []driver.Context) *Host {
	return &Host{contexts: contexts, pinned: make([]driver.Pinned, len(contexts))}
}

// AllReduce implements Reducer.
func (h *Host) AllReduce(parts []Part) error {
	if err := Check(parts, len(h.contexts)); err != nil || len(parts) < 2 || parts[0].Count == 0 {
		return err
	}
	t, n := parts[0].Type, parts[0].Count*parts[0].Type.Size()
	if err := h.reserve(n); err != nil {
		return fmt.Errorf("sum over GPUs through the host: %w", err)
	}
	values := make([][]byte, len(parts))
	each := func(do func(i int, p Part) error) error {
		var errs []error
		for i, p := range parts {
			errs = append(errs, do(i, p))
		}
		for _, p := range parts {
			errs = append(errs, p.Stream.Synchronize())
		}
		return errors.Join(errs...)
	}
	err := each(func(i int, p Part) error {
		values[i] = h.pinned[i].Bytes()[:n]
		return p.Stream.Download(values[i], p.Address)
	})
	if err == nil {
		add(t, values)
		err = each(func(i int, p Part) error {
			copy(values[i], values[0])
			return p.Stream.Upload(p.Address, values[i])
		})
	}
	if err != nil {
		return fmt.Errorf("sum over GPUs through the host: %w", err)
	}
	return nil
}

// reserve makes page-locked memory of that many bytes for each GPU.
func (h *Host) reserve(n int) error {
	if n <= h.size {
		return nil
	}
	if err := h.Close(); err != nil {
		return err
	}
	for i, c := range h.contexts {
		p, err := c.AllocHost(n)
		if err != nil {
			return err
		}
		h.pinned[i] = p
	}
	h.size = n
	return nil
}

// add adds all values to the first, in order.
func add(t tensor.DType, values [][]byte) {
	switch t {
	case tensor.Float32:
		addAll[float32](t, values)
	case tensor.Float64:
		addAll[float64](t, values)
	case tensor.Int64:
		addAll[int64](t, values)
	case tensor.BFloat16:
		addBFloat16(values)
	}
}

func addAll[T float32 | float64 | int64](t tensor.DType, values [][]byte) {
	sum := elements[T](t, values[0])
	for _, v := range values[1:] {
		for i, x := range elements[T](t, v) {
			sum[i] += x
		}
	}
}

func elements[T tensor.Element](t tensor.DType, b []byte) []T {
	return tensor.Values[T](&tensor.Tensor{DType: t, Shape: []int{len(b) / t.Size()}, Bytes: b})
}

// addBFloat16 sums in float32 and rounds at the end to the nearest, ties to even.
func addBFloat16(values [][]byte) {
	for i := 0; i < len(values[0]); i += 2 {
		sum := float32(0)
		for k, v := range values {
			x := math.Float32frombits((uint32(v[i]) | uint32(v[i+1])<<8) << 16)
			if k == 0 {
				sum = x
				continue
			}
			sum += x
		}
		u := math.Float32bits(sum)
		if u&0x7fffffff > 0x7f800000 {
			u |= 1 << 22
		} else {
			u += 0x7fff + u>>16&1
		}
		values[0][i], values[0][i+1] = byte(u>>16), byte(u>>24)
	}
}

// Close implements Reducer.
func (h *Host) Close() error {
	var errs []error
	for i, p := range h.pinned {
		if p != nil {
			errs = append(errs, p.Free())
		}
		h.pinned[i] = nil
	}
	h.size = 0
	return errors.Join(errs...)
}
