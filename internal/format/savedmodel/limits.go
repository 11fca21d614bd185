package savedmodel

// Limits bound what Read accepts. A zero field means its default.
type Limits struct {
	FileBytes int64 // of saved_model.pb or .pbtxt; default 2 GiB, the limit of protocol buffers
	Nodes     int   // of a graph, including functions; default 4 million
	Assets    int   // of a graph; default 100 000
}

func (l Limits) orDefaults() Limits {
	if l.FileBytes == 0 {
		l.FileBytes = 1<<31 - 1
	}
	if l.Nodes == 0 {
		l.Nodes = 4 << 20
	}
	if l.Assets == 0 {
		l.Assets = 100_000
	}
	return l
}
