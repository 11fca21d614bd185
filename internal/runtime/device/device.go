package device

import "errors"

// Kinds of devices.
const (
	KindHost = "host"
	KindFake = "fake"
)

// Device owns memory and makes streams. It is safe for concurrent use.
type Device interface {
	// Kind names the sort of device: it decides which kernels run on it.
	Kind() string
	// Alloc returns a zeroed buffer, aligned for every element type and for vector loads.
	Alloc(bytes int) (Buffer, error)
	// NewStream returns an idle stream.
	NewStream() (Stream, error)
	// Close frees what is still allocated. The device's buffers and streams must no longer be used.
	Close() error
}

// Buffer is memory of one device, opaque to the host. Devices whose kernels are Go code implement Mapped besides.
type Buffer interface {
	// Len returns the size in bytes.
	Len() int
	// Free gives the memory back; the buffer must not be used by work still in a stream.
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
	// Free gives the memory back; no copy from or to it may be under way.
	Free() error
}

// Discarder is a Buffer whose memory may go back to the system while nobody needs what is in it.
type Discarder interface {
	Buffer
	// Discard gives the memory back, false where that is not possible. The address stays; what is there must be written
	// before it is read again.
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
	// Copy copies bytes from one buffer of the device to another, which do not overlap.
	Copy(dst Buffer, dstOffset int, src Buffer, srcOffset, bytes int) error
	// Launch runs k on the device. It fails with ErrKernel for a kernel of another kind of device.
	Launch(k Kernel) error
	// Record returns an event that is done once all work issued so far is.
	Record() (Event, error)
	// After lets all work issued from now on wait for an event of a stream of the same device, which may be another
	// goroutine's. The event's error is that stream's: it does not surface here.
	After(e Event) error
	// Synchronize waits for all work issued so far and returns its first error. The stream is usable afterwards.
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
	// ErrKernel tells that a kernel is not of the device's kind.
	ErrKernel = errors.New("kernel of another kind of device")
	// ErrBuffer tells that a buffer is of another device, or freed.
	ErrBuffer = errors.New("buffer of another device")
	// ErrEvent tells that an event is of another device.
	ErrEvent = errors.New("event of another device")
	// ErrMemory tells that more was asked for than the machine has. (The Go runtime would end the process.)
	ErrMemory = errors.New("the machine has less memory: make the batch or the model smaller")
	// ErrRange tells that a copy goes beyond its buffer.
	ErrRange = errors.New("copy outside of the buffer")
	// ErrLost tells that a device is of no more use to this process, which has to be started again.
	ErrLost = errors.New("the device is lost")
)
