package status

// State is the state of a task at some time. Sizes are bytes, times seconds.
type State struct {
	Task        string     `json:"task"`
	Build       string     `json:"build,omitempty"`
	Uptime      float64    `json:"uptime_seconds"`
	Idle        float64    `json:"idle_seconds"` // time since the last use
	Connections int64      `json:"connections"`
	Memory      Memory     `json:"memory"`
	Steps       Steps      `json:"steps"`
	Sessions    []Session  `json:"sessions"`
	Graphs      Graphs     `json:"graphs"`
	Variables   []Variable `json:"variables"` // the largest first
	Queues      []Queue    `json:"queues"`
	Peers       []Peer     `json:"peers"`
}

// Memory is the memory of tensors, variables, graphs and messages, and its limit.
type Memory struct {
	Held       int64 `json:"held"`
	Limit      int64 `json:"limit"`
	Heap       int64 `json:"heap"`
	Goroutines int   `json:"goroutines"`
}

// Steps are the steps of the last ten seconds, by the calls that run them. Latencies are milliseconds.
type Steps struct {
	Running   int     `json:"running"`
	PerSecond float64 `json:"per_second"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
}

// Session is a session whose master is this task.
type Session struct {
	Handle  string  `json:"handle"`
	Nodes   int     `json:"nodes"`
	Bytes   int64   `json:"bytes"`
	Running int     `json:"running"`
	Idle    float64 `json:"idle_seconds"`
}

// Graphs are the parts of graphs that are registered with the task.
type Graphs struct {
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
}

// Variable is a variable of the task.
type Variable struct {
	Container string `json:"container,omitempty"`
	Name      string `json:"name"`
	Type      string `json:"type,omitempty"`
	Shape     []int  `json:"shape,omitempty"`
	Bytes     int    `json:"bytes"`
}

// Queue is a queue of the task.
type Queue struct {
	Name     string `json:"name"`
	Size     int    `json:"size"`
	Capacity int    `json:"capacity"`
	Closed   bool   `json:"closed,omitempty"`
}

// Peer is another task, with the state of the connection to it.
type Peer struct {
	Task    string `json:"task"`
	Address string `json:"address"`
	State   string `json:"state"`
}
