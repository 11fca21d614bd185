package driver

// NativeStream is a stream of a real GPU: libraries of CUDA issue their work to it.
type NativeStream interface {
	// Handle is the CUstream. It is valid until the stream is closed.
	Handle() uintptr
}

// NativeContext is a context of a real GPU: libraries of CUDA are called in it.
type NativeContext interface {
	// Current runs f on a locked thread of the system on which the context is current.
	Current(f func() error) error
}
