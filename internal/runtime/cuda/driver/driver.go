package driver

import "time"

// Driver lists GPUs and opens them.
type Driver interface {
	// Version returns the newest CUDA version that the driver supports, as 1000*major + 10*minor.
	Version() (int, error)
	// Devices lists the GPUs that CUDA_VISIBLE_DEVICES leaves visible. Their ordinals are their places in this list.
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
	// NewEvent returns an event that nothing has recorded. Only events with timing can measure times.
	NewEvent(timing bool) (Event, error)
	// Load makes a module from PTX text, which is translated for the GPU, or from a cubin.
	Load(image []byte) (Module, error)
	// Close frees everything: nothing that the context made may be used afterwards.
	Close() error
}

// Ptr is an address in a GPU's memory. It means nothing to the host; 0 is no memory. Adding an offset in bytes must stay
// within one allocation.
type Ptr uint64

// Memory allocates memory.
type Memory interface {
	// Alloc returns memory of the GPU, aligned to 256 bytes. Its contents are undefined.
	Alloc(bytes int) (Ptr, error)
	// Free frees memory of Alloc. Work that uses it must be over.
	Free(p Ptr) error
	// AllocHost returns page-locked memory of the host, the only host memory that streams copy from and to.
	AllocHost(bytes int) (Pinned, error)
	// Info returns the GPU's free and total bytes.
	Info() (free, total int64, err error)
}

// Pinned is page-locked memory of the host. While a stream copies from it, the host must not change these bytes; while a
// stream copies to it, the host must not use them.
type Pinned interface {
	// Bytes returns the memory, which must not be used after Free.
	Bytes() []byte
	Free() error
}

// Copier copies bytes in the order of a stream. Its calls return at once.
type Copier interface {
	// Upload copies len(src) bytes of pinned memory to the GPU.
	Upload(dst Ptr, src []byte) error
	// Download copies len(dst) bytes from the GPU to pinned memory.
	Download(dst []byte, src Ptr) error
	// Copy copies within the GPU.
	Copy(dst, src Ptr, bytes int) error
	// Fill sets bytes to a value.
	Fill(dst Ptr, value byte, bytes int) error
}

// Stream does work in the order of the calls, in parallel with other streams. Errors of the work itself surface in
// Synchronize of this or any other stream, and make the context unusable: see Error.Sticky.
type Stream interface {
	Copier
	// Launch runs a function over a grid of blocks.
	Launch(f Function, l Launch) error
	// Record makes e stand for all work issued so far.
	Record(e Event) error
	// Wait makes all work issued from now on wait for the work that e stands for now. The host does not wait.
	Wait(e Event) error
	// Capture calls record and makes a graph of the work that it issues to this stream, which is not done now. record may
	// use only Copier's methods and Launch of this stream.
	Capture(record func() error) (Graph, error)
	// Synchronize returns when all work issued so far is done.
	Synchronize() error
	// Close waits for the work and ends the stream.
	Close() error
}

// Event is a point in a stream.
type Event interface {
	// Synchronize waits for the work that the event stands for. It returns at once if nothing was recorded.
	Synchronize() error
	// Since returns the time on the GPU since an earlier event. Both must have timing and be done.
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
	// AllowShared raises the limit of a launch's shared memory beyond 48 KiB to the given bytes.
	AllowShared(bytes int) error
}

// Graph is a sequence of work that one call issues.
type Graph interface {
	// Launch issues the whole graph to a stream of the context that it was captured in.
	Launch(s Stream) error
	Close() error
}
