package driver

import "time"

// Driver lists GPUs and opens them.
type Driver interface {
	// Version is the newest CUDA version that the driver supports, as 1000*major + 10*minor.
	Version() (int, error)
	// Devices lists the GPUs that CUDA_VISIBLE_DEVICES leaves visible; their order gives their ordinals.
	Devices() ([]Info, error)
	// Open makes a context on a GPU.
	Open(ordinal int) (Context, error)
}

// Info describes one GPU.
type Info struct {
	Name            string
	Major, Minor    int   // compute capability
	Memory          int64 // bytes
	Multiprocessors int
	SharedPerBlock  int // bytes that a block can opt in to
	ClockKHz        int
	MemoryClockKHz  int
	MemoryBusBits   int
	ECC             bool
}

// Context is a process's share of one GPU.
type Context interface {
	Memory
	// NewStream returns an idle stream that does not wait for any other.
	NewStream() (Stream, error)
	// NewEvent returns an event that nothing has recorded. Only events with timing measure.
	NewEvent(timing bool) (Event, error)
	// Load makes a module of PTX text, which is translated for the GPU, or of a cubin.
	Load(image []byte) (Module, error)
	// Close gives everything back: what the context made must no longer be used.
	Close() error
}

// Ptr is an address of a GPU's memory. It means nothing to the host; 0 is no memory. Sums with offsets in bytes stay
// within one allocation.
type Ptr uint64

// Memory hands out memory.
type Memory interface {
	// Alloc returns memory of the GPU, aligned to 256 bytes. What it holds is not defined.
	Alloc(bytes int) (Ptr, error)
	// Free gives the memory of Alloc back. Work that uses it must be over.
	Free(p Ptr) error
	// AllocHost returns page-locked memory of the host: the only one that streams copy from and to.
	AllocHost(bytes int) (Pinned, error)
	// Info returns the free bytes of the GPU and all that it has.
	Info() (free, total int64, err error)
}

// Pinned is page-locked memory of the host. While a copy from or to it is in a stream the host must not change, or read,
// those bytes.
type Pinned interface {
	// Bytes is the memory. It is gone after Free.
	Bytes() []byte
	Free() error
}

// Copier moves bytes in the order of a stream. Its calls return at once.
type Copier interface {
	// Upload copies len(src) bytes of pinned memory to the GPU.
	Upload(dst Ptr, src []byte) error
	// Download copies len(dst) bytes of the GPU to pinned memory.
	Download(dst []byte, src Ptr) error
	// Copy copies within the GPU.
	Copy(dst, src Ptr, bytes int) error
	// Fill sets bytes to a value.
	Fill(dst Ptr, value byte, bytes int) error
}

// Stream does work in the order of the calls, beside other streams. Errors of the work itself surface in Synchronize,
// of this stream or any other, and end the usefulness of the context: see Error.Sticky.
type Stream interface {
	Copier
	// Launch runs a function over a grid of blocks.
	Launch(f Function, l Launch) error
	// Record makes e stand for the work issued so far.
	Record(e Event) error
	// Wait makes the work issued from now on wait for what e stands for at this moment, without stopping the host.
	Wait(e Event) error
	// Capture calls record and makes a graph of what it issues to this stream, which is not done now. record may use
	// Copier's methods and Launch of this stream only.
	Capture(record func() error) (Graph, error)
	// Synchronize returns when all work issued so far is done.
	Synchronize() error
	// Close waits for the work and ends the stream.
	Close() error
}

// Event is a point in a stream.
type Event interface {
	// Synchronize returns when what the event stands for is done; at once where nothing was recorded.
	Synchronize() error
	// Since measures the time on the GPU from an earlier event. Both must have timing and be done.
	Since(earlier Event) (time.Duration, error)
	Close() error
}

// Module is code on a GPU.
type Module interface {
	// Function looks a kernel up by its name.
	Function(name string) (Function, error)
	Close() error
}

// Function is one kernel.
type Function interface {
	// AllowShared raises the shared memory that a launch may ask for to the given bytes, beyond 48 KiB.
	AllowShared(bytes int) error
}

// Graph is a sequence of work that one call issues.
type Graph interface {
	// Launch issues the whole graph to a stream of the context that it was captured in.
	Launch(s Stream) error
	Close() error
}
