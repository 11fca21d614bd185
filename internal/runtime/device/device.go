package device

import "errors"

// Kinds of devices.
const (
	KindHost = "host"
	KindFake = "fake"
)

// Device owns memory and makes streams. It is safe for concurrent use.
type Device interface {
	// Kind returns the kind of device, which decides which kernels run on it.
	Kind() string
	// Alloc returns a zeroed buffer, aligned for every element type and for vector loads.
	Alloc(bytes int) (Buffer, error)
	// NewStream returns an idle stream.
	NewStream() (Stream, error)
	// Close frees all that is still allocated. The device's buffers and streams must not be used afterwards.
	Close() error
}

// Buffer is memory of one device, opaque to the host. Buffers of devices with Go kernels also implement Mapped.
type Buffer interface {
	// Len returns the size in bytes.
	Len() int
	// Free frees the memory. Work still in a stream must not use the buffer.
	Free() error
}

// HostAllocator is a device that hands out page-locked memory of the host: copies from and to it need no staging.
type HostAllocator interface {
	// AllocHost returns zeroed memory of the host.
	AllocHost(bytes int) (HostBuffer, error)
}

// HostBuffer is page-locked memory of the host.
type HostBuffer interface {
	// Bytes returns the memory. It may be used until Free.
	Bytes() []byte
	// Free frees the memory. No copy from or to it may be under way.
	Free() error
}

// Discarder is a Buffer whose memory can go back to the system while nobody needs its contents.
type Discarder interface {
	Buffer
	// Discard gives the memory back and reports whether it could. The address stays valid, but the contents must be
	// written before they are read again.
	Discard() bool
}

// Mapped is a Buffer that Go kernels address directly. The bytes may be touched only by a kernel inside
// Stream.Launch, never by the host: on the fake device anything else faults.
type Mapped interface {
	Buffer
	// Map returns the buffer's memory.
	Map() []byte
}

// Stream does work in the order of the calls, possibly later and on another processor. Errors of the work itself
// surface in Synchronize or Event.Wait. A stream serves one goroutine at a time.
type Stream interface {
	// Upload copies src to dst at the byte offset. src must stay unchanged until the stream has been waited for.
	Upload(dst Buffer, offset int, src []byte) error
	// Download copies from src at the byte offset to dst, which is valid once the stream has been waited for.
	Download(dst []byte, src Buffer, offset int) error
	// Copy copies bytes from one buffer of the device to another. The two ranges must not overlap.
	Copy(dst Buffer, dstOffset int, src Buffer, srcOffset, bytes int) error
	// Launch runs k on the device. It fails with ErrKernel for a kernel of another kind of device.
	Launch(k Kernel) error
	// Record returns an event that is done once all work issued so far is done.
	Record() (Event, error)
	// After makes all work issued from now on wait for an event of another stream of the same device, even another
	// goroutine's stream. An error of the event surfaces in its own stream, not here.
	After(e Event) error
	// Synchronize waits for all work issued so far and returns its first error. The stream stays usable.
	Synchronize() error
}

// Event is a point in a stream. It may be waited for by any goroutine.
type Event interface {
	// Wait returns when the work before the event is done, with its first error.
	Wait() error
}

// Kernel is a unit of work in the form of one kind of device; host and fake run a GoKernel.
type Kernel any

// GoKernel is work written in Go over Mapped memory.
type GoKernel interface {
	Run() error
}

var (
	// ErrKernel means that a kernel is not for the device's kind.
	ErrKernel = errors.New("kernel of another kind of device")
	// ErrBuffer means that a buffer belongs to another device, or was freed.
	ErrBuffer = errors.New("buffer of another device")
	// ErrEvent means that an event belongs to another device.
	ErrEvent = errors.New("event of another device")
	// ErrMemory means that a request exceeds the machine's memory. (The Go runtime would end the process.)
	ErrMemory = errors.New("the machine has less memory: make the batch or the model smaller")
	// ErrRange means that a copy goes beyond its buffer.
	ErrRange = errors.New("copy outside of the buffer")
	// ErrLost means that this process cannot use the device any more and has to be restarted.
	ErrLost = errors.New("the device is lost")
)
