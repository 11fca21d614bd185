package driver

// NativeStream is a stream of a real GPU, to which CUDA's libraries can issue work.
type NativeStream interface {
	// Handle returns the CUstream, which is valid until the stream is closed.
	Handle() uintptr
}

// NativeContext is a context of a real GPU, in which CUDA's libraries can be called.
type NativeContext interface {
	// Current runs f on a locked OS thread on which the context is current.
	Current(f func() error) error
}
