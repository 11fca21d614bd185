package eagerservice

import (
	"sync"

	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// maxHandles bounds the outputs that a context keeps.
	maxHandles = 1 << 20
	// maxHeld bounds the bytes of tensors that a context keeps.
	maxHeld = 4 << 30
)

// handle names an output: its op, and its number.
type handle struct {
	op     int64
	output int32
}

// handles are the outputs that a client can still use.
type handles struct {
	mu     sync.Mutex
	values map[handle]eager.Value
	bytes  int
	over   bool            // the context has ended
	payer  *budget.Account // of the entries; nil: not counted
}

// handleCost is the memory of an entry, including a value that is too small to be paid for separately.
const handleCost = 256

// put keeps a value.
func (h *handles) put(at handle, v eager.Value) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	old, again := h.values[at]
	if !again && len(h.values) >= maxHandles {
		return status.Errorf(codes.ResourceExhausted, "the context has %d tensors, which is as many as are possible: drop some", maxHandles)
	}
	kept := h.bytes - sizeOf(old.T)
	size := sizeOf(v.T)
	if size > maxHeld-kept {
		return status.Errorf(codes.ResourceExhausted, "a tensor of %d bytes: the context's tensors have %d bytes, at most %d are possible: drop some", size, kept, maxHeld)
	}
	if h.over {
		return status.Error(codes.Aborted, errClosed.Error())
	}
	if !again {
		if err := h.payer.ReserveModel(handleCost); err != nil {
			return err
		}
	}
	if h.values == nil {
		h.values = map[handle]eager.Value{}
	}
	h.bytes = kept + size
	h.values[at] = v
	return nil
}

// get returns a value.
func (h *handles) get(at handle) (eager.Value, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v, ok := h.values[at]
	if !ok {
		return v, noHandle(at)
	}
	return v, nil
}

// drop forgets a value.
func (h *handles) drop(at handle) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	v, ok := h.values[at]
	if !ok {
		return noHandle(at)
	}
	h.bytes -= sizeOf(v.T)
	delete(h.values, at)
	h.payer.ReleaseModel(handleCost)
	return nil
}

func (h *handles) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.payer.ReleaseModel(len(h.values) * handleCost)
	h.values, h.bytes, h.over = nil, 0, true
}

// noHandle returns an error with TensorFlow's text and code, from which a coordinator knows that the task was restarted.
func noHandle(at handle) error {
	return status.Errorf(codes.InvalidArgument, "Unable to find the relevant tensor remote_handle: Op ID: %d, Output num: %d. One possible cause is that the tensor was accessed after deletion in a distributed worker setup. Try setting `os.environ['TF_ENABLE_EAGER_CLIENT_STREAMING_ENQUEUE']='False'` in your client to disable async streaming behavior to see if it fixes the problem.",
		at.op, at.output)
}

func sizeOf(t *tensor.Tensor) int {
	if t == nil {
		return 0
	}
	const header = 24
	n := header + len(t.Bytes)
	for _, s := range t.Strings {
		n += header + len(s)
	}
	return n
}
