package driver

// PeerContext is a context that can work with contexts of other GPUs of the same driver and machine.
type PeerContext interface {
	// Reach lets this GPU read and write the memory of another directly. It returns false if the machine has no path
	// between the two; copies then go through the host's memory.
	Reach(peer Context) (bool, error)
}

// PeerStream is a stream that can work with memory and events of other contexts of the same driver.
type PeerStream interface {
	// CopyPeer copies bytes from another context's memory to dst in this stream's context.
	CopyPeer(dst Ptr, from Context, src Ptr, bytes int) error
	// WaitPeer is Stream.Wait for an event of any context.
	WaitPeer(e Event) error
}
